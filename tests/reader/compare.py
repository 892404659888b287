#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares the reader with the engine and the tool, on images of simulated power cuts.

    compare.py [--rest] SIM KVPOOLCTL MKIMAGE TOOL
    compare.py SIM KVPOOLCTL FOLDER

SIM fills a folder with images; KVPOOLCTL is built for the same sizes (tests/sim/Makefile).
Every block must equal the result of the engine's recovery, and every count that of
`kvpoolctl check`. Without a leg the engine names the blocks that are there, or the reader
must agree with the tool alone. Then some blocks are made rotten, and a complete chain is
marked as begun only; the reader and the tool must agree again. MKIMAGE makes pools with the
codecs, with a log that skips the rest of a segment and with windows of the usual size. For
these, TOOL, the installed tool, must agree. Last come the examples of the document. With
FOLDER only that folder is compared, which `sim --dump FOLDER` has filled. --rest: more images.
"""
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import examples
import kvread

WINDOW, STRIPED_WINDOW = 1024, 3072     # KVP_LOG_WINDOW in tests/sim/Makefile

# (suite, tests, crashes): each kind of vdev, several vdevs, caches of each kind, and all
# kinds of log entries.
FEW = (("sequences", "sequence:mirror:write:", 3), ("vdevs", "mixed:mirror+parity:", 8),
       ("parity", "parity:", 8), ("parity", "parity:chain", 2), ("parity", "parity-intent:", 8),
       ("cache", "sequence:cache2-parity:write:", 3), ("cache", "sequence:cache-mirror:", 2), ("stripelog", "stripelog:cut", 3),
       ("restart", "restart:mirror+1:intents", 10))
REST = (("sequences", "sequence:mirror:", 100), ("vdevs", "sequence:mirror+mirror:", 60),
        ("vdevs", "sequence:mirror+parity:", 60), ("vdevs", "mixed:", 100), ("parity", "parity:", 100),
        ("parity", "parity-intent:", 100),
        ("cache", "sequence:cache-mirror:", 60), ("cache", "sequence:cache2-parity:", 60),
        ("stripelog", "stripelog:cut", 60), ("cachep1", "cachep1-parity:", 60), ("restart", "restart:", 200))


def fill(sim, folder, runs):
    for number, (suite, only, most) in enumerate(runs):
        part = os.path.join(folder, str(number))
        os.mkdir(part)
        subprocess.run([sim, "--suite", suite, "--only", only, "--images", "1", "--rounds", "1",
                        "--dump", part, "--most", str(most)], stdout=subprocess.DEVNULL, check=True)
        if not glob.glob(part + "/*.result"):
            sys.exit(f"{suite} {only} left no image")


def tool_says(tool, legs):
    """The counts of check; None: it did not read blocks."""
    run = subprocess.run([tool, "check", "-j", *legs], capture_output=True, text=True, check=False)
    answer = json.loads(run.stdout).get("check")
    if not answer or answer["log"]["state"] == "unread":
        return None
    return answer


def read(legs, out=None, window=WINDOW):
    """The reader's report; None: it refused."""
    try:
        pool = kvread.Pool(legs, window)
    except kvread.Refused:
        return None
    if window == WINDOW and any(v.striped for v in pool.sb.vdevs):
        pool.close()
        pool = kvread.Pool(legs, STRIPED_WINDOW)
    answer = kvread.report(pool, out)
    pool.close()
    return answer


def differences(mine, its):
    """The differences between the reader and check."""
    if not mine or "blocks" not in mine:
        return [] if its is None else [f"the reader refuses, check says {its['result']}"]
    if its is None:
        return ["check refuses, the reader does not"]
    pairs = [(key, mine["blocks"][key], its["blocks"][key]) for key in kvread.STATES]
    pairs += [(key, mine["log"][key], its["log"][key])
              for key in ("state", "entries", "data", "intents", "discards", "parity")]
    pairs += [("head", mine["log"]["end"], its["log"]["head"])]
    if its["cache"]:
        pairs += [(key, mine[key], its["cache"][key]) for key in ("clean", "clean_bad")]
    return [f"{key}: reader {a}, check {b}" for key, a, b in pairs if a != b]


def same_contents(got, want):
    """The number of different blocks."""
    with open(got, "rb") as a, open(want, "rb") as b:
        mine, its = a.read(), b.read()
    if len(mine) < len(its):
        return ["sizes"]
    return [f"block {i // kvread.BLOCK}" for i in range(0, len(its), kvread.BLOCK)
            if mine[i:i + kvread.BLOCK] != its[i:i + kvread.BLOCK]]


def compare(tool, name):
    """The faults of one crash: a list of lines."""
    with open(name + ".result", encoding="ascii") as f:
        missing, tag = map(int, f.read().split()[3:])
    legs = sorted(glob.glob(name + ".leg*"))
    with tempfile.NamedTemporaryFile(suffix=".contents") as out:
        mine = read(legs, out)
        out.flush()
        faults = ["the reader refuses"] if not mine or "blocks" not in mine else \
            same_contents(out.name, name + ".data")
    # A start without a leg may go back, and then makes a fork id.
    if mine and not missing and int(mine["tag"], 16) != tag:
        faults.append(f"tag: reader {mine['tag']}, engine {tag:08x}")
    faults += differences(mine, tool_says(tool, legs))
    for i in range(0 if missing else len(legs)):
        less = legs[:i] + legs[i + 1:]
        faults += [f"without {os.path.basename(legs[i])}: {line}"
                   for line in differences(read(less), tool_says(tool, less))]
    return [f"{name}: {line}" for line in faults[:8]]


