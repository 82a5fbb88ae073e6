"""The same three objects in a given order and in any order: larger machine, shorter way."""

# %% Two tasks on one map.
from pathlib import Path

import fastrm
from fastrm import plots

grid = fastrm.GridMap.generate("1a1b1c", size=15, seed=3)
for text in ("a-b-c", "{a,b,c}"):
    machine = fastrm.task(text)
    problem = fastrm.compile(grid, machine)
    run = fastrm.train(problem, algo="crm", steps=200_000, seed=0)
    print(f"{text}: {len(machine.states)} states, shortest {problem.shortest[0]} steps, learned {run.greedy_length}")

# %% In which order does the learned policy visit them?
from fastrm.problems import retrace  # noqa: E402

print("visited:", *(moment.label for moment in retrace(problem, run.greedy_path) if moment.label))

# %% The machine of {a,b,c} remembers which of the three are done.
Path("any-order.svg").write_text(plots.to_svg(fastrm.task("{a,b,c}")))
