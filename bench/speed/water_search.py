"""Time and memory of the search for the fewest steps on Water world, by task.

Every measurement runs in a process of its own, so that its peak memory is that of the search: what the process took at
most beyond what it had before. Kernels are compiled before the clock starts. Needs Linux. Usage::

    python -m fastrm.bench.speed.water_search                                         # generated worlds
    python -m fastrm.bench.speed.water_search --worlds worlds.json --machine t10.txt  # the reference's, both profiles
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

TASKS = ("a", "a-b", "a-b-c", "a-b-c!", "a-b-c-d!")
"""With ``!`` any other ball fails, as in t10 of the reference."""


def measure(world_name: str, machine_name: str, profile: str) -> dict[str, float]:
    """Search once; return the fewest steps, processor seconds, peak megabytes and machine states."""
    import fastrm

    path, _, name = world_name.rpartition(":")
    world = fastrm.WaterWorld.load(path, name) if path else fastrm.WaterWorld.generate(int(name))
    is_file = Path(machine_name).is_file()
    machine = fastrm.RewardMachine.load(machine_name) if is_file else strict_machine(machine_name)
    small = machine if is_file else fastrm.task("a")
    _ = fastrm.compile(fastrm.WaterWorld.generate(0), small, profile).shortest  # compiles the kernels
    problem = fastrm.compile(world, machine, profile)
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak of what came before
    before, begun = _peak(), time.process_time()
    steps = problem.shortest[0]
    seconds = time.process_time() - begun
    return {"steps": steps, "seconds": seconds, "mb": _peak() - before, "states": problem.tables.n_u}


def strict_machine(task: str) -> Any:
    """Return the machine of a sequence of colours; with ``!`` at the end any other ball fails."""
    import fastrm
    from fastrm.worlds import COLOURS

    if not task.endswith("!"):
        return fastrm.task(task)
    targets = task.removesuffix("!").split("-")
    lines = ["start u0", "success done", "failure failed"]
    for i, target in enumerate(targets):
        others = " | ".join(colour for colour in COLOURS if colour != target)
        there = "done" if i + 1 == len(targets) else f"u{i + 1}"
        lines += [f"u{i} -> {there} when {target} & !({others}) reward {int(there == 'done')}"]
        lines += [f"u{i} -> failed when {others} reward 0", f"u{i} -> u{i} otherwise reward 0"]
    return fastrm.RewardMachine.parse("\n".join(lines) + "\n", f"<{task}>")


def _peak() -> float:
    """Return the most memory that this process had so far, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(kilobytes) / 1000


def in_a_process(*names: str) -> dict[str, float]:
    """Measure in a new process."""
    words = [sys.executable, "-m", "fastrm.bench.speed.water_search", "--one", *names]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="generated worlds (default 5)")
    parser.add_argument("--worlds", help="a file of worlds, in place of generated ones")
    parser.add_argument("--machine", help="a machine file, with --worlds")
    parser.add_argument("--one", nargs=3, metavar=("WORLD", "MACHINE", "PROFILE"), help="measure once, print JSON")
    arguments = parser.parse_args()
    if (arguments.worlds is None) != (arguments.machine is None):
        parser.error("--worlds and --machine go together")
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
    elif arguments.worlds:
        from fastrm import WaterWorld

        print("| world | profile | fewest steps | seconds | peak MB |\n|---|---|---:|---:|---:|")
        for name in WaterWorld.names(arguments.worlds):
            for profile in ("clean", "icarte2022"):
                row = in_a_process(f"{arguments.worlds}:{name}", arguments.machine, profile)
                print(f"| {name} | {profile} | {row['steps']} | {row['seconds']:.2f} | {row['mb']:.0f} |", flush=True)
    else:
        print("| task | machine states | fewest steps | seconds | peak MB |\n|---|---:|---:|---:|---:|")
        for task in TASKS:
            rows = [in_a_process(str(seed), task, "clean") for seed in range(arguments.seeds)]
            steps, seconds, mb = ([row[name] for row in rows] for name in ("steps", "seconds", "mb"))
            print(
                f"| `{task}` | {rows[0]['states']} | {min(steps)} to {max(steps)} | {median(seconds):.2f}, at most "
                f"{max(seconds):.2f} | {median(mb):.0f}, at most {max(mb):.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
