#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds the documents against kvpoolctl and its tests: docs.py KVPOOLCTL TOP.

- The synopsis of the manual page is what the commands say of themselves, and
  every long option and tunable is described there.
- dm-interface.md has each event that the module raises, and no other.
- kvpool-monitor.8 has each alarm and option of the monitor, and each of its
  alarms is an event that there is.
- admin-guide.md lists the options and messages that there are, and shows a
  whole status line.
- Every feature bit has a name, and json-schema.md, dm-interface.md and
  on-disk-format.md have just these.
- on-disk-format.md has each tunable, by its number, with its unit and words.
- json-schema.md gives each error code the exit status that it has.
- Every row of the table of refusals in testing.md names a test that is there,
  and every code that refuses has a row.
- Every case in docs/cases names tests, breaks or suites that are there, or says why it has none.
- The chapters of docs/design name functions that are there, and list the workqueues.

Prints what is wrong; its status says whether anything is.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

CTL, TOP = sys.argv[1], Path(sys.argv[2])
faults = []
# programs of tests, beside this one, in which a function is a test
UNIT_TESTS = ("unit", "cached", "returns", "races", "running")


def expect(ok, fault):
    if not ok:
        faults.append(fault)


def read(name):
    return (TOP / name).read_text()


def ctl(*args):
    return subprocess.run([CTL, *args], capture_output=True, text=True, check=True).stdout


def without_roff(text):
    text = re.sub(r"\\f.", "", text)
    return text.replace("\\-", "-").replace("\n          ", " ")


def check_manual():
    page = read("docs/kvpoolctl.8")
    synopsis = re.search(r"\.nf\n(.*?)\.fi", page, re.S)[1]
    lines = without_roff(synopsis).splitlines()
    text = without_roff(page)
    commands = re.findall(r"^  ([a-z]+) ", ctl("--help"), re.M)
    expect(len(commands) > 10, "kvpoolctl --help lists no commands")
    for command in commands:
        text_of = ctl(command, "--help")
        usage = text_of.splitlines()[0].removeprefix("Usage: ")
        expect(usage in lines, f"kvpoolctl.8 has another synopsis than: {usage}")
        part = re.search(rf"^\.SS {command}$(.*?)^\.S[SH] ", page, re.M | re.S)
        expect(part and f"\nkvpoolctl {command}" in part[1], f"kvpoolctl.8 has no section with an example of {command}")
        for option in re.findall(r"--[a-z][a-z-]*", text_of):
            expect(option in text, f"kvpoolctl.8 does not name {option} of {command}")
    expect(len(lines) == len(commands), "kvpoolctl.8: a synopsis too many")
    reserved = re.search(r"reserved\[\] = \{(.*?)\};", read("tools/libkvpool/text.c"), re.S)[1]
    said = set(re.findall(r"\w+", page.split("and these words:", 1)[1].split(".SH", 1)[0]))
    states = {"single", "mirror", "parity1", "online", "offline", "degraded", "faulted", "suspended", "resilvering",
              "stale", "missing"}
    missing = set(re.findall(r'"(\w+)"', reserved)) - said - states - set(commands)
    expect(not missing, f"kvpoolctl.8 does not say that these words are reserved: {missing}")
    for key in re.findall(r'\] = \{ "([a-z_]+)"', read("dm-kvpool/format/tunables.c")):
        for name in ("docs/kvpoolctl.8", "docs/admin-guide.md"):
            expect(re.search(rf"\b{key}\b", read(name)), f"{name} does not name the tunable {key}")


def check_events():
    sources = "".join(p.read_text() for p in (TOP / "dm-kvpool").rglob("*.c"))
    raised = set(re.findall(r'\bkvp_event\([^;"]*"(\w+)', sources))
    # Names that stand in tables: of finds, of marks, and the two of a start.
    raised |= set(re.findall(r'\[KVP_FIND_\w+\] = \{ "(\w+)"', sources))
    raised |= set(re.findall(r'^\t\t\{ "\w+", "(\w+)", (?:KVP_SB_\w+|0) \}', sources, re.M))
    raised |= set(re.findall(r'\? "(created)" : "(imported)"', sources)[0])
    table = set(re.findall(r"^\| `(\w+)` \|", read("docs/dm-interface.md").split("## Events", 1)[1], re.M))
    expect(len(raised) > 20, "no events are found in the sources")
    expect(raised == table, f"dm-interface.md: events differ: {raised ^ table}")


