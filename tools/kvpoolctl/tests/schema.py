#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds what kvpoolctl -j printed against docs/json-schema.md and kvpool.schema.json.

schema.py [--spoil] DOC RECORDS: each line of RECORDS is STATUS, COMMAND, OBJECT and the
line on standard error, separated by tabs. DOC is json-schema.md; kvpool.schema.json lies
beside it. Each object must be what the schema has for its command, with no other field, and
every field must be named in DOC. The exit statuses of the error codes are read from DOC.

With --spoil also copies of the objects with a field taken out, added or of another type are
held against the schema: it must refuse them all.
"""

import copy
import json
import re
import sys
from pathlib import Path

# Virtual machines start Python without this folder, to be quicker.
sys.path.append("/usr/lib/python3/dist-packages")
from jsonschema import Draft202012Validator  # noqa: E402
from jsonschema.exceptions import best_match  # noqa: E402

# The schema does not fix the keys below these.
FREE = ("superblock", "fields", "tunables", "list")


def closed(schema):
    """The schema, changed so that it allows no other fields."""
    if isinstance(schema, list):
        return [closed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    new = {k: closed(v) for k, v in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        new.setdefault("additionalProperties", False)
    return new


class Schema:
    def __init__(self, path):
        self.schema = json.loads(path.read_text())
        Draft202012Validator.check_schema(self.schema)
        self.closed = closed(self.schema)
        self.validators = {}

    def validator(self, name, tight=True):
        """The validator of one definition, or with "" of all of them."""
        if (name, tight) not in self.validators:
            root = self.closed if tight else self.schema
            one = {"$defs": root["$defs"], "$ref": f"#/$defs/{name}"} if name else root
            self.validators[name, tight] = Draft202012Validator(one)
        return self.validators[name, tight]

    def fault(self, name, obj):
        """The reason why the object violates the definition, or None."""
        error = best_match(self.validator(name).iter_errors(obj))
        if error:
            return f"{name}: {'.'.join(str(p) for p in error.absolute_path) or 'object'}: {error.message[:300]}"
        return None if self.validator("", False).is_valid(obj) else f"{name}: the whole schema does not have it"

    def codes(self):
        return set(self.schema["$defs"]["errorObject"]["properties"]["code"]["enum"])


def wanted(words, obj):
    """The definition of the object that the command must print."""
    if "error" in obj:
        return "error"
    command = next(w for w in words if not w.startswith("-"))
    if "plan" in obj:
        return "plan"
    if command == "status" and "not_running" in obj:
        return "statusOfAll"
    if command in ("status", "list") or command == "scrub" and "--wait" in words:
        return "list"
    if command == "import" and not {"--boot", "-a"} & set(words):
        return "importList"
    if command == "get":
        return "defaults" if obj.get("pool") is None else "get" if "comment" in obj else "getOne"
    if command == "iostat":
        return "iostatOfLegs" if "-v" in words else "iostat"
    return {"diff": "diff", "events": "event", "history": "history", "help": "help", "inspect": "inspect", "check": "check", "extract": "extract", "whois": "whois", "version": "version", "upgrade": "upgrade"}.get(
        command, "done")


def error_statuses(doc):
    """Exit status by error code, from the table of the document."""
    rows = re.findall(r"^\| ([123]) [^|]*\|([^|]*)\|$", doc, re.M)
    return {code: int(status) for status, codes in rows for code in re.findall(r"`(\w+)`", codes)}


def first(faults):
    return next((f for f in faults if f), None)


def undocumented(obj, words):
    """A key of the object that the document does not name."""
    if isinstance(obj, list):
        return first(undocumented(v, words) for v in obj)
    if not isinstance(obj, dict):
        return None
    for key, value in obj.items():
        if key not in words:
            return key
        if key not in FREE:
            inner = undocumented(value, words)
            if inner:
                return inner
    return None


def places(obj, at=()):
    """The paths of all fields in the schema; of arrays those of the first member."""
    if isinstance(obj, list):
        yield from places(obj[0], (*at, 0)) if obj else ()
    elif isinstance(obj, dict):
        for key, value in obj.items():
            yield (*at, key)
            if key not in FREE:
                yield from places(value, (*at, key))


def spoiled(obj):
    """Copies of the object, each with one fault, and the fault's name."""
    for *way, key in places(obj):
        for fault in ("without", "with another type of", "with a field beside"):
            new = copy.deepcopy(obj)
            parent = new
            for step in way:
                parent = parent[step]
            if fault == "without":
                del parent[key]
            elif fault == "with another type of":
                parent[key] = 1.5
            else:
                parent["of_nobody"] = 1
            yield f"{fault} {'.'.join(map(str, (*way, key)))}", new


def check(record, schema, statuses, doc_words):
    status, command, text, stderr = record
    obj = json.loads(text)
    name = wanted(command.split(), obj)
    why = schema.fault(name, obj)
    if not why and name == "plan" and obj["plan"]["action"] != next(w for w in command.split() if w[0] != "-"):
        why = "the plan is that of another command"
    if why:
        return why
    key = undocumented(obj, doc_words)
    if key:
        return f"the document does not name the field {key}"
    error = obj.get("error")
    if not error:
        noted = not stderr or stderr.startswith("kvpoolctl: note: ")
        return None if noted else f"stderr is not empty: {stderr}"
    if statuses.get(error["code"]) != int(status):
        return f"exit status {status} does not go with the code {error['code']}"
    if not all(error.values()):
        return "a part of the error is empty"
    line = f"kvpoolctl: {error['what']}: {error['why']} -- {error['mend']}"
    return None if stderr == line else f"stderr says something else: {stderr}"


def spoil(records, schema):
    """Objects with a fault that the schema accepts; the first object of each kind is tried."""
    seen, tried = set(), 0
    for _, command, text, _ in records:
        obj = json.loads(text)
        name = wanted(command.split(), obj)
        kind = name, obj.get("plan", {}).get("action")
        if kind in seen:
            continue
        seen.add(kind)
        for fault, bad in spoiled(obj):
            tried += 1
            if schema.validator(name).is_valid(bad):
                yield f"the schema takes {' '.join(filter(None, kind))} {fault}"
    print(f"# {tried} spoiled objects of {len(seen)} kinds")


def main():
    args = [a for a in sys.argv[1:] if a != "--spoil"]
    doc, schema = Path(args[0]).read_text(), Schema(Path(args[0]).with_name("kvpool.schema.json"))
    statuses = error_statuses(doc)
    doc_words = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]*`|^    .*", doc, re.M))))
    bad = 0
    if schema.codes() != set(statuses):
        print(f"kvpool.schema.json has other codes than json-schema.md: {schema.codes() ^ set(statuses)}")
        bad += 1
    records = [line.split("\t") for line in Path(args[1]).read_text().splitlines()]
    for record in records:
        try:
            why = check(record, schema, statuses, doc_words)
        except (ValueError, StopIteration) as e:
            why = str(e)
        if why:
            print(f"kvpoolctl {record[1]}: {why}\n\t{record[2]}")
            bad += 1
    if "--spoil" in sys.argv and not bad:
        for why in spoil(records, schema):
            print(why)
            bad += 1
    print(f"# {len(records)} objects, {bad} not as documented")
    sys.exit(bad > 0 or not records)


if __name__ == "__main__":
    main()
