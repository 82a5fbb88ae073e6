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


# --- linear learning -------------------------------------------------------------------------------------------------


def memory_tiles(pool, u):
    """Name the tiles of position, velocity and time; all machine states share their names, not their weights."""
    found = []
    for k, (space, span) in enumerate(zip([80, 80, 40, 40, 20, 20, 10, 10], [16, 16, 8, 8, 4, 4, 2, 2], strict=True)):
        shift = k % 2 / 2
        place = tuple(math.floor((p + shift * space) / space) for p in pool.position)
        time = math.floor((min(pool.t, 100) + shift * span) / span)
        found.append((k, u, *place, *(pool.speed if k else ()), time))
    return found


def sight_tiles(pool, u, spec):
    """Name the tiles of what is seen: the nearest ball of each wanted colour, and of any other."""
    found = []
    wanted = wanted_colours(spec, u)
    others = [colour for colour in pool.colours() if colour not in wanted]
    fastest = 90.0 + max(abs(v) for ball in pool.spec["balls"] for v in ball[2])
    for group in [[colour] for colour in wanted] + ([others] if others else []):
        ball = min((ball for ball in pool.balls if ball[0] in group), key=pool.gap)
        offset = [ball[1][axis] - pool.position[axis] for axis in (0, 1)]
        speed = [ball[2][axis] - pool.speed[axis] for axis in (0, 1)]
        for k, width in enumerate([160.0, 80.0, 40.0, 20.0]):
            low, slow = math.ceil(400.0 / width) * width, math.ceil(fastest / 60.0) * 60.0
            place = [math.floor((x + (low + k % 2 * width / 2)) / width) for x in offset]
            pace = [math.floor((v + (slow + k % 2 * 30.0)) / 60.0) for v in speed]
            found.append((u, *group, k, *place, *pace))
    return found


def wanted_colours(spec, state):
    def positive(guard, negated=False):
        if guard == "otherwise":
            return []
        if guard[0] == "prop":
            return [] if negated else [guard[1]]
        if guard[0] == "not":
            return positive(guard[1], not negated)
        if guard[0] in ("and", "or"):
            return [name for part in guard[1:] for name in positive(part, negated)]
        return []

    ahead = [e for e in spec["edges"] if e[0] == state and e[2] != state and e[2] not in spec["failure"]]
    return sorted({name for edge in ahead for name in positive(edge[1])})


class LinearLearner:
    """QRM (`sweeps` false) or CRM with sums of weights."""

    def __init__(self, pool, spec, seed, *, sweeps, features, alpha, gamma, epsilon, q_init, limit, rests=None):
        self.pool, self.spec, self.draws = pool, spec, naive.generator(seed)
        self.sweeps, self.features, self.rests = sweeps, features, rests
        self.alpha, self.gamma, self.epsilon, self.q_init, self.limit = alpha, gamma, epsilon, q_init, limit
        self.weights, self.lengths, self.earned, self.banked, self.steps = {}, [], 0.0, 0.0, 0
        self.begin_episode()

    def begin_episode(self):
        self.pool.reset()
        if self.rests:
            draw = next(self.draws)
            x, y = (
                (half * len(rests)) >> 32
                for half, rests in zip((draw & 0xFFFFFFFF, draw >> 32), self.rests, strict=True)
            )
            self.pool.position, self.pool.speed = [self.rests[0][x], self.rests[1][y]], [0.0, 0.0]
            self.pool.touching = self.pool.touched()
        self.u, self.t, self.earned, self.valid = self.spec["start"], 0, 0.0, self.spec["states"]

    def tiles(self, u):
        return memory_tiles(self.pool, u) if self.features == "memory" else sight_tiles(self.pool, u, self.spec)

    def value(self, tiles, a):
        total = self.q_init
        for tile in tiles:
            total += self.weights.get((tile, a), 0.0)
        return total

    def step(self):
        alpha = self.alpha(self.steps // 1000 * 1000) if callable(self.alpha) else self.alpha
        here = {u: self.tiles(u) for u in self.spec["states"]}
        a = naive.choose({b: self.value(here[self.u], b) for b in range(5)}, self.epsilon, next(self.draws))
        moved = self.pool.step(a)
        falls_off = self.pool.delayed
        self.t += 1
        self.steps += 1
        after = {u: machine_step(self.spec, u, moved, falls_off) for u in self.spec["states"]}
        for v in self.spec["states"] if self.sweeps else [self.u]:
            if self.sweeps and self.pool.delayed and v not in self.valid:
                continue
            v_next, target, outcome = after[v]
            if not outcome and (self.sweeps or not self.pool.delayed or self.t < self.limit):
                there = self.tiles(v_next)
                target += self.gamma * max(self.value(there, b) for b in range(5))
            change = alpha / len(here[v]) * (target - self.value(here[v], a))
            for tile in here[v]:
                self.weights[tile, a] = self.weights.get((tile, a), 0.0) + change
        self.valid = [state for state, _, _ in after.values()]
        self.u, reward, outcome = after[self.u]
        self.earned += reward
        if outcome or self.t == self.limit:
            paid = self.earned if self.spec["score"] == "own" else float(outcome == "success")
            self.lengths.append((paid, self.t))
            self.banked += self.earned
            self.begin_episode()
        return a
