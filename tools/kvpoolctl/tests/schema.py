#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds what kvpoolctl -j printed against docs/json-schema.md.

schema.py DOC RECORDS: each line of RECORDS is STATUS, COMMAND, OBJECT and the
line on standard error, separated by tabs. Types and structure are below; the
exit statuses of the error codes are read from the document, and every field
of an object must be named in it.
"""

import json
import re
import sys

NUMBER, TEXT, FLAG = int, str, bool
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Or:
    """One of several; a text is an enumerated word, None is null."""

    def __init__(self, *choices):
        self.choices = choices


class Map:
    """An object whose keys are anything."""

    def __init__(self, value):
        self.value = value


LEG_STATE = Or("online", "offline", "faulted", "resilvering", "stale", "missing")
KIND = Or("single", "mirror", "parity1")
CACHE_KIND = Or("cache", "cache-parity1")
ANY_KIND = Or(*KIND.choices, *CACHE_KIND.choices)
VDEV_STATE = Or("online", "degraded", "faulted", "suspended")
LOG_ON = Or("legs", "cache")
FEATURE = Or("vdevs", "cache", "cache-parity1", "log-window", "log-turns", "generations")
COUNTS = dict.fromkeys(("done", "total"), NUMBER)
ERROR = dict(code=TEXT, what=TEXT, why=TEXT, mend=TEXT)
LEG = dict(path=Or(TEXT, None), uuid=UUID, state=LEG_STATE, foreign=Or(TEXT, None), size=NUMBER,
           errors=dict(read=NUMBER, write=NUMBER, checksum=NUMBER, healed=NUMBER))
BYPASSED = dict.fromkeys(("long", "stream", "ahead"), NUMBER)
SSD_COUNTS = dict(refused=dict.fromkeys(("evidence", "stream", "budget", "memory", "log", "changed"), NUMBER),
                  written=dict.fromkeys(("data", "headers", "parity", "fills", "reinserted", "table"), NUMBER),
                  amplification=NUMBER)
CACHE = dict(dict.fromkeys(("size", "dirty", "parked", "clean", "hits", "misses", "fills", "reinserted", "restored", "restore_ms",
                            "ram_bytes",
                            "destage_rate", "drain_ms"), NUMBER),
             **SSD_COUNTS,
             drain=dict(state=Or("none", "running", "done", "cancelled", "failed"), left=NUMBER,
                        total=NUMBER, rate=NUMBER),
             kind=CACHE_KIND, mode=Or("writeback", "writethrough", "writearound"), state=VDEV_STATE, legs=[LEG])
FLUSH = dict(count=NUMBER, p50_us=Or(NUMBER, None), p99_us=Or(NUMBER, None), p999_us=Or(NUMBER, None))
POOL = dict(
    name=TEXT, uuid=UUID, comment=TEXT, state=Or("online", "degraded", "faulted", "suspended"),
    readonly=FLAG, size=NUMBER, written=NUMBER, uncounted=NUMBER, checkpoint=NUMBER, epoch=NUMBER, features=[FEATURE],
    losses_survivable=NUMBER, spares=[None], cache=Or(CACHE, None),
    vdevs=[dict(kind=KIND, state=VDEV_STATE,
                size=NUMBER, log=FLAG, legs=[LEG])],
    ram=dict(size=NUMBER, used=NUMBER, hits=NUMBER, misses=NUMBER, write_buffer=NUMBER,
             read_cache=NUMBER, bypassed=BYPASSED),
    memory=dict.fromkeys(("write_buffer", "parked", "table", "ram_cache", "index", "fills", "summaries",
                          "log_parity"), NUMBER),
    flush=FLUSH, log=dict(on=LOG_ON, size=NUMBER, used=NUMBER, commits=NUMBER, flushes=NUMBER, lsn=NUMBER,
                          data=NUMBER, bypassed=NUMBER, failed=FLAG),
    scrub=dict(COUNTS, state=Or("none", "running", "paused", "finished", "stopped"), healed=NUMBER,
               unrepaired=NUMBER, started=Or(TIME, None), finished=Or(TIME, None)),
    trim=dict(COUNTS, state=Or("none", "running", "finished", "stopped", "failed"), blocks=NUMBER),
    resilver=dict(COUNTS, state=Or("none"), copied=NUMBER),
    recovery=dict(last_ms=NUMBER, worst_case_ms=NUMBER, replayed=NUMBER, kept=NUMBER,
                  torn_accepted=NUMBER),
    poisoned_total=NUMBER, poisoned=[dict(lba=NUMBER, blocks=NUMBER)], advice=Or(TEXT, None),
)
# Suspended, and without anything behind it that could be asked.
UNASKED = dict(dict.fromkeys(POOL), name=TEXT, uuid=UUID, state="suspended", readonly=FLAG, advice=TEXT)
STOP = dict(pool=TEXT, uuid=UUID, size=NUMBER, legs=[LEG],
            redundancy=dict(before=NUMBER, after=None))
EXCHANGE = dict(pool=TEXT, uuid=UUID, leg=UUID, table=TEXT, redundancy=dict(before=NUMBER, after=NUMBER))
FOUND_VDEV = dict(kind=ANY_KIND, legs=[dict(path=Or(TEXT, None), uuid=UUID, state=LEG_STATE, foreign=Or(TEXT, None))])
SIGNATURES = [dict(type=TEXT, offset=NUMBER)]
PLANS = {
    "create": dict(
        action="create", pool=TEXT, uuid=UUID, comment=TEXT, size=NUMBER, log_size=NUMBER,
        table_size=NUMBER, log_on=LOG_ON, cache_size=NUMBER, cache_dirty_max=NUMBER, ram_bytes=NUMBER,
        redundancy=dict(before=None, after=NUMBER), table=TEXT,
        vdevs=[dict(kind=ANY_KIND, legs=[dict(path=TEXT, size=NUMBER, wipes=Or(TEXT, None),
                                          former_pool=Or(TEXT, None))])]),
    "import": dict(action="import", pool=TEXT, uuid=UUID, size=NUMBER, ram_bytes=NUMBER,
                   legs=NUMBER, missing=NUMBER, redundancy=dict(before=None, after=NUMBER),
                   vdevs=[FOUND_VDEV], table=TEXT),
    "labelclear": Or(dict(action="labelclear", path=TEXT, pool=Or(TEXT, None), labels=NUMBER),
                     dict(action="labelclear", path=TEXT, pool=TEXT, wiped=SIGNATURES, left=SIGNATURES)),
    "offline": dict(action="offline", pool=TEXT, uuid=UUID, leg=UUID, path=Or(TEXT, None), final=FLAG,
                    redundancy=dict(before=NUMBER, after=NUMBER)),
    "replace": dict(EXCHANGE, action="replace", new=TEXT),
    "attach": dict(EXCHANGE, action="attach", new=TEXT),
    "detach": dict(EXCHANGE, action="detach", new=None),
    "online": dict(EXCHANGE, action="online", new=None),
    "remove": dict(action="remove", pool=TEXT, uuid=UUID, dirty=NUMBER, drain_ms=NUMBER, table=TEXT,
                   redundancy=dict(before=NUMBER, after=NUMBER)),
    "destroy": dict(STOP, action="destroy"),
    "export": dict(STOP, action="export", travel=[TEXT]),
}
FOUND = dict(
    name=TEXT, uuid=UUID, size=NUMBER, epoch=NUMBER, last_written=TIME, last_host=Or(TEXT, None),
    state=Or("active", "exported", "destroyed", "clean", "unclean"), importable=FLAG, autoimport=FLAG,
    vdevs=[FOUND_VDEV],
    refused=[ERROR])
SETTING = Or(
    dict(unit=Or("bytes", "bytes/s", "ms", "s"), value=NUMBER, default=NUMBER, meaning=TEXT,
         min=NUMBER, max=NUMBER, zero=FLAG),
    dict(unit="drive writes/day", value=Or(NUMBER, float), default=NUMBER, meaning=TEXT, min=NUMBER, max=NUMBER,
         zero=FLAG),
    dict(unit="bytes", value=Or(NUMBER, None), fixed=True, meaning=TEXT),
    dict(unit="word", value=TEXT, default=TEXT, meaning=TEXT, words=TEXT))
LOG = dict(state=Or("sound", "damaged", "newer", "partial"), why=Or(TEXT, None), tail=NUMBER, head=NUMBER, durable=NUMBER,
           entries=NUMBER, data=NUMBER, intents=NUMBER, discards=NUMBER,
           parity=NUMBER, clean=NUMBER)
INSPECT = dict(
    path=TEXT, superblock=Map(...),
    labels=[Or(dict(offset=NUMBER, state="valid", epoch=NUMBER, sequence=NUMBER),
               dict(offset=NUMBER, state="empty"),
               dict(offset=NUMBER, state=Or("corrupt", "unsupported", "unreadable"), why=TEXT))],
    log=Or(dict(LOG, list=[Map(NUMBER)]), None),
    table=Or(dict.fromkeys(("vdev", "pages_good", "pages_bad", "valid", "unwritten", "poisoned",
                            "invalid", "elsewhere"), NUMBER), None))
BAD = dict.fromkeys(("log_bad", "pages_bad", "blocks_bad", "read_errors", "clean_bad"), NUMBER)
CHECK_LEG = dict(path=Or(TEXT, None), uuid=UUID, state=Or(*LEG_STATE.choices, "fork"))
LABELS = dict(labels_valid=NUMBER, labels_bad=NUMBER)
CHECK = dict(
    pool=TEXT, uuid=UUID, size=NUMBER, epoch=NUMBER, checkpoint=NUMBER,
    result=Or("sound", "degraded", "faulted"), advice=Or(TEXT, None),
    legs=[Or(dict(CHECK_LEG, verified=FLAG), dict(CHECK_LEG, verified=FLAG, **LABELS),
             dict(CHECK_LEG, verified=FLAG, **LABELS, **BAD))],
    log=dict(LOG, state=Or("sound", "damaged", "newer", "unread"), bad=[dict(path=TEXT, lsn=NUMBER, why=TEXT)]),
    cache=Or(dict(kind=CACHE_KIND, log_on=LOG_ON, clean=NUMBER, clean_bad=NUMBER), None),
    table=dict(pages_good=NUMBER, pages_lost=NUMBER),
    blocks=dict.fromkeys(("valid", "in_log", "unwritten", "torn", "poisoned", "unrepaired"), NUMBER),
    damage=[dict(lba=NUMBER, blocks=NUMBER, state=Or("poisoned", "unrepaired"))])
IO = dict.fromkeys(("reads", "writes", "discards", "read_bytes", "write_bytes"), NUMBER)
IOSTAT = dict(pool=TEXT, time=TIME, milliseconds=NUMBER, io=IO, flush=FLUSH,
              ram=dict(hits=NUMBER, misses=NUMBER, dirty=NUMBER,
                       bypassed=BYPASSED),
              log=dict(used=NUMBER, data=NUMBER, bypassed=NUMBER),
              cache=dict(SSD_COUNTS, hits=NUMBER, misses=NUMBER, fills=NUMBER, reinserted=NUMBER,
                         destage_rate=NUMBER, drain_ms=NUMBER))
OPTION = dict(letter=Or(TEXT, None), name=Or(TEXT, None), argument=Or(TEXT, None), text=TEXT)
VERSION = dict(version=NUMBER, compat=NUMBER, ro_compat=NUMBER, incompat=NUMBER)


def fault(value, want, at="object"):
    """Why the value is not what is wanted, or None."""
    if isinstance(want, Or):
        faults = [fault(value, c, at) for c in want.choices]
        return None if None in faults else " and ".join(f for f in faults if f)
    if want is ...:
        return None
    if want is None or want is True or isinstance(want, str):
        return None if value == want else f"{at} is {value!r}, not {want!r}"
    if isinstance(want, re.Pattern):
        ok = isinstance(value, str) and want.fullmatch(value)
        return None if ok else f"{at} is {value!r}, not like {want.pattern}"
    if isinstance(want, type):
        return None if type(value) is want else f"{at} is {value!r}, not of type {want.__name__}"
    if isinstance(want, list):
        if type(value) is not list:
            return f"{at} is {value!r}, not an array"
        return first(fault(v, want[0], f"{at}[{i}]") for i, v in enumerate(value))
    if type(value) is not dict:
        return f"{at} is {value!r}, not an object"
    if isinstance(want, Map):
        return first(fault(v, want.value, f"{at}.{k}") for k, v in value.items())
    if value.keys() != want.keys():
        return f"{at} has the fields {sorted(value)}, not {sorted(want)}"
    return first(fault(value[k], want[k], f"{at}.{k}") for k in want)


def first(faults):
    return next((f for f in faults if f), None)


def wanted(words, obj):
    """What the command must print."""
    root = dict(version=NUMBER)
    if "error" in obj:
        return dict(root, error=ERROR)
    command = next(w for w in words if not w.startswith("-"))
    if "plan" in obj:
        return dict(root, plan=PLANS.get(command, ...))
    if command == "status" and "not_running" in obj:
        return dict(root, pools=[Or(POOL, UNASKED)], not_running=[dict(name=TEXT, uuid=UUID, why=TEXT, mend=TEXT)])
    if command in ("status", "list") or command == "scrub" and "--wait" in words:
        return dict(root, pools=[Or(POOL, UNASKED)])
    if command == "import" and not {"--boot", "-a"} & set(words):
        return dict(root, pools=[FOUND], unusable=[dict(path=TEXT, why=TEXT)])
    if command == "get":
        if obj.get("pool") is None:
            unset = [dict(c, value=None) for c in SETTING.choices]
            return dict(root, pool=None, tunables=Map(Or(*unset)), comment=None)
        want = dict(root, pool=TEXT, tunables=Map(SETTING))
        return dict(want, comment=TEXT) if "comment" in obj else want
    if command == "events":
        return dict(root, pool=TEXT, seq=NUMBER, time=TIME, event=TEXT, fields=Map(TEXT))
    if command == "iostat":
        want = dict(root, **IOSTAT)
        return dict(want, legs=[dict(path=TEXT, uuid=UUID, io=IO)]) if "-v" in words else want
    if command == "inspect":
        return dict(root, inspect=INSPECT)
    if command == "check":
        return dict(root, check=CHECK)
    if command == "help":
        return dict(root, commands=[dict(name=TEXT, group=TEXT, purpose=TEXT, arguments=TEXT, dry_run=FLAG, about=TEXT,
                                         more=Or(TEXT, None), options=[OPTION])], common=[OPTION])
    if command == "version":
        return dict(root, tool=TEXT, module=Or(TEXT, None), format=VERSION)
    return root


def error_statuses(doc):
    """Exit status by error code, from the table of the document."""
    rows = re.findall(r"^\| ([123]) [^|]*\|([^|]*)\|$", doc, re.M)
    return {code: int(status) for status, codes in rows for code in re.findall(r"`(\w+)`", codes)}


def undocumented(obj, words):
    """A key of the object that the document does not name."""
    if isinstance(obj, list):
        return first(undocumented(v, words) for v in obj)
    if not isinstance(obj, dict):
        return None
    for key, value in obj.items():
        if key not in words:
            return key
        # The keys below these are not the schema's.
        if key not in ("superblock", "fields", "tunables", "list"):
            inner = undocumented(value, words)
            if inner:
                return inner
    return None


def check(record, statuses, doc_words):
    status, command, text, stderr = record
    obj = json.loads(text)
    why = fault(obj, wanted(command.split(), obj))
    if why:
        return why
    if obj["version"] != 1:
        return "version is not 1"
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


def main():
    doc = open(sys.argv[1]).read()
    statuses = error_statuses(doc)
    doc_words = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]*`|^    .*", doc, re.M))))
    bad = 0
    records = [line.split("\t") for line in open(sys.argv[2]).read().splitlines()]
    for record in records:
        try:
            why = check(record, statuses, doc_words)
        except (ValueError, StopIteration) as e:
            why = str(e)
        if why:
            print(f"kvpoolctl {record[1]}: {why}\n\t{record[2]}")
            bad += 1
    print(f"# {len(records)} objects, {bad} not as documented")
    sys.exit(bad > 0 or not records)


if __name__ == "__main__":
    main()
