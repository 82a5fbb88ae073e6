"""A machine of your own: fetch a key, go to the door, never step on n. HRM fails on it: why, and the cure."""

# %% A map and a machine. The way to k leads around a wall; n is a pit, and one of them is near.
from pathlib import Path

import fastrm
from fastrm import plots

grid = fastrm.GridMap.parse("""
XXXXXXXXXXX
XA   n    X
X XXXXX   X
X     X k X
X n   X   X
X       d X
XXXXXXXXXXX
""")
TEXT = """
start   searching
success home
failure lost
searching -> lost       when n     reward -1
searching -> carrying   when k     reward 0
searching -> searching  otherwise  reward -d(k)
carrying  -> lost       when n     reward -1
carrying  -> home       when d     reward 100
carrying  -> carrying   otherwise  reward -d(d)
"""
machine = fastrm.RewardMachine.parse(TEXT)
Path("new-machine.svg").write_text(plots.to_svg(machine))
plots.save(plots.draw_maps([("key and door", grid)]), Path("new-machine-map.png"))

# %% Is the reward safe? Every step on the way costs, and the end pays too little: jumping into the pit is best.
problem = fastrm.compile(grid, machine, metric="geodesic")
verdict = fastrm.guarantee(problem, gamma=0.9)
print(f"door pays 100: {verdict.verdict}; it must pay more than {verdict.critical_reward:.1f}")

# %% Pay 1000, and ask again.
problem = fastrm.compile(grid, fastrm.RewardMachine.parse(TEXT.replace("100", "1000")), metric="geodesic")
print(f"door pays 1000: {fastrm.guarantee(problem, gamma=0.9).verdict}, {problem.shortest[0]} steps")

# %% QRM and CRM find the shortest path. HRM does not, although the reward is safe.
for algo in ("qrm", "crm", "hrm"):
    print(fastrm.train(problem, algo=algo, steps=200_000, seed=0, q_init=100.0))

# %% Why? An option of HRM learns only from what is paid until its machine state is left. The option that should fetch
# the key sees the cost of the way, and a bonus of r_max = 1 for arriving. It does not see the 1000 at the door: they
# are paid later, in another state, to another option. The pit is near and ends the costs, so the option jumps into it.
# The controller does see the 1000, but none of its options fetches the key. No reward at the door can change that.
path = fastrm.hrm_fixed_point(problem).path
print("what HRM settles on:", *path, "- the last cell is a pit")

# %% The cure: let the option itself pay for going elsewhere than to its goal. That is what r_min is for.
careful = fastrm.LearnerConfig(q_init=100.0, r_min=-100.0)
print(fastrm.train(problem, algo="hrm", steps=200_000, seed=0, config=careful))