def check_monitor():
    source = read("tools/kvpool-monitor/alarm.c")
    page = without_roff(read("docs/kvpool-monitor.8"))
    known = re.findall(r'^\t\{ "(\w+)", \{ PRI_\w+, ("|NULL)', source, re.M)
    alarms = {name for name, text in known if text == '"'} | {"scrub_finished"}
    own = set(re.findall(r'"(\w+)"', source.split("of the monitor itself", 1)[1].split("};", 1)[0]))
    own &= {name for name, _ in known}
    expect(len(alarms) > 10 and own, "no alarms are found in alarm.c")
    listed = page.split("\nl l.\n", 1)[1].split(".TE", 1)[0]
    listed = {name for line in listed.splitlines() for name in line.split("\t")[0].split(", ")}
    expect(listed == alarms, f"kvpool-monitor.8: alarms differ: {listed ^ alarms}")
    events = set(re.findall(r"^\| `(\w+)` \|", read("docs/dm-interface.md"), re.M)) | own
    expect({name for name, _ in known} <= events, "alarm.c: an event that there is not")
    options = set(re.findall(r"^\t\{ \"([a-z-]+)\", \w+_argument", read("tools/kvpool-monitor/config.c"), re.M))
    expect(len(options) > 5, "no options are found in config.c")
    for option in options:
        expect(f"--{option}" in page, f"kvpool-monitor.8 has no --{option}")


def check_table():
    """Compares the parts of admin-guide.md that repeat dm-interface.md."""
    guide, interface = read("docs/admin-guide.md"), read("docs/dm-interface.md")
    listed = re.search(r"^Options of the table line: (.*?)\.\s+Messages: (.*?)\.\n", guide, re.M | re.S)
    rows = interface.split("## Table", 1)[1].split("## Status", 1)[0]
    options = set(re.findall(r"`([a-z_]+=?)", " ".join(re.findall(r"^\| (`[a-z].*?) \|", rows, re.M))))
    expect(len(options) > 12, "no options are found in dm-interface.md")
    expect(set(re.findall(r"`([a-z_]+=?)`", listed[1])) == options, "admin-guide.md: other options than dm-interface.md")
    messages = set(re.findall(r'^\t\{ "([a-z_]+)", \d', read("dm-kvpool/target/message.c"), re.M))
    expect(len(messages) > 10, "no messages are found in message.c")
    expect(set(re.findall(r"`([a-z_]+)`", listed[2])) == messages, "admin-guide.md: other messages than message.c")
    fields = re.search(r"^    (STATE MODE (?:.+\n)+)", interface, re.M)[1].split()
    shown = re.search(r"^    \d+ \d+ kvpool (online .*)$", guide, re.M)[1].split()
    expect(len(fields) == len(shown), "admin-guide.md: the status line has other fields than in dm-interface.md")


# The units of tunables.c, as on-disk-format.md writes them.
UNITS = {"bytes": "BYTES", "ms": "MS", "seconds": "S", "bytes per second": "BYTES_PER_S", "word": "WORD",
         "hundredths of drive writes a day": "DWPD", "per cent": "PERCENT",
         "times": "TIMES"}


def check_tunables_on_disk():
    """Compares number, name, unit and words of each tunable."""
    order = re.search(r"enum kvp_tunable_id \{(.*?)KVP_TUNABLES", read("dm-kvpool/format/tunables.h"), re.S)[1]
    known = {place: (key, unit, words) for place, key, unit, words in re.findall(
        r'\[(KVP_T_\w+)\] = \{ "([a-z_]+)", KVP_UNIT_(\w+),[^"]*?(?:NULL|"([^"]*)"),', read("dm-kvpool/format/tunables.c"))}
    rows = re.findall(r"^\| (\d+) \| ([a-z_]+) \| ([a-z ]+) \| ([^|]*) \|", read("docs/on-disk-format.md"), re.M)
    listed = [(int(number), key, UNITS.get(unit), values) for number, key, unit, values in rows if unit in UNITS]
    places = re.findall(r"KVP_T_\w+", order)
    expect(len(places) > 10 and len(places) == len(listed), "on-disk-format.md does not list all tunables by number")
    for number, (place, row) in enumerate(zip(places, listed)):
        key, unit, words = known[place]
        expect(row[:3] == (number, key, unit), f"on-disk-format.md has {row[:3]} as tunable {number}, which is {key}")
        said = re.sub(r"\d ", "", row[3]).replace(", ", "|")
        expect(not words or said == words, f"on-disk-format.md has other words of {key}: {said}")


