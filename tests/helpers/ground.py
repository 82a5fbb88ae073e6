"""The moves of a map without a machine, and what can be read of them, independent of the package."""

import gymnasium
import numpy as np
from gymnasium import spaces

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


class Ground(gymnasium.Env):
    """An agent that walks on a map and is paid nothing; an observation is its row and column."""

    def __init__(self, text, limit=1000):
        self.rows, self.limit = text.splitlines(), limit
        cells = {(r, c): tile for r, row in enumerate(self.rows) for c, tile in enumerate(row)}
        self.start = next(cell for cell, tile in cells.items() if tile == "A")
        self.objects = {}
        for cell, tile in cells.items():
            if tile not in " AX":
                self.objects.setdefault(tile, []).append(cell)
        self.floor = [cell for cell, tile in cells.items() if tile != "X"]
        self.observation_space = spaces.Box(0.0, 100.0, (2,), dtype=np.float32)
        self.action_space = spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.steps = self.start, 0
        return np.array(self.cell, dtype=np.float32), {}

    def step(self, action):
        row, column = (x + y for x, y in zip(self.cell, MOVES[action], strict=True))
        if self.rows[row][column] != "X":
            self.cell = row, column
        self.steps += 1
        return np.array(self.cell, dtype=np.float32), 0.0, False, self.steps >= self.limit, {}

    def labels(self, observation, action, there):
        tile = self.rows[int(there[0])][int(there[1])]
        if tile not in self.objects:
            return None
        return tile, f"{tile}{1 + self.objects[tile].index((int(there[0]), int(there[1])))}"

    def distances(self, there, name):
        targets = self.objects[name[0]]
        targets = targets if len(name) == 1 else [targets[int(name[1:]) - 1]]
        return [abs(there[0] - r) + abs(there[1] - c) for r, c in targets]

    def features(self):
        rows, columns = zip(*self.floor, strict=True)
        return {
            "d": lambda here, a, there, x: min(self.distances(there, x)),
            "closer_any": lambda here, a, there, x: any(
                after < before for before, after in zip(self.distances(here, x), self.distances(there, x), strict=True)
            ),
            "leg": lambda here, a, there, x, y: self.distances(self.objects[x][0], y)[0],
            "span": lambda here, a, there: max(rows) - min(rows) + max(columns) - min(columns),
        }
