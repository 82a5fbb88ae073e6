"""Water worlds in the oracle's form."""

import numpy as np

from fastrm import WaterWorld


def spec_of(world):
    """Return a world as the oracle reads it."""
    return {"agent": world.agent, "balls": [(ball.colour, ball.position, ball.velocity) for ball in world.balls]}


def random_actions(seed, count=600):
    """Return actions that are kept for a while now and then, so that the agent gets around."""
    draw = np.random.default_rng(seed)
    return np.repeat(draw.integers(0, 5, count), draw.integers(1, 4, count))[:count]


ORDERLY = {
    "states": ["u0", "u1"], "start": "u0", "success": ["done"], "failure": [], "score": "own",
    "edges": [
        ("u0", ("not", ("or", ("prop", "d"), ("prop", "e"))), "u0", ("num", 0)),
        ("u0", ("and", ("prop", "d"), ("not", ("prop", "e"))), "u1", ("num", 0.5)),
        ("u1", ("and", ("prop", "e"), ("not", ("prop", "d"))), "done", ("num", 1)),
        ("u1", ("not", ("or", ("prop", "d"), ("prop", "e"))), "u1", ("num", 0)),
    ],
}  # fmt: skip
"""First d, then e; a move that shows the wrong one, or both, opens no edge."""

READING = {
    "states": ["u0", "u1"], "start": "u0", "success": ["done"], "failure": ["lost"], "score": "task",
    "edges": [
        ("u0", ("prop", "a"), "u1", ("max", ("d", "b"), ("num", 2))),
        ("u0", ("and", ("not", ("prop", "a")), ("<", ("d", "f"), ("num", 1))), "lost", ("neg", ("d_before", "c"))),
        ("u0", "otherwise", "u0", ("neg", ("d", "a"))),
        ("u1", ("and", ("closer", "b"), ("not", ("prop", "b"))), "u1", ("num", 0.25)),
        ("u1", ("prop", "b"), "done", ("+", ("num", 3), ("*", ("num", 0.5), ("min", ("d", "a"), ("d", "e"))))),
        ("u1", "otherwise", "u1", ("-", ("d", "b"), ("d_before", "b"))),
    ],
}  # fmt: skip
"""A machine that reads all there is."""


def close_by(seed):
    """Return a world with a ball of each colour, all of them within a few steps of the agent."""
    places = [(145.0, 200.0), (152.0, 190.0), (60.0, 330.0), (125.0, 225.0), (110.0, 250.0), (50.0, 180.0)]
    balls = WaterWorld.generate(seed).balls[::2]
    near = tuple(ball._replace(position=place) for ball, place in zip(balls, places, strict=True))
    return WaterWorld((100.0, 200.0), near)