def check_features():
    listed = read("dm-kvpool/format/format.h").split("#define KVP_INCOMPAT_NAMES(each)", 1)[1].split("#define", 1)[0]
    names = dict(re.findall(r'each\((\w+), "([a-z0-9-]+)"\)', listed))
    bits = re.findall(r"#define (KVP_INCOMPAT_\w+)\s+(0x[0-9a-f]+)ull", read("include/kvpool_format.h"))
    expect(len(bits) > 5, "no features are found in kvpool_format.h")
    expect({bit for bit, _ in bits} == set(names), "format.h does not name just the features of kvpool_format.h")
    row = re.search(r"^\| `features` \|.*$", read("docs/json-schema.md"), re.M)[0]
    expect(set(re.findall(r"[`:;] `([a-z0-9-]+)`,", row)) == set(names.values()), "json-schema.md names other features")
    schema = json.loads(read("docs/kvpool.schema.json"))["$defs"]["feature"]["enum"]
    expect(set(schema) == set(names.values()), "kvpool.schema.json has other features")
    stats = re.search(r"^`features` has the names.*?\n\n", read("docs/dm-interface.md"), re.M | re.S)[0]
    disk = re.search(r"^`incompat`: .*?\n\n", read("docs/on-disk-format.md"), re.M | re.S)[0].replace("\n", " ")
    for bit, value in bits:
        name = names.get(bit, "")
        expect(f"`{name}`" in stats, f"dm-interface.md does not name the feature {bit}")
        expect(f" {int(value, 16)} *{name.replace('-', ' ')}*" in disk, f"on-disk-format.md does not name the feature {bit}")


def codes():
    """Exit statuses of the error codes."""
    status = {"EXIT_FAILED": 1, "EXIT_USAGE": 2, "EXIT_REFUSED": 3}
    found = re.findall(r'\{ "(\w+)", (EXIT_\w+) \}', read("tools/libkvpool/err.c"))
    return {word: status[name] for word, name in found if name in status}


def check_codes():
    table = {}
    for status, words in re.findall(r"^\| ([1-3]) [^|]*\| (.*) \|$", read("docs/json-schema.md"), re.M):
        table.update(dict.fromkeys(re.findall(r"`(\w+)`", words), int(status)))
    expect(table == codes(), f"json-schema.md: codes differ: {set(table.items()) ^ set(codes().items())}")


def section(name, title):
    """The part of a test that the title names, or None."""
    if name in UNIT_TESTS:
        m = re.search(rf"^static void {title}\(void\)\n(.*?)^}}", read(f"tools/kvpoolctl/tests/{name}.c"), re.M | re.S)
    elif name == "sim":
        sources = "".join(p.read_text() for p in sorted((TOP / "tests/sim").glob("*.c")))
        m = re.search(rf"^static \w+ {title}\([^)]*\)\n(.*?)^}}", sources, re.M | re.S)
    elif name == "run":
        m = re.search(rf"^{title}\(\) {{\n(.*?)^}}", read("tools/kvpoolctl/tests/run"), re.M | re.S)
    else:
        # A part that several tests share is a function of a file beside them, with the kind in its title.
        for path, start, end in ((TOP / f"tests/vm/t/{name}.sh", "echo \"--- ", '^echo "---'),
                                 (TOP / f"tests/vm/{name}.sh", "\techo \"--- $kind: ", "^}")):
            start = re.escape(f'{start}{title}"')
            m = path.exists() and re.search(rf"^{start}\n(.*?)(?={end}|\Z)", path.read_text(), re.M | re.S)
            if m:
                break
    return m[1] if m else None


