"""The study of coupled learning: seven claims about targets in any order, judged on runs made here.

::

    python -m fastrm.bench.studies.agenda                    # everything, on 30 maps
    python -m fastrm.bench.studies.agenda first --maps 5     # one part of it, on fewer maps
    python -m fastrm.bench.studies.agenda judge              # the claims and the figure, from the parts that are there

Every part leaves a file in the folder of ``--out``; ``judge`` reads them and writes findings.md and agenda.png.
Intervals are over maps. Claims about maps are judged by the words of `fastrm.bench.studies.claim`; C3 and C5 are
not about maps, and hold if every figure is as claimed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

import fastrm
from fastrm import plots
from fastrm.arrays import Array
from fastrm.experiments import suite_file
from fastrm.kernels.contracts import SUCCESS
from fastrm.kernels.exact import rollout
from fastrm.learners import Batch
from fastrm.problems import TabularProblem

from ..console import markdown_table
from ..speed.measure import AGENDA_TARGETS, agenda_problem, agenda_row
from .claim import Share, worst

Row = dict[str, Any]
SUITES = ("agenda", "agenda-large", "agenda-type", "agenda-object")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
CHECK_EVERY = 1000
HRM_ON = {"single objects": "agenda", "two of each": "agenda-object"}
FIRST = (10, 8, 4)
LARGE = ((32, "auto"), (16, "auto"), (12, "auto"), (12, "nearest"))
"""Targets of the parts, and how the larger ones are planned; what takes longest comes first."""
MOST_STEPS = 5_000_000
"""Steps after which a run is given up."""


def first_shortest(case: tuple[int, int, str]) -> Row:
    """Return after how many steps the greedy tour is a shortest one for the first time."""
    targets, seed, algo = case
    problem = agenda_problem(targets, 41, seed)
    batch = Batch(problem, algo, steps=MOST_STEPS, seeds=[seed], optimum=[1.0])
    return {"targets": targets, "map": seed, "algo": algo, "steps": _steps_until_shortest(batch, problem)}


def _steps_until_shortest(batch: Batch, problem: TabularProblem) -> int | None:
    """Go on until the greedy tour is a shortest one, and return the steps made, None if it never is."""
    path = np.empty(int(problem.shortest[0]) + 2, dtype=np.int64)  # a longer tour is none of the shortest
    while not (found := _is_shortest(batch, problem, path)) and batch.done < batch.steps:
        batch.advance(CHECK_EVERY)
    return batch.done if found else None


def _is_shortest(batch: Batch, problem: TabularProblem, path: Array) -> bool:
    if batch.learner.name == "coupled":
        length, outcome = batch.learner.follow(problem, batch.values(0), problem.start, 0, path)
    else:  # the table as it lies: a copy would take longer than the steps in between
        table, u = batch.learner.view(problem, batch.state).q[0], int(problem.tables.first_u[0])
        length, outcome = rollout.follow(problem.tables, table, None, None, problem.start, u, path)
    return outcome == SUCCESS and length == problem.shortest[0]


def measure_large(case: tuple[int, int, str]) -> Row:
    """Return the tour after a million steps beside the best that is known, steps a second of the processor, bytes."""
    targets, seed, plan = case
    problem = agenda_problem(targets, 41, seed)
    Batch(problem, "coupled", steps=1, seeds=[seed], optimum=[1.0], plan=plan).advance(1)  # may compile
    batch = Batch(problem, "coupled", steps=1_000_000, seeds=[seed], optimum=[1.0], plan=plan)
    begun = time.process_time()
    batch.advance(1_000_000)
    seconds, run = time.process_time() - begun, batch.result(0)
    tour: Any = problem.tour  # which every agenda has
    return {
        "targets": targets, "map": seed, "plan": plan, "length": run.greedy_length, "shortest": tour.length,
        "is_known": tour.is_shortest, "steps_per_s": 1e6 / seconds, "bytes": batch.bytes_per_seed,
    }  # fmt: skip


def drop_each(seed: int) -> list[Row]:
    """Drop each target from a task that was learned, and go on: steps until the tour of the others is a shortest one.

    Beside it the same from nothing.
    """
    rows, problem = [], agenda_problem(6, 21, seed)
    whole = Batch(problem, "coupled", steps=300_000, seeds=[seed], optimum=[1.0])
    whole.advance(300_000)
    for dropped in range(6):
        kept = [k for k in range(6) if k != dropped]
        rest = fastrm.compile(problem.grid, fastrm.task("{" + ",".join(LETTERS[k] for k in kept) + "}"))
        fresh, warm = (Batch(rest, "coupled", steps=300_000, seeds=[seed], optimum=[1.0]) for _ in range(2))
        warm.state.q[0, ..., :5] = whole.state.q[0][..., kept]
        warm.state.own.cell[0, :5] = whole.state.own.cell[0, kept]
        again, first = _steps_until_shortest(warm, rest), _steps_until_shortest(fresh, rest)
        rows.append({"grid": seed, "dropped": LETTERS[dropped], "again": again, "first": first, "solved": again == 0})
    return rows


def compare_machines(n: int) -> Row:
    """Set the machine of an agenda statement beside the machine of the task: what each is found to watch."""
    text = "start u0\nsuccess done\nu0 -> done agenda " + " ".join(LETTERS[:n]) + " reward 1\n"
    statement, task = fastrm.RewardMachine.parse(text), fastrm.task("{" + ",".join(LETTERS[:n]) + "}")
    is_same = len(statement.states) == len(task.states) and statement.agenda == task.agenda is not None
    return {"targets": n, "states": len(task.states), "is_same": is_same}


def run_suites(maps: int, workers: int, out: Path) -> list[Row]:
    """Run the experiments of the suites; return a row per run."""
    rows = []
    for suite in SUITES:
        results = fastrm.run(suite_file(f"{suite}.toml"), out=out / f"{suite}.h5", workers=workers)
        columns = ("setup", "grid", "task", "algo", "solved", "steps_to_90", "greedy_length", "shortest")
        for values in zip(*(results[name].tolist() for name in columns), strict=True):
            rows.append({"suite": suite, **dict(zip(columns, values, strict=True))})
    return rows


def _in_processes(work: Callable[[Any], Any], cases: Iterable[Any], workers: int) -> list[Any]:
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(work, cases))


PARTS: dict[str, Callable[[int, int, Path], list[Row]]] = {
    "same": lambda *_: [compare_machines(n) for n in range(1, 11)],
    "drop": lambda maps, workers, _: [row for rows in _in_processes(drop_each, range(maps), workers) for row in rows],
    "first": lambda maps, workers, _: _in_processes(
        first_shortest, ((n, seed, algo) for n, algo, seed in product(FIRST, ("crm", "coupled"), range(maps))), workers
    ),
    "large": lambda maps, workers, _: _in_processes(
        measure_large, ((n, seed, plan) for (n, plan), seed in product(LARGE, range(maps))), workers
    ),
    "suites": run_suites,
    "speed": lambda *_: [agenda_row(n, 500_000, 3) for n in AGENDA_TARGETS],
}
"""What makes the rows of every part, given the maps, the workers and the folder."""


def judge(parts: dict[str, list[Row]]) -> list[tuple[str, str, str]]:
    """Return name, verdict and numbers of every claim that the parts say something about."""
    claims = []
    suites = parts.get("suites", [])
    if mine := [row for row in suites if row["suite"] == "agenda" and row["algo"] == "coupled"]:
        claims.append(("C1 coupled ends with shortest tours where objects are single", *_share(mine, True)))
    if first := parts.get("first"):
        claims.append(("C2 needs fewer steps than CRM from 4 targets on, and the ratio grows", *_ratios(first)))
    if speed := parts.get("speed"):
        claims.append(("C3 time per step and memory grow like n, CRM's like 2^n", *_growth(speed)))
    if hrm := [row for row in suites if row["algo"] == "hrm" and row["suite"] in ("agenda", "agenda-object")]:
        parts_of = {name: [row for row in hrm if row["suite"] == suite] for name, suite in HRM_ON.items()}
        judged = {name: _share(rows, False) for name, rows in parts_of.items() if rows}
        verdict = worst(said for said, _ in judged.values())
        told = "; ".join(f"{name}: {numbers}" for name, (_, numbers) in judged.items())
        claims.append(("C4 HRM does not reach the optimum", verdict, told))
    if same := parts.get("same"):
        held = sum(row["is_same"] for row in same)
        verdict = "holds" if held == len(same) else "does not hold"
        claims.append(("C5 the agenda machine equals the Boolean one", verdict, f"{held} of {len(same)} sizes"))
    if drop := parts.get("drop"):
        verdict, said = _share(drop, True)
        steps = ([300_000 if row[name] is None else row[name] for row in drop] for name in ("again", "first"))
        again, fresh = (np.array(numbers) / 1000 for numbers in steps)
        told = f"{said}; mean {again.mean():.0f} k steps until they are, {fresh.mean():.0f} k from nothing"
        claims.append(("C6 after dropping a subtask nothing is relearned", verdict, told))
    if types := [row for row in suites if row["suite"] == "agenda-type" and row["algo"] == "coupled"]:
        others = [row for row in suites if row["suite"] == "agenda-object" and row["algo"] == "coupled"]
        (fails, said), (holds, told) = _share(types, False), _share(others, True)
        verdict, told = worst((fails, holds)), f"type: {said}; object: {told}"
        claims.append(("C7 a column per type fails where one per object does not", verdict, told))
    return claims


def _share(rows: list[Row], solved: bool) -> tuple[str, str]:
    """Judge that maps have only shortest tours, or some that is not, in all runs."""
    maps: dict[tuple[Any, Any], list[bool]] = {}
    for row in rows:
        maps.setdefault((row.get("setup"), row["grid"]), []).append(bool(row["solved"]))
    share = Share(sum(all(runs) == solved for runs in maps.values()), len(maps))
    runs = [bool(row["solved"]) for row in rows]
    what = "all tours shortest" if solved else "some tour too long"
    return share.verdict, f"{what} on {share}; {sum(runs)} of {len(runs)} tours are shortest"


def _ratios(rows: list[Row]) -> tuple[str, str]:
    """Judge that CRM needs more steps on every map, and that its share grows from the k-th map to the k-th of more."""
    told, ratios = [], {}
    for targets in sorted({row["targets"] for row in rows}):
        steps = {(row["map"], row["algo"]): row["steps"] or math.inf for row in rows if row["targets"] == targets}
        maps = sorted({number for number, _ in steps})
        ratios[targets] = np.array([steps[m, "crm"] / steps[m, "coupled"] for m in maps])
        low, high = _interval_of_median(ratios[targets])
        never = sum(math.isinf(steps[m, "crm"]) for m in maps)
        coupled = np.median([steps[m, "coupled"] for m in maps]) / 1000
        told.append(
            f"{targets} targets: {np.median(ratios[targets]):.1f} [{low:.1f}, {high:.1f}] over {len(maps)} maps "
            f"(coupled {coupled:.0f} k steps, CRM never on {never})"
        )
    shares = {f"fewer with {n}": Share(int((found > 1).sum()), len(found)) for n, found in ratios.items()}
    for (n, fewer), (more, found) in pairwise(ratios.items()):
        shares[f"grows from {n} to {more}"] = Share(int((found > fewer).sum()), len(found))
    for name, share in shares.items():
        told.append(f"{name}: {share.describe('maps' if 'fewer' in name else 'pairs of maps')}")
    return worst(share.verdict for share in shares.values()), "; ".join(told)


def _interval_of_median(values: Array) -> tuple[float, float]:
    """Return a 95 % interval of the median by resampling maps."""
    draws = np.random.default_rng(0).integers(0, len(values), (2000, len(values)))
    medians = np.sort(np.median(values[draws], axis=1))
    return float(medians[50]), float(medians[-51])


def _growth(rows: list[Row]) -> tuple[str, str]:
    both = [row for row in rows if row["crm_ns_per_step"] is not None]
    last, first = both[-1], both[0]
    names = ("coupled_ns_per_step", "coupled_bytes", "crm_ns_per_step", "crm_bytes")
    more = {name: last[name] / first[name] for name in names}
    n = last["targets"] / first["targets"]
    holds = more["coupled_ns_per_step"] <= n and more["coupled_bytes"] <= n and more["crm_bytes"] > n**2
    told = ", ".join(f"{name} x {value:.1f}" for name, value in more.items())
    return ("holds" if holds else "does not hold"), f"from {first['targets']} to {last['targets']} targets: {told}"


def write_findings(parts: dict[str, list[Row]]) -> str:
    """Return the claims and tables as Markdown."""
    tables = [markdown_table(["claim", "verdict", "numbers"], judge(parts))]
    if large := parts.get("large"):
        rows: list[tuple[str, ...]] = []
        for targets, plan in sorted({(row["targets"], row["plan"]) for row in large}):
            mine = [row for row in large if (row["targets"], row["plan"]) == (targets, plan)]
            ratios = [row["length"] / row["shortest"] for row in mine if row["length"]]
            speed = np.median([row["steps_per_s"] for row in mine]) / 1e6
            known, size = "yes" if mine[0]["is_known"] else "no", f"{mine[0]['bytes'] / 1e3:.0f}"
            figures = f"{len(ratios)} of {len(mine)}", f"{np.mean(ratios or [math.nan]):.3f}", known, f"{speed:.1f}"
            rows.append((f"{targets}", plan, *figures, size))
        head = ["targets", "plan", "completed", "length / best known tour", "exact", "M steps/s", "kB"]
        tables.append(markdown_table(head, rows))
    if speed := parts.get("speed"):
        rows = []
        for row in speed:
            cells = [row["coupled_ns_per_step"], row["planning_ns_per_step"], row["coupled_bytes"] / 1e3]
            cells += [row["crm_ns_per_step"], row["crm_bytes"] and row["crm_bytes"] / 1e3]
            rows.append((f"{row['targets']}", *("-" if value is None else f"{value:.0f}" for value in cells)))
        head = ["targets", "coupled ns/step", "planning ns/step", "coupled kB", "CRM ns/step", "CRM kB"]
        tables.append(markdown_table(head, rows))
    return "\n".join(tables)


def main() -> None:
    """Run the parts that are asked for, then judge all that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "judge", []], help="which parts (default: all)")
    parser.add_argument("--maps", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/agenda"))
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    for name in arguments.parts or PARTS:
        if name != "judge":
            begun = time.perf_counter()
            rows = PARTS[name](arguments.maps, arguments.workers, out)
            (out / f"{name}.json").write_text(json.dumps(rows, indent=1))
            sys.stdout.write(f"{name}: {len(rows)} rows in {time.perf_counter() - begun:.0f} s\n")
            sys.stdout.flush()
    files = {name: out / f"{name}.json" for name in PARTS}
    parts = {name: json.loads(file.read_text()) for name, file in files.items() if file.is_file()}
    findings = write_findings(parts)
    (out / "findings.md").write_text(findings)
    if "first" in parts and "speed" in parts:
        plots.save(plots.draw_agendas(parts["first"], parts["speed"], MOST_STEPS), out / "agenda.png")
    sys.stdout.write(f"{findings}\n")


if __name__ == "__main__":
    main()
