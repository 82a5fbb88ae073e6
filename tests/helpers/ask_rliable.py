"""What rliable says of some numbers; needs nothing else. `test_overall.py` compares fastrm with it.

python -m venv asked && asked/bin/pip install rliable==1.2.0 && asked/bin/python tests/helpers/ask_rliable.py
"""

import numpy as np

METHODS = ("crm-num", "qrm-num")
SHAPE = {"setup": 2, "map": 4, "task": 2, "seed": 3}


def score(method: int, setup: int, grid: int, task: int, seed: int) -> float:
    """Return the score of a run: spread between 0 and 1.2, some of them equal."""
    k = np.ravel_multi_index((setup, grid, task, seed), tuple(SHAPE.values()))
    return round(1.2 * ((0.618034 * (k + 1) * (k + 3 * method + 2)) % 1.0) * (1.0 - 0.2 * method), 1)


def tables(over: str) -> dict[str, np.ndarray]:
    """Return runs x tasks by method: a row per map and seed, or a row per seed."""
    found = {}
    for m, method in enumerate(METHODS):
        every = np.array([score(m, *place) for place in np.ndindex(*SHAPE.values())]).reshape(*SHAPE.values())
        order = (1, 3, 0, 2) if over == "maps" else (3, 0, 1, 2)
        rows = SHAPE["seed"] * (SHAPE["map"] if over == "maps" else 1)
        found[method] = every.transpose(order).reshape(rows, -1)
    return found


if __name__ == "__main__":
    from rliable import metrics

    for over in ("maps", "seeds"):
        by_method = tables(over)
        for method, scores in by_method.items():
            print(over, method, metrics.aggregate_iqm(scores), metrics.aggregate_optimality_gap(scores))
        print(over, metrics.probability_of_improvement(*by_method.values()))
