"""The oracle of Water world: its physics, labels, machines and linear learners in plain Python.

It imports nothing from the package and is written from the definitions alone. Guards and rewards are nested tuples as
in `naive`; the generator of random numbers and the choice of actions are taken from there.
"""

import math

import naive

COLOURS = "abcdef"
PUSHES = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)]  # none, up, right, down, left


def move_axis(position, velocity):
    """Move one coordinate of a disc of radius 15 in a box of side 400 for one step."""
    position = position + 0.1 * velocity
    if position - 15 < 0:
        return 15.0, -velocity
    if position + 15 > 400:
        return 385.0, -velocity
    return position, velocity


class Pool:
    """A world in motion: ``spec`` has the agent's position and the balls as (colour, position, velocity)."""

    def __init__(self, spec, profile, velocity=(0.0, 0.0)):
        self.spec, self.delayed, self.velocity = spec, profile == "icarte2022", velocity
        self.first_action_of_all = None
        self.reset()

    def reset(self):
        self.t = 0
        self.position = [float(p) for p in self.spec["agent"]]
        self.speed = [float(v) for v in self.velocity]
        if self.delayed and self.first_action_of_all is not None:
            self.speed = self.pushed(self.speed, self.first_action_of_all)
        self.balls = [[colour, list(p), list(v)] for colour, p, v in self.spec["balls"]]
        self.touching = self.touched()
        self.waiting = set()  # colours that the next label shows where labels are delayed

    def pushed(self, speed, action):
        return [max(-90.0, min(90.0, v + 30.0 * push)) for v, push in zip(speed, PUSHES[action], strict=True)]

    def gap(self, ball):
        x, y = ball[1][0] - self.position[0], ball[1][1] - self.position[1]
        return x * x + y * y

    def touched(self):
        return {i for i, ball in enumerate(self.balls) if self.gap(ball) <= 900.0}

    def d(self, colour):
        return max(0.0, min(math.sqrt(self.gap(ball)) for ball in self.balls if ball[0] == colour) - 30.0)

    def step(self, action):
        """Make a move; return its label, and the distances to all colours before and after it."""
        if self.first_action_of_all is None:
            self.first_action_of_all = action
        before = {colour: self.d(colour) for colour in self.colours()}
        self.speed = self.pushed(self.speed, action)
        for axis in (0, 1):
            self.position[axis], self.speed[axis] = move_axis(self.position[axis], self.speed[axis])
            for ball in self.balls:
                ball[1][axis], ball[2][axis] = move_axis(ball[1][axis], ball[2][axis])
        self.t += 1
        touching = self.touched()
        fresh = {self.balls[i][0] for i in touching - self.touching}
        self.touching = touching
        label, self.waiting = (self.waiting, fresh) if self.delayed else (fresh, set())
        return label, before, {colour: self.d(colour) for colour in self.colours()}

    def colours(self):
        return sorted({ball[0] for ball in self.balls})


def value(expression, label, before, after):
    """Evaluate a guard or a reward for a move with this label and these distances."""
    head, *rest = expression
    if head == "num":
        return float(rest[0])
    if head == "true":
        return True
    if head == "prop":
        return rest[0] in label
    if head == "d":
        return after[rest[0]]
    if head == "d_before":
        return before[rest[0]]
    if head == "closer":
        return after[rest[0]] < before[rest[0]]
    values = [value(part, label, before, after) for part in rest]
    return {
        "not": lambda x: not x, "and": lambda *x: all(x), "or": lambda *x: any(x), "neg": lambda x: 0.0 - x,
        "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, "==": lambda x, y: x == y,
        "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
        "min": min, "max": max,
    }[head](*values)  # fmt: skip


def machine_step(spec, state, moved, falls_off):
    """Return the next state, the reward and the outcome: None while the task goes on, "success" or "failure"."""
    edges = [edge for edge in spec["edges"] if edge[0] == state]
    open_edges = [edge for edge in edges if edge[1] != "otherwise" and value(edge[1], *moved)]
    open_edges = open_edges or [edge for edge in edges if edge[1] == "otherwise"]
    if not open_edges:
        paid = 0.0
        for edge in edges:
            if falls_off and edge[2] in (*spec["success"], *spec["failure"]):
                paid = value(edge[3], *moved) + 0.0
        return naive.FELL_OFF, paid, "failure"
    (edge,) = open_edges
    outcome = "success" if edge[2] in spec["success"] else "failure" if edge[2] in spec["failure"] else None
    return edge[2], value(edge[3], *moved) + 0.0, outcome
