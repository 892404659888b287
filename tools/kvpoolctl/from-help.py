#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes the files that are made from the help: from-help.py [--check] KVPOOLCTL.

`kvpoolctl help -j` has each command with its options and texts, and `get -j` the tunables.
The parts between marks of docs/kvpoolctl.8, completion.bash and completion.zsh are made from
them; all outside the marks is written by hand. With --check it writes nothing, and fails if
a part differs.
"""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs/kvpoolctl.8"
BEGIN, END = "made of the help: ", "end of what is made of the help"


def ask(ctl, *args):
    return json.loads(subprocess.run([ctl, *args, "-j"], capture_output=True, text=True, check=True).stdout)


# --- the manual page ---------------------------------------------------------------

def roff(text, names=()):
    """Options and quoted commands in bold, placeholders in italics."""
    text = text.replace("\\", "\\e")
    text = re.sub(r"(?<![\w-])(--?[A-Za-z][a-z-]*)", r"\\fB\1\\fR", text)
    text = re.sub(r"'(kvpoolctl [^']*)'", lambda m: f"\\fB{plain(m[1])}\\fR", text)
    if names:
        text = re.sub(rf"\b(?:{'|'.join(names)})\b", r"\\fI\g<0>\\fR", text)
    # Hyphens of options must be found, and copied, as they are typed.
    text = re.sub(r"\\fB.*?\\fR", lambda m: m[0].replace("-", "\\-"), text)
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)


def plain(text):
    return re.sub(r"\\f.", "", text)


def names_of(command):
    """Words in capitals of the usage: the placeholders."""
    return sorted(set(re.findall(r"\b[A-Z]{2,}\b", command["arguments"])), key=len, reverse=True)


def filled(text, names):
    return [roff(line, names) for line in textwrap.wrap(text, 96, break_on_hyphens=False, break_long_words=False)]


def synopsis(commands):
    lines = [".nf"]
    for c in commands:
        usage = f"kvpoolctl {c['name']} {c['arguments']}".strip()
        rows = textwrap.wrap(usage, 92, break_on_hyphens=False, break_long_words=False)
        head = f"kvpoolctl {c['name']}"
        first = f"\\fB{head}\\fR" + roff(rows[0][len(head):], names_of(c))
        lines += [first] + ["          " + roff(row, names_of(c)) for row in rows[1:]]
    return lines + [".fi"]


def option_lines(options, names):
    lines = []
    for o in options:
        spelled = [f"\\fB\\-{o['letter']}\\fR" if o["letter"] else "",
                   "\\fB" + f"--{o['name']}".replace("-", "\\-") + "\\fR" if o["name"] else ""]
        argument = f" \\fI{o['argument']}\\fR" if o["argument"] else ""
        lines += [".TP", ", ".join(s for s in spelled if s) + argument, *filled(o["text"], names)]
    return lines


def described(commands, common):
    lines, group = [], None
    for c in commands:
        names = names_of(c)
        if c["group"] != group:
            group = c["group"]
            lines.append(f".SH {group.upper()}")
        first, *others = c["about"].split("\n")
        lines += [f".SS {c['name']}", *filled(first, names)]
        for paragraph in others:
            lines += [".PP", *filled(paragraph, names)]
        lines += option_lines(c["options"], names)
        for paragraph in (c["more"] or "").split("\n") if c["more"] else []:
            lines += [".PP", *filled(paragraph, names)]
        lines += [".PP", ".RS 4", ".nf", *examples(c, common), ".fi", ".RE"]
    return lines


def examples(command, common):
    """The command lines, word for word."""
    known = {s for o in all_options(command, common)
             for s in (o["letter"] and f"-{o['letter']}", o["name"] and f"--{o['name']}")}
    lines = command["example"].split("\n")
    for line in lines:
        own = re.split(r" (?:&&|\|\||>) ", line)[0].split()
        unknown = [w for w in own if re.match(r"--?[a-z]", w) and w not in known]
        if own[:2] != ["kvpoolctl", command["name"]] or unknown:
            raise SystemExit(f"from-help.py: an example of {command['name']} has another command or unknown options: {line}")
    return [line.replace("-", "\\-") for line in lines]


# --- the completions ---------------------------------------------------------------

# The kind of each placeholder of a usage line.
KINDS = {"POOL": "pool", "POOL|UUID": "found", "DEV": "device", "LEG": "device", "OLD": "device", "NEW": "device",
         "DIR|DEV": "device", "VDEV": "vdev", "KEY": "key", "KEY=VALUE": "setting", "KEY=VALUE|KEY": "setting",
         "VALUE": "value", "COMMAND": "command", "FILE": "device", "cache|DEV": "cache,"}


def kind(word, text=""):
    """The kind of an argument: one of the completions, "a,b" for one of these words, or "none"."""
    listed = re.search(r"some of: ([\w,]+)", text)
    if listed:
        return listed[1]
    # A comma tells a single word from a kind.
    return KINDS.get(word, word + "," if word.islower() else "none")


def places(command):
    """The kinds of the arguments, in order; "..." after one that repeats."""
    usage = command["arguments"]
    for o in command["options"]:
        if o["argument"]:
            usage = re.sub(rf"(?<!\S)\[?(-{o['letter']}|--{o['name']}) {re.escape(o['argument'])}\]?", " ", usage)
    usage = re.sub(r"(?<![\w-])--?[A-Za-z][a-z-]*", " ", usage)
    found = []
    for word in re.sub(r"[][]", " ", usage).split():
        if word.strip("|.") == "":
            continue
        repeated = word.endswith("...")
        word = word.removesuffix("...")
        if word == "POOL" and command["name"] == "create":
            found.append("none")
        else:
            found.append(kind(word) + ("..." if repeated else ""))
    return found


def all_options(command, common):
    return command["options"] + [o for o in common if o["letter"] != "n" or command["dry_run"]]


def settings(tunables):
    words = {key: t["words"].split("|") if "words" in t else [] for key, t in tunables.items()}
    return dict(words, comment=[])


def bash(commands, common, tunables):
    lines = [f"_kvpoolctl_commands='{' '.join(c['name'] for c in commands)}'",
             f"_kvpoolctl_keys='{' '.join(settings(tunables))}'",
             "_kvpoolctl_values() {", "\tcase $1 in"]
    lines += [f"\t{key}) echo '{' '.join(words)}' ;;" for key, words in settings(tunables).items() if words]
    lines += ["\tesac", "}", "_kvpoolctl_of() {", "\tcase $1 in"]
    for c in commands:
        options = all_options(c, common)
        spelled = [s for o in options for s in (o["letter"] and f"-{o['letter']}", o["name"] and f"--{o['name']}") if s]
        values = [f"{s}:{kind(o['argument'], o['text'])}" for o in options if o["argument"]
                  for s in (o["letter"] and f"-{o['letter']}", o["name"] and f"--{o['name']}") if s]
        lines += [f"\t{c['name']})", f"\t\toptions='{' '.join(spelled)}'", f"\t\tvalued='{' '.join(values)}'",
                  f"\t\tplaces='{' '.join(places(c))}' ;;"]
    return lines + ["\tesac", "}"]


def brief(text):
    """The first clause, without characters that zsh would interpret."""
    return re.split(r"[;:(]| so that ", text)[0].strip(" ,").replace("'", "").replace("[", "").replace("]", "")


def zsh_action(word, of):
    words = of.removesuffix("...")
    action = f"({' '.join(words.strip(',').split(','))})" if "," in words else \
        " " if words == "none" else f"_kvpoolctl_{words}"
    return f"{word}:{action}"


def zsh_options(options):
    lines = []
    for o in options:
        value = ":" + zsh_action(o["argument"].replace(":", " "), kind(o["argument"], o["text"])) if o["argument"] else ""
        for spelled in (o["letter"] and f"-{o['letter']}", o["name"] and f"--{o['name']}"):
            if spelled:
                again = "*" if value else ""
                lines.append(f"'{again}{spelled}[{brief(o['text'])}]{value}'")
    return lines


def zsh(commands, common, tunables):
    lines = ["_kvpoolctl_keys=(" + " ".join(settings(tunables)) + ")", "typeset -gA _kvpoolctl_words", "_kvpoolctl_words=("]
    lines += [f"\t{key} '{' '.join(words)}'" for key, words in settings(tunables).items() if words]
    lines += [")", "_kvpoolctl_commands=("]
    lines += [f"\t'{c['name']}:{brief(c['purpose'])}'" for c in commands]
    lines += [")", "_kvpoolctl_of() {", "\tcase $1 in"]
    for c in commands:
        lines += [f"\t{c['name']})", "\t\t_arguments -s \\"]
        rows = zsh_options(all_options(c, common))
        for number, place in enumerate(places(c), 1):
            at = "*" if place.endswith("...") else number
            rows.append(f"'{at}:{zsh_action('argument', place)}'")
        lines += [f"\t\t\t{row} \\" for row in rows[:-1]] + [f"\t\t\t{rows[-1]} ;;"]
    return lines + ["\tesac", "}"]


# --- the files ---------------------------------------------------------------------

def filled_in(text, mark, parts):
    """The text with each part between its marks replaced."""
    for name, lines in parts.items():
        pattern = rf"(^{re.escape(mark)} {re.escape(BEGIN + name)}\n).*?(?=^{re.escape(mark)} {re.escape(END)}$)"
        text, count = re.subn(pattern, lambda m: m[1] + "\n".join(lines) + "\n", text, flags=re.M | re.S)
        if count != 1:
            raise SystemExit(f"from-help.py: {count} places for {name}")
    return text


def main():
    *check, ctl = sys.argv[1:]
    told = ask(ctl, "help")
    commands, common, tunables = told["commands"], told["common"], ask(ctl, "get")["tunables"]
    files = {
        PAGE: ('.\\"', {"synopsis": synopsis(commands), "commands": described(commands, common),
                        "common options": option_lines(common, ())}),
        HERE / "completion.bash": ("#", {"commands": bash(commands, common, tunables)}),
        HERE / "completion.zsh": ("#", {"commands": zsh(commands, common, tunables)}),
    }
    stale = 0
    for path, (mark, parts) in files.items():
        text = path.read_text()
        new = filled_in(text, mark, parts)
        if check == ["--check"]:
            if new != text:
                print(f"{path.name} differs from the help: run make -C tools/kvpoolctl texts")
                stale = 1
        elif new != text:
            path.write_text(new)
    return stale


sys.exit(main())