def say_begun(leg, folder, state):
    """A copy of a leg whose superblocks call a complete chain begun only: @state."""
    copy = os.path.join(folder, os.path.basename(leg))
    shutil.copy(leg, copy)
    blocks = os.path.getsize(leg) // kvread.BLOCK
    with open(copy, "r+b") as f:
        for start in (16, blocks - 240):
            for slot in range(16):
                at = (start + 4 * slot) * kvread.BLOCK
                f.seek(at)
                raw = bytearray(f.read(16384))
                if raw[:16] == kvread.MAGIC and raw[3583] == 2:
                    raw[3583] = state
                    raw[16:20] = kvread.without_sum(bytes(raw), 16).to_bytes(4, "little")
                    f.seek(at)
                    f.write(raw)
    return copy


def lie(tool, name):
    """The verdicts of the reader and check on a chain that does not count (4.11), without each leg;
    None: no chain."""
    legs, faults = sorted(glob.glob(name + ".leg*")), []
    pool = kvread.Pool(legs, WINDOW)
    complete = pool.sb.redo_state == 2
    pool.close()
    if not complete:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for state in kvread.REDO_BEGUN, kvread.REDO_BEGUN_ANEW:
            copies = [say_begun(leg, folder, state) for leg in legs]
            for i in range(len(copies)):
                less = copies[:i] + copies[i + 1:]
                faults += differences(read(less), tool_says(tool, less))
    return [f"{name}, chain begun: {line}" for line in faults]


def rot(legs, folder, rng):
    """Copies of legs with a few rotten blocks, some of them on all legs."""
    copies = [shutil.copy(leg, folder) for leg in legs]
    used = []
    with open(copies[0], "rb") as f:
        size = os.path.getsize(copies[0]) // kvread.BLOCK
        for block in range(256, size - 256):
            f.seek(block * kvread.BLOCK)
            if f.read(kvread.BLOCK).strip(b"\0"):
                used.append(block)
    for block in rng.sample(used, min(len(used), 9)):
        everywhere = rng.random() < 0.7
        for copy in copies:
            if everywhere or rng.random() < 0.4:
                with open(copy, "r+b") as f:
                    f.seek(block * kvread.BLOCK + 8 + rng.randrange(4080))
                    byte = f.read(1)
                    f.seek(-1, os.SEEK_CUR)
                    f.write(bytes((byte[0] ^ 4,)) if byte else b"")
    return copies


def rotten(tool, name, number):
    """The reader and check must agree about rotten images."""
    legs = sorted(glob.glob(name + ".leg*"))
    with tempfile.TemporaryDirectory() as folder:
        copies = rot(legs, folder, random.Random(number))
        return [f"{name}, rotten by {number}: {line}" for line in differences(read(copies), tool_says(tool, copies))]


# Options of mkimage, and the number of legs: without a cache, with one SSD, with two, with three in full stripes, and
# with two that do not carry the log.
MADE = (("", 2), ("-s", 2), ("-1", 3), ("-2", 4), ("-3", 5), ("-l", 4))


def made(mkimage, tool):
    """[faults] of each pool that mkimage makes, with all legs and without each."""
    results = []
    for option, count in MADE:
        with tempfile.TemporaryDirectory() as folder:
            legs = [os.path.join(folder, f"leg{i}") for i in range(count)]
            subprocess.run([mkimage, *option.split(), *legs], check=True)
            for less in [legs] + [legs[:i] + legs[i + 1:] for i in range(count)]:
                faults = differences(read(less, window=1 << 18), tool_says(tool, less))
                results.append([f"mkimage {option}, {len(less)} legs: {line}" for line in faults])
    return results


def main():
    args = [a for a in sys.argv[1:] if a != "--rest"]
    sim, tool = args[:2]
    with tempfile.TemporaryDirectory() as folder:
        if len(args) == 3:
            folder = args[2]
        else:
            fill(sim, folder, REST if "--rest" in sys.argv else FEW)
        names = sorted(f[:-7] for f in glob.glob(folder + "/**/*.result", recursive=True))
        results = [compare(tool, name) for name in names]
        results += [rotten(tool, name, number) for number, name in enumerate(names)]
        lies = [faults for faults in (lie(tool, name) for name in names) if faults is not None]
    if len(args) == 4:
        results += made(*args[2:])
    if len(args) == 4 and not lies:
        results.append(["no image has a complete chain"])
    passed, failed = 0, 0
    for faults in results + lies:
        print("\n".join(faults), end="\n" * bool(faults))
        passed, failed = passed + (not faults), failed + bool(faults)
    for name, fault in examples.run():
        if fault:
            print(f"{name}: {fault}")
        passed, failed = passed + (not fault), failed + bool(fault)
    print(f"{passed} passed, {failed} failed")
    sys.exit(bool(failed) or not names)


if __name__ == "__main__":
    main()
