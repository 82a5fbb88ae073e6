"""Write a new machine and study it: fetch a key, then the door, never step on n."""

# %% A map and a machine.
from pathlib import Path

import fastrm
from fastrm import graph

grid = fastrm.GridMap.parse("""
XXXXXXXXXXX
XA   n    X
X XXXXX   X
X     X k X
X n   X   X
X       d X
XXXXXXXXXXX
""")
machine = fastrm.RewardMachine.parse("""
start   searching
success home
failure lost
searching -> lost       when n          reward -1
searching -> carrying   when k          reward 0
searching -> searching  otherwise       reward -d(k)
carrying  -> lost       when n          reward -1
carrying  -> home       when d          reward 100
carrying  -> carrying   otherwise       reward -d(d)
""")
problem = fastrm.compile(grid, machine, metric="geodesic")

# %% Does its reward lead to shortest paths? From which reward on?
verdict = fastrm.guarantee(problem, gamma=0.9)
print(verdict.verdict, "R must exceed", verdict.critical_reward)
for finding in fastrm.lint(machine, grid):
    print(finding)

# %% Do learners find them?
for algo in ("qrm", "crm", "hrm"):
    print(fastrm.train(problem, algo=algo, steps=200_000, seed=0))

# %% A picture of the machine.
Path("machine.svg").write_text(graph.to_svg(machine))
