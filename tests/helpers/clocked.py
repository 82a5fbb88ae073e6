"""Machines with clocks and counts in the oracle's form: as text, played move by move, and unrolled the slow way.

A spec is one of `machine_specs` with ``variables``, rows of (kind, name, low, high, saturates); its edges have a fifth
part, actions (name, sign, number), and ``("val", name)`` reads a clock or count. Nothing here is from the package.
"""

import itertools

from machine_specs import text_of

LETTERS = "ab"


def clocked_text(spec):
    """Write a spec as a .rm file."""
    lines = [f"states {' '.join(spec['states'])}", f"start {spec['start']}", f"success {' '.join(spec['success'])}"]
    if spec["failure"]:
        lines.append(f"failure {' '.join(spec['failure'])}")
    for kind, name, low, high, saturates in spec["variables"]:
        lines.append(f"{kind} {name} {low}..{high}{' saturate' if saturates and kind == 'count' else ''}")
    for source, guard, target, reward, actions in spec["edges"]:
        when = guard if guard == "otherwise" else f"when {text_of(guard)}"
        done = ", ".join(f"{name} {sign} {number}" for name, sign, number in actions)
        lines.append(f"{source} -> {target} {when} reward {text_of(reward)}{' do ' + done if done else ''}")
    return "\n".join(lines) + "\n"


def replaced(expression, values):
    """Put numbers in place of clocks and counts."""
    if expression == "otherwise":
        return expression
    if expression[0] == "val":
        return ("num", values[expression[1]])
    return tuple(replaced(part, values) if isinstance(part, tuple) else part for part in expression)


class OutOfRange(Exception):
    """A count would leave its range."""


def after(spec, values, actions):
    """Return what clocks and counts show at the next move."""
    values = dict(values)
    for name, sign, number in actions:
        values[name] = number if sign == "=" else values[name] + (number if sign == "+=" else -number)
    for kind, name, low, high, saturates in spec["variables"]:
        if not low <= values[name] <= high and not saturates:
            raise OutOfRange
        values[name] = min(max(values[name], low), high)
        if kind == "clock":
            values[name] = min(values[name] + 1, high)
    return values


class Player:
    """Plays a spec on a world of the oracle, by the definition alone."""

    def __init__(self, spec, world):
        self.spec, self.world = spec, world
        self.state, self.values, self.cell = spec["start"], {row[1]: 0 for row in spec["variables"]}, world.start

    def step(self, action):
        """Make a move; return what it pays."""
        there = self.world.move(self.cell, action)
        edges = [edge for edge in self.spec["edges"] if edge[0] == self.state]
        guards = [replaced(edge[1], self.values) for edge in edges]
        chosen = [
            edge for edge, guard in zip(edges, guards, strict=True)
            if guard != "otherwise" and self.world.value(guard, self.cell, there)
        ]  # fmt: skip
        ((_, _, self.state, reward, actions),) = chosen or [edge for edge in edges if edge[1] == "otherwise"]
        paid = self.world.value(replaced(reward, self.values), self.cell, there)
        self.cell, self.values = there, after(self.spec, self.values, actions)
        return paid + 0.0


def simple(expression):
    """Return an expression without parts that are constant."""
    head, *rest = expression
    if head in ("num", "true", "false", "prop", "d", "closer"):
        return expression
    parts = [simple(part) for part in rest]
    if head == "not":
        return {("true",): ("false",), ("false",): ("true",)}.get(parts[0], ("not", parts[0]))
    if head in ("and", "or"):
        over, idle = (("false",), ("true",)) if head == "and" else (("true",), ("false",))
        parts = [part for part in parts if part != idle]
        return over if over in parts else idle if not parts else parts[0] if len(parts) == 1 else (head, *parts)
    if any(part[0] != "num" for part in parts):
        return (head, *parts)
    numbers = [part[1] for part in parts]
    compared = {"<": int.__lt__, "<=": int.__le__, "==": int.__eq__}
    if head in compared:
        return ("true",) if compared[head](*numbers) else ("false",)
    return ("num", {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "neg": int.__neg__}[head](*numbers))


def holds(guard, letters):
    """Return whether a guard holds when some propositions do."""
    head, *rest = guard
    if head == "prop":
        return rest[0] in letters
    if head in ("true", "false"):
        return head == "true"
    return {"not": lambda x: not x, "and": lambda *x: all(x), "or": lambda *x: any(x)}[head](
        *(holds(part, letters) for part in rest)
    )


