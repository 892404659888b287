# SPDX-License-Identifier: GPL-2.0-only
"""The virtual-time lab: one virtual processor whose clock counts instructions."""

import html
import importlib.machinery
import importlib.util
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BENCH = TOP / "build/bench"
PROFILER = TOP / "tests/fio/insnprof"
KERNEL = "6.12"

# Names that the program guest knows.
KINDS = ("hdd", "ssd", "disk", "flash")
STACKS = ("raw", "raid1", "integrity", "kvpool", "raid5", "ppl", "parity1", "cached", "cached1", "full",
          "writecache", "bcache", "dmcache", "writecache-full", "bcache-full", "dmcache-full")
# The bases of hits, in tests/fio/bars and tests/fio/profile.
BASES = ("zero", "linear")
SCALING_JOBS = ("read-128k", "write-128k", "read-1m", "write-1m")
JOBS = ("randread-qd1", "randread-qd32", "randwrite-qd32", "sync", "write-1m", "read-1m", "ram-hit",
        "ssd-hit-qd1", "ssd-hit-qd32", "full-write", "full-rate", "full-write-1m", "full-stream-1m")


def _harness():
    """tests/vm/run as a module, which can start a machine."""
    loader = importlib.machinery.SourceFileLoader("vm_run", str(TOP / "tests/vm/run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("vm_run", loader))
    loader.exec_module(module)
    return module


vm = _harness()


def prepare():
    """Builds and places all files that the machines need."""
    for command in (["scripts/setup", "vm", "lab"], ["make", "-s", "module", f"KVER={KERNEL}"]):
        subprocess.run(command, cwd=TOP, check=True, stdout=subprocess.DEVNULL)
    BENCH.mkdir(parents=True, exist_ok=True)
    os.environ["PATH"] = f"{vm.CACHE}/venv/bin:" + os.environ["PATH"]


def guest(name, command, *, env=None, qemu="", memory="4G", cpus=1):
    """Runs a command in a machine of the lab; yields the objects of its "@KEY {...}" lines.

    More processors than one need the host's clock: their figures depend on the host and on its load.
    Its output is kept in build/bench/NAME.log, the kernel's messages in NAME.console.
    A machine that does not reach "@done" raises RuntimeError.
    """
    settings = " ".join(f"{k}={shlex.quote(str(v))}" for k, v in (env or {}).items())
    inner = f"{settings} exec {command}"
    kernel = vm.Kernel(KERNEL)
    cmd = vm.vng_command(kernel, False, memory=memory, cpus=cpus, stock=True)
    cmd += ["--qemu-opts=" + ("-icount shift=0,sleep=off " if cpus == 1 else "") + qemu]
    cmd += ["--verbose"]  # otherwise there is no console output
    cmd += ["--", f"{vm.guest_command(kernel)} --exec {shlex.quote(inner)}"]
    with open(BENCH / f"{name}.console", "wb") as console:
        machine = subprocess.Popen(
            cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=console,
            start_new_session=True,
        )
    error = "did not reach its end"
    try:
        with open(BENCH / f"{name}.log", "wb") as log:
            for line in machine.stdout:
                log.write(line)
                log.flush()
                key, _, rest = line.decode(errors="replace").rstrip().partition(" ")
                if key == "@done":
                    error = None
                elif key == "@error":
                    error = rest
                elif key.startswith("@") and rest.startswith("{"):
                    yield json.loads(rest)
    finally:
        if machine.poll() is None and error:
            vm.kill_group(machine)
        machine.wait()
    if error:
        raise RuntimeError(f"{name}: {error}; see {BENCH}/{name}.log")


def profiled(kind, stack, job, seconds, settings=None):
    """Counts instructions in the middle of a job: {"ops", "ns", "executed", "out": where prof.2 and kallsyms are}.

    settings: of tests/fio/guest.
    """
    progress(f"# {job}: {stack} on {kind} ...")
    subprocess.run(["make", "-s", "-C", str(PROFILER)], check=True)
    built = TOP / "build/insnprof"
    out = BENCH / f"profile-{kind}-{stack}-{job}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    env = {"FIO_SECONDS": seconds, "MARK": built / "mark", **(settings or {})}
    counted = None
    for counted in guest(out.name, f"{TOP}/tests/fio/guest {kind} {stack} {job}",
                         env=env, qemu=f"-plugin {built}/insnprof.so,out={out}"):
        pass
    if not counted or not counted["ops"]:
        raise RuntimeError(f"{out.name}: no operation was counted")
    shutil.move(vm.OUT / "kallsyms", out / "kallsyms")
    executed = 0
    with open(out / "prof.2") as f:
        for line in f:
            _, instructions, executions = line.split()
            executed += int(instructions) * int(executions)
    return {**counted, "executed": executed, "out": out}


# --- pictures ---

COLORS = ("#d62728", "#1f77b4", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b",
          "#17becf", "#7f7f7f", "#bcbd22", "#e377c2", "#000080", "#000000")
PANEL_W, PANEL_H, LEFT, TOP_MARGIN = 380, 200, 60, 30


def _panel(x, y, title, lines, names):
    """One diagram: time to the right, the speed upwards, a power of ten a step; what is below 1 lies at 1."""
    points = [p for line in lines.values() for p in line]
    end = max(t for t, _ in points)
    decades = max(1, math.ceil(math.log10(max(2, *(v for _, v in points)))))
    out = [f'<text x="{x}" y="{y - 8}" font-weight="bold">{html.escape(title)}</text>',
           f'<rect x="{x}" y="{y}" width="{PANEL_W}" height="{PANEL_H}" fill="none" stroke="#999"/>']
    for power in range(decades + 1):
        at = y + PANEL_H * (1 - power / decades)
        out.append(f'<line x1="{x}" x2="{x + PANEL_W}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>'
                   f'<text x="{x - 6}" y="{at + 4:.1f}" text-anchor="end">{10 ** power}</text>')
    out.append(f'<text x="{x + PANEL_W}" y="{y + PANEL_H + 14}" text-anchor="end">{end:.0f} s</text>')
    for name, line in lines.items():
        path = " ".join(f"{x + PANEL_W * t / end:.1f},{y + PANEL_H * (1 - math.log10(max(1, v)) / decades):.1f}"
                        for t, v in line)
        out.append(f'<polyline points="{path}" fill="none" stroke-width="1.5" '
                   f'stroke="{COLORS[names.index(name) % len(COLORS)]}"><title>{html.escape(name)}</title></polyline>')
    return out


def chart(title, panels, names):
    """An SVG of diagrams, three a row. panels: (title, {name: [(seconds, value), ...]}); names: for the colours."""
    width = 3 * (PANEL_W + LEFT) + 20
    height = TOP_MARGIN * 2 + math.ceil(len(panels) / 3) * (PANEL_H + 60) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="{LEFT}" y="20" font-size="15">{html.escape(title)}</text>']
    x = LEFT
    for i, name in enumerate(names):
        out.append(f'<text x="{x}" y="42" fill="{COLORS[i % len(COLORS)]}" font-weight="bold">{html.escape(name)}</text>')
        x += 8 * len(name) + 20
    for i, (heading, lines) in enumerate(panels):
        out += _panel(LEFT + i % 3 * (PANEL_W + LEFT), 80 + i // 3 * (PANEL_H + 60), heading, lines, names)
    return "\n".join(out + ["</svg>"]) + "\n"


def progress(text):
    print(text, file=sys.stderr, flush=True)
