"""Watch a learned policy: an animation of one episode, with the state of the machine beside the map."""

# %% Learn.
from pathlib import Path

import fastrm
from fastrm import plots

grid = fastrm.GridMap.generate("1a1b1c", size=11, seed=4, layout="rooms")
problem = fastrm.compile(grid, fastrm.task("a-b-c", kind="numeric-boolean"), metric="geodesic")
run = fastrm.train(problem, algo="crm", steps=200_000, seed=0)
print(run)

# %% Watch.
plots.save_episode(problem, run.greedy_path, Path("episode.gif"))