def may_open(edges):
    """Return the edges of a state that open for some propositions; guards read nothing else."""
    opened = set()
    for size in range(len(LETTERS) + 1):
        for letters in itertools.combinations(LETTERS, size):
            now = [k for k, edge in enumerate(edges) if edge[0] != "otherwise" and holds(edge[0], letters)]
            opened |= {*now} if now else {k for k, edge in enumerate(edges) if edge[0] == "otherwise"}
    return [edges[k] for k in sorted(opened)]


def unrolled(spec):
    """Return the spec without clocks and counts that does the same, its states named s0, s1, ... breadth first."""
    ends = [*spec["success"], *spec["failure"]]
    start = spec["start"], tuple((row[1], 0) for row in spec["variables"])
    found, todo = {}, [start]
    for state, shown in todo:
        if (state, shown) in found:
            continue
        values, ways = dict(shown), []
        for source, guard, target, reward, actions in spec["edges"]:
            if source == state:
                guard = guard if guard == "otherwise" else simple(replaced(guard, values))
                ways.append((guard, target, simple(replaced(reward, values)), actions))
        found[state, shown] = []
        for guard, target, reward, actions in may_open(ways):
            there = after(spec, values, actions)
            pair = target if target in ends else (target, tuple(there.items()))
            found[state, shown].append((guard, pair, reward))
            if target not in ends:
                todo.append(pair)
    group = dict.fromkeys(found, 0) | {end: end for end in ends}
    while True:
        kinds = {}
        finer = {pair: kinds.setdefault(frozenset((g, group[to], r) for g, to, r in found[pair]), len(kinds))
                 for pair in found}  # fmt: skip
        if len(set(finer.values())) == len({group[pair] for pair in found}):
            break
        group = finer | {end: end for end in ends}
    first = {}
    for pair in found:
        first.setdefault(group[pair], pair)
    names = {kind: f"s{k}" for k, kind in enumerate(first)} | {end: end for end in ends}
    edges = [
        (names[kind], guard, names[group[there]], reward)
        for kind, pair in first.items() for guard, there, reward in found[pair]
    ]  # fmt: skip
    return spec | {"states": [names[kind] for kind in first], "start": "s0", "edges": edges}


def random_spec(random, distances=False):
    """Make a machine with one or two clocks or counts whose guards exclude each other; not always a sound one."""
    kinds = random.choice([["clock"], ["count"], ["clock", "count"], ["clock", "clock"], ["count", "count"]])
    variables = []
    for kind, name in zip(kinds, random.sample(["t", "n", "ticks", "load"], len(kinds)), strict=True):
        low = random.choice([0, 0, -2]) if kind == "count" else 0
        variables.append((kind, name, low, random.randint(1, 6), kind == "clock" or random.random() < 0.7))
    states, edges = [f"u{k}" for k in range(random.randint(1, 3))], []

    def atom():
        _, name, low, high, _ = random.choice(variables)
        compared = (random.choice(["<", "<=", "=="]), ("val", name), ("num", random.randint(low, high)))
        letter = ("prop", random.choice(LETTERS))
        both = ("and", letter, ("not", compared))
        choices = [letter, letter, ("and", letter, compared), ("or", letter, compared), both, compared, ("not", letter)]
        return random.choice(choices + [("<", ("d", "a"), ("num", 2))] * distances)

    def reward():
        name, number = random.choice(variables)[1], ("num", random.randint(-3, 9))
        free = [number, number, ("val", name), ("-", number, ("val", name)), ("*", number, ("val", name))]
        return random.choice(free + [("neg", ("d", "a")), ("-", ("d", "b"), ("val", name))] * distances)

    def actions():
        chosen = []
        for kind, name, low, high, _ in variables:
            if random.random() < 0.4:
                sign = "=" if kind == "clock" else random.choice(["=", "+=", "-="])
                chosen.append((name, sign, random.randint(low, high) if sign == "=" else random.randint(1, 2)))
        return chosen

    for k, state in enumerate(states):
        earlier = []
        for _ in range(random.randint(1, 3)):
            own = atom()
            guard = ("and", own, *(("not", other) for other in earlier)) if earlier else own
            earlier.append(own)
            targets = [*states, "done", "failed", states[min(k + 1, len(states) - 1)]]
            edges.append((state, guard, random.choice(targets), reward(), actions()))
        edges.append((state, "otherwise", random.choice([state, state, *states]), reward(), actions()))
    failure = ["failed"] if any(edge[2] == "failed" for edge in edges) else []
    return {
        "states": states, "start": "u0", "success": ["done"], "failure": failure, "edges": edges, "score": "task",
        "variables": variables,
    }  # fmt: skip