def check_refusals():
    text = read("docs/testing.md").split("## Refusals", 1)[1]
    rows = re.findall(r"^\| ([^|]+?) \| ?(\w*) ?\| `([\w-]+)`: ([^|]+?) \|$", text, re.M)
    expect(len(rows) == text.count("\n| ") - 1, "testing.md: a refusal whose row is not understood")
    for what, code, name, title in rows:
        part = section(name, title)
        expect(part is not None, f"testing.md: '{what}': there is no '{title}' in {name}")
        if part and code and name not in (*UNIT_TESTS, "run"):
            expect(re.search(rf"\b{code}\b", part), f"testing.md: '{what}': {name}, '{title}' tests no {code}")
        expect(not code or code in codes(), f"testing.md: '{what}': there is no code {code}")
    for code, status in codes().items():
        expect(status != 3 or any(r[1] == code for r in rows), f"testing.md: {code} has no test")


def check_cases():
    simulator = "".join(p.read_text() for p in sorted((TOP / "tests/sim").glob("*.c")))
    tool = "".join(read(f"tools/kvpoolctl/tests/{name}") for name in ("run", "unit.c", "returns.c", "races.c", "running.c", "asked.c"))
    tool += read("tools/kvpool-monitor/tests/monitor.c")
    suites = set(re.findall(r'^\t\{ "(\w+)", run_\w+ \}', read("tests/sim/main.c"), re.M))
    expect(len(suites) > 10, "no suites are found in tests/sim/main.c")

    def is_there(name):
        if name.startswith("vm "):
            return (TOP / f"tests/vm/t/{name[3:]}.sh").exists()
        if name.startswith("tests/"):
            return (TOP / name).exists()
        if (TOP / f"tests/sim/breaks/{name}.patch").exists() or name in tool or \
                (name.endswith("()") and re.search(rf"^static void {name[:-2]}\(void\)$", tool, re.M)):
            return True
        # A test's name is put together: kind, pool, case.
        return all(re.sub(r"^deep\d-", "", part) in simulator for part in name.split(":"))

    rows = 0
    for path in sorted((TOP / "docs/cases").glob("*.md")):
        if path.name == "README.md":
            continue
        for line in re.findall(r"^\| .*", path.read_text(), re.M):
            what, *_, tests = (cell.strip() for cell in line.strip("|").split(" | "))
            tests = tests.strip(" |")
            if tests == "test":
                continue
            rows += 1
            names = re.findall(r"`([^`]+)`", tests)
            of = re.findall(r"suite (\w+)", tests)
            reason = re.match(r"none: \w+ \w+", tests)
            expect(names or of or reason, f"{path.name}: '{what}' has neither a test nor a reason for none")
            for name in names:
                expect(is_there(name), f"{path.name}: '{what}': there is no {name}")
            for name in of:
                expect(name in suites, f"{path.name}: '{what}': there is no suite {name}")
    expect(rows > 100, "no cases are found in docs/cases")


def check_design():
    folders = ("dm-kvpool", "tools", "tests/sim", "tests/cache")
    words = set()
    for folder in folders:
        for path in (TOP / folder).rglob("*.[ch]"):
            words.update(re.findall(r"\w+", path.read_text()))
    for path in sorted((TOP / "docs/design").glob("*.md")) + sorted((TOP / "docs/cases").glob("*.md")):
        for name in re.findall(r"`(\w+)\(\)`", path.read_text()):
            expect(name in words, f"{path.name}: there is no {name}()")
    sources = "".join(p.read_text() for p in (TOP / "dm-kvpool").rglob("*.c"))
    queues = set(re.findall(r'alloc_workqueue\("([\w-]+)"', sources))
    listed = set(re.findall(r"^\| `(kvpool-[\w-]+)` \|", read("docs/design/locks-and-contexts.md"), re.M))
    expect(queues and queues == listed, f"locks-and-contexts.md: workqueues differ: {queues ^ listed}")


check_manual()
check_events()
check_monitor()
check_table()
check_tunables_on_disk()
check_features()
check_codes()
check_refusals()
check_cases()
check_design()
print("\n".join(faults))
sys.exit(bool(faults))
