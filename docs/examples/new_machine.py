"""Write a new machine and study it: fetch a key, then the door, never step on n."""

# %% A map and a machine.
from pathlib import Path

import fastrm
from fastrm import pictures

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
print(verdict.verdict, "- the reward at the end must exceed", verdict.critical_reward)

# %% Pay enough, and ask again.
enough = machine.write().replace("reward 100", f"reward {1.1 * verdict.critical_reward}")
problem = fastrm.compile(grid, fastrm.RewardMachine.parse(enough), metric="geodesic")
print(fastrm.guarantee(problem, gamma=0.9).verdict)

# %% Do learners find them? Optimistic initial values make them explore.
for algo in ("qrm", "crm", "hrm"):
    print(fastrm.train(problem, algo=algo, steps=400_000, seed=0, q_init=100.0, episode_limit=200))

# %% A picture of the machine.
Path("machine.svg").write_text(pictures.to_svg(machine))
