"""The oracle: the simulator once more, slow and obvious, in plain dicts and lists.

It imports nothing from the package and is written from the definitions alone. Kernels must agree with it to the last
bit. A map is text; a machine is a dict with ``states``, ``start``, ``success``, ``failure``, ``edges``, ``score``; an
edge is ``(state, guard, state, reward)``; guards and rewards are nested tuples such as ``("and", ("prop", "a"),
("<", ("d", "b"), ("num", 3)))``, and the guard of the default edge is ``"otherwise"``.
"""

import math

MOVES = [(-1, 0), (0, 1), (1, 0), (0, -1)]  # up, right, down, left
MASK = 2**64 - 1
FELL_OFF = "(fell off)"

CLEAN = {"qrm_bootstraps_at_limit": True, "option_survives_limit": False, "prune": False, "falls_off": False,
         "merge_terminals": False, "failure_options": False}  # fmt: skip
ICARTE2022 = {name: not value for name, value in CLEAN.items()}
SETTINGS = {"alpha": 0.5, "gamma": 0.9, "epsilon": 0.1, "q_init": 2.0, "limit": 1000, "r_max": 1.0, "r_min": 0.0,
            "controller_alpha": 0.5, "self_loop_options": False, "tick": 10_000, "window": 100,
            "slip": 0.0, "trace_decay": 0.8, "planning": 5, "plan": "auto", "per": "object"}  # fmt: skip


# --- randomness: xoroshiro128++ seeded by splitmix64 -----------------------------------------------------------------


def splitmix64(state):
    """Yield the numbers of splitmix64."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def xoroshiro128pp(s0, s1):
    """Yield the numbers of xoroshiro128++."""

    def rotate(x, k):
        return ((x << k) | (x >> (64 - k))) & MASK

    while True:
        yield (rotate((s0 + s1) & MASK, 17) + s0) & MASK
        s1 ^= s0
        s0 = rotate(s0, 49) ^ s1 ^ ((s1 << 21) & MASK)
        s1 = rotate(s1, 28)


def generator(seed):
    seeds = splitmix64(seed)
    return xoroshiro128pp(next(seeds), next(seeds))


def choose(values, epsilon, draw):
    """Epsilon-greedy: the upper half of the draw decides whether to explore, the lower half among the candidates."""
    if (draw >> 32) < math.floor(epsilon * 2**32):
        candidates = list(values)
    else:
        best = max(values.values())
        candidates = [name for name, value in values.items() if value == best]
    return candidates[((draw & 0xFFFFFFFF) * len(candidates)) >> 32]


# --- the grid --------------------------------------------------------------------------------------------------------


class World:
    """A map as text rows: moves, labels and distances."""

    def __init__(self, text, metric="manhattan"):
        lines = text.strip("\n").split("\n")
        self.walls = set()  # pairs of cells that no move joins
        if lines[0].startswith("+"):  # drawn at twice the size, with walls between the cells
            drawn = {(r, c): t for r, line in enumerate(lines) for c, t in enumerate(line)}
            cells = [(r, c) for r, c in drawn if r % 2 and c % 2]
            self.tile = {(r // 2 + 1, c // 2 + 1): drawn[r, c] for r, c in cells}
            for r, c in cells:
                for down, right in MOVES:
                    if drawn[r + down, c + right] != " ":
                        self.walls.add(((r // 2 + 1, c // 2 + 1), (r // 2 + 1 + down, c // 2 + 1 + right)))
        else:
            self.tile = {(r, c): t for r, line in enumerate(lines) for c, t in enumerate(line)}
        self.metric = metric
        self.starts = sorted(cell for cell, tile in self.tile.items() if tile == "A")
        self.start, self.n_actions = self.starts[0], len(MOVES)
        self.known, self.found = {}, {}

    def move(self, cell, action):
        there = (cell[0] + MOVES[action][0], cell[1] + MOVES[action][1])
        return cell if (cell, there) in self.walls or self.tile[there] == "X" else there

    def objects(self, name):
        """Return the cells of a type of object, or of its k-th in reading order: a, a1, a2, ..."""
        if name not in self.found:
            cells = [cell for cell, tile in sorted(self.tile.items()) if tile == name[0]]
            self.found[name] = cells if len(name) == 1 else cells[int(name[1:]) - 1 : int(name[1:])]
        return self.found[name]

    def holds(self, name, before, after):
        return after in self.objects(name)

    def outcomes(self, cell, action):
        """Return the cells that an action may lead to, each with its probability; slips aside."""
        return [(1.0, self.move(cell, action))]

    def reachable(self):
        seen, todo = set(self.starts), list(self.starts)
        while todo:
            cell = todo.pop()
            for there in (there for a in range(self.n_actions) for _, there in self.outcomes(cell, a)):
                if there not in seen:
                    seen.add(there)
                    todo.append(there)
        return sorted(seen)

    def steps_between(self, here, there):
        if self.metric == "manhattan":
            return abs(here[0] - there[0]) + abs(here[1] - there[1])
        if there not in self.known:
            distance, frontier = {there: 0}, [there]
            while frontier:
                cell = frontier.pop(0)
                for action in range(self.n_actions):
                    cell_next = self.move(cell, action)
                    if cell_next not in distance:
                        distance[cell_next] = distance[cell] + 1
                        frontier.append(cell_next)
            self.known[there] = distance
        return self.known[there].get(here, math.inf)

    def nearest(self, cell, letter):
        return min(self.steps_between(cell, there) for there in self.objects(letter))

    def value(self, expression, before, after, to_go=None):
        """Evaluate a guard or a reward for the move from one cell to another."""
        head, *rest = expression
        if head == "num":
            return float(rest[0])
        if head == "true":
            return True
        if head == "prop":
            return self.holds(rest[0], before, after)
        if head == "to_go":
            return to_go
        if head == "d":
            return self.nearest(after, rest[0])
        if head == "d_before":
            return self.nearest(before, rest[0])
        if head == "closer":
            return self.nearest(after, rest[0]) < self.nearest(before, rest[0])
        if head == "closer_any":
            return any(self.steps_between(after, x) < self.steps_between(before, x) for x in self.objects(rest[0]))
        values = [self.value(part, before, after, to_go) for part in rest]
        return {
            "not": lambda x: not x, "and": lambda *x: all(x), "or": lambda *x: any(x), "neg": lambda x: 0.0 - x,
            "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, "==": lambda x, y: x == y,
            "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
            "min": min, "max": max,
        }[head](*values)  # fmt: skip


class TableWorld(World):
    """A world as tables: where action a leads from cell s, and what holds after that move."""

    def __init__(self, next_s, labels, starts, probability=None):
        self.next_s, self.labels, self.starts, self.start = next_s, labels, starts, starts[0]
        self.n_actions, self.metric, self.known = len(next_s[0]), "geodesic", {}
        self.probability = probability

    def move(self, cell, action):
        return self.next_s[cell][action]

    def outcomes(self, cell, action):
        """Return the cells that an action may lead to, each with its probability; not those that never happen."""
        if self.probability is None:
            return super().outcomes(cell, action)
        return [(p, s) for p, s in zip(self.probability[cell][action], self.next_s[cell][action], strict=True) if p > 0]

    def fall(self, cell, action, draw):
        """Return the first outcome whose cumulative probability, as floor(p 2^32), exceeds 32 bits of a draw.

        They are 31 bits of its upper half, counted from the end where its lower half is large.
        """
        bits, total = draw >> 33, 0.0
        if draw & 0xFFFFFFFF >= 2**31:
            bits = 2**32 - 1 - bits
        for p, s in self.outcomes(cell, action)[:-1]:
            total += p
            if bits < math.floor(total * 2**32):
                return s
        return self.outcomes(cell, action)[-1][1]

    def objects(self, name):
        return [cell for cell, names in enumerate(self.labels) if name in names]

    def steps_between(self, here, there):
        """Count the steps along the moves; as many as there are cells where no way leads."""
        seen, steps = {here}, 0
        while there not in seen:
            more = seen | {s for cell in seen for a in range(self.n_actions) for _, s in self.outcomes(cell, a)}
            if more == seen:
                return len(self.next_s)
            seen, steps = more, steps + 1
        return steps


def reads_steps_to_go(expression):
    return expression[0] == "to_go" or any(isinstance(part, tuple) and reads_steps_to_go(part) for part in expression)


# --- the machine -----------------------------------------------------------------------------------------------------


class Machine:
    """A machine on a world; its states are named (machine number, state)."""

    def __init__(self, number, spec, world, profile, gamma):
        self.number, self.spec, self.world, self.profile = number, spec, world, profile
        self.states = [(number, name) for name in spec["states"]]
        self.start = (number, spec["start"])
        self.potential = self.find_potentials(gamma)
        self.known = {}
        self.gamma, self.to_go = gamma, None
        if spec.get("potential") or any(reads_steps_to_go(edge[3]) for edge in spec["edges"]):
            self.to_go = self.find_steps_to_go()

    def terminals(self):
        return [*self.spec["success"], *self.spec["failure"]]

    def edges_from(self, state):
        return [edge for edge in self.spec["edges"] if edge[0] == state[1]]

    def step(self, state, before, after):
        """Return the next state, the reward, and the outcome: None while the task goes on, "success" or "failure"."""
        key = state, before, after
        if key not in self.known:
            self.known[key] = self.work_out_step(state, before, after)
        return self.known[key]

    def find_steps_to_go(self):
        """Return the fewest steps to success from every cell and state, and by the name of an end "" from there."""
        cells = self.world.reachable()
        moves = {}
        for cell in cells:
            for state in self.states:
                after = [there for a in range(self.world.n_actions) for _, there in self.world.outcomes(cell, a)]
                moves[cell, state] = [
                    (there, *self.work_out_step(state, cell, there, rewards=False)) for there in after
                ]
        steps = dict.fromkeys(moves, math.inf)
        changed = True
        while changed:
            changed = False
            for pair, ways in moves.items():
                best = min((1 if end == "success" else math.inf if end else 1 + steps[there, state])
                           for there, state, _, end in ways)  # fmt: skip
                if best < steps[pair]:
                    steps[pair], changed = best, True
        longest = max([n for n in steps.values() if n < math.inf], default=1)
        self.hopeless = float(longest**2 + 1)
        return {pair: self.hopeless if n == math.inf else float(n) for pair, n in steps.items()}

    def steps_after(self, after, target):
        if self.to_go is None or target in self.spec["success"]:
            return 0.0
        return self.to_go.get((after, (self.number, target)), self.hopeless)

    def guidance(self, state, before, after, target, outcome):
        """Return gamma Phi' - Phi, where Phi is -c times the steps to go and 0 at every end."""
        c = self.spec["potential"]
        ahead = 0.0 if outcome else 0.0 - c * self.to_go[after, (self.number, target)]
        return self.gamma * ahead - (0.0 - c * self.to_go[before, state])

    def work_out_step(self, state, before, after, rewards=True):
        open_edges = [e for e in self.edges_from(state) if e[1] != "otherwise" and self.holds(e[1], before, after)]
        if not open_edges:
            open_edges = [e for e in self.edges_from(state) if e[1] == "otherwise"]
        if open_edges:
            (edge,) = open_edges
            target = edge[2]
        else:
            assert self.profile["falls_off"]
            target, edge = FELL_OFF, (None, None, FELL_OFF, ("num", 0))
            for other in self.edges_from(state):
                if other[2] in self.terminals():
                    edge = other
        outcome = None
        if target in self.spec["success"]:
            outcome = "success"
        elif target in self.spec["failure"] or target == FELL_OFF:
            outcome = "failure"
        reward = None
        if rewards:
            reward = self.world.value(edge[3], before, after, self.steps_after(after, edge[2])) + 0.0
            if self.spec.get("potential"):
                reward = reward + self.guidance(state, before, after, target, outcome)
        if outcome and self.profile["merge_terminals"]:
            target = "(end)"
        return (self.number, target), reward, outcome

    def holds(self, guard, before, after):
        return self.world.value(guard, before, after)

    def find_potentials(self, gamma):
        def reads_map(expression):
            return expression[0] != "num" and (
                len(expression) == 1
                or not isinstance(expression[1], tuple)
                or any(reads_map(part) for part in expression[1:])
            )

        value = dict.fromkeys([*self.spec["states"], *self.terminals()], 0.0)
        change, scale = 1.0, 0.0
        while change > 1e-12 * scale:
            change = scale = 0.0
            for name in self.spec["states"]:
                ways = []
                for _, _, target, reward in self.edges_from((self.number, name)):
                    paid = 0.0 if reads_map(reward) else self.world.value(reward, None, None)
                    ways.append(paid + gamma * value[target])
                best = max(ways)
                change, scale = max(change, abs(best - value[name])), max(scale, abs(best))
                value[name] = best
        return {(self.number, name): 0.0 - v for name, v in value.items()}

    def shaped(self, state, state_next, outcome, reward, gamma):
        after = 0.0 if outcome else self.potential[state_next]
        return reward + gamma * after - self.potential[state]

    def options(self, self_loops):
        """Return the pairs (state, state) joined by an edge, in the order of states, then of edges.

        Edges to failures make options only if the profile says so, or where a state has no other option.
        """
        pairs = []
        for state in self.states:
            pairs += self.options_of(state, self_loops, self.profile["failure_options"]) or self.options_of(
                state, self_loops, failures=True
            )
        return pairs

    def options_of(self, state, self_loops, failures):
        pairs = []
        for _, _, target, _ in self.edges_from(state):
            if target in self.spec["failure"] and not failures:
                continue
            if target in self.terminals() and self.profile["merge_terminals"]:
                target = "(end)"
            if (target != state[1] or self_loops) and (state, (self.number, target)) not in pairs:
                pairs.append((state, (self.number, target)))
        return pairs


# --- what can be reached ---------------------------------------------------------------------------------------------


def ceiling(machine, epsilon, slip, limit):
    """Return the largest expected 1 / T of success at step T within the limit, where epsilon of all steps explore."""
    world, cells = machine.world, machine.world.reachable()
    n = world.n_actions
    value = {(cell, state): 0.0 for cell in cells for state in machine.states}
    for t in range(limit, 0, -1):
        earlier = {}
        for cell, state in value:
            worth = []
            for action in range(n):
                worth.append(0.0)
                for share, after in world.outcomes(cell, action):
                    state_next, _, outcome = machine.step(state, cell, after)
                    ahead = {"success": 1 / t, "failure": 0.0}[outcome] if outcome else value[after, state_next]
                    worth[-1] += share * ahead
            chosen = max(
                (1 - slip) * worth[a] + slip / 2 * worth[(a + 1) % n] + slip / 2 * worth[(a - 1) % n] for a in range(n)
            )
            earlier[cell, state] = epsilon * sum(worth) / n + (1 - epsilon) * chosen
        value = earlier
    return sum(value[start, machine.start] for start in world.starts) / len(world.starts)


def total(machine, policy, epsilon, slip, limit):
    """Return the expected sum of rewards of an episode that follows a policy {(cell, state): action} and explores."""
    world, n = machine.world, machine.world.n_actions
    value = {(cell, state): 0.0 for cell in world.reachable() for state in machine.states}
    for _ in range(limit):
        earlier = {}
        for cell, state in value:
            worth = []
            for action in range(n):
                worth.append(0.0)
                for share, after in world.outcomes(cell, action):
                    state_next, reward, outcome = machine.step(state, cell, after)
                    worth[-1] += share * (reward if outcome else reward + value[after, state_next])
            a = policy[cell, state]
            chosen = (1 - slip) * worth[a] + slip / 2 * worth[(a + 1) % n] + slip / 2 * worth[(a - 1) % n]
            earlier[cell, state] = epsilon * sum(worth) / n + (1 - epsilon) * chosen
        value = earlier
    return sum(value[start, machine.start] for start in world.starts) / len(world.starts)


# --- learning --------------------------------------------------------------------------------------------------------


def normal(value):
    """Return a value to store: numbers below the normal ones count as 0."""
    return 0.0 if abs(value) < 2.0**-1022 else value


class Learner:
    """What QRM, CRM and HRM share: episodes, rotation of tasks, the log."""

    def __init__(
        self, text, specs, seed, *, profile=CLEAN, shaping=False, metric="manhattan", optimum=None, base=None,
        **settings,
    ):  # fmt: skip
        self.world = text if isinstance(text, TableWorld) else World(text, metric)
        self.actions = range(self.world.n_actions)
        for name, value in {**SETTINGS, **settings}.items():
            setattr(self, name, value)
        self.schedules = {name: rate for name, rate in settings.items() if callable(rate)}
        self.profile, self.shaping = profile, shaping
        self.machines = [Machine(i, spec, self.world, profile, self.gamma) for i, spec in enumerate(specs)]
        self.states = [state for machine in self.machines for state in machine.states]
        self.optimum = optimum or [1.0] * len(specs)
        self.base = base or [None] * len(specs)  # the total that scores 0 where totals are scored
        self.draws = generator(seed)
        self.q = {}
        self.steps = self.episodes = self.completions = 0
        self.reward_before_episode = 0.0
        self.scores, self.ticks, self.trajectory, self.lengths = [], [], [], []
        self.begin_episode()

    def begin_episode(self):
        self.machine = self.machines[self.episodes % len(self.machines)]
        starts = self.world.starts
        draw = next(self.draws) if len(starts) > 1 else 0
        self.s, self.u = starts[((draw & 0xFFFFFFFF) * len(starts)) >> 32], self.machine.start
        self.t, self.earned = 0, 0.0
        self.valid = self.states  # every state may be the machine's on the first step

    def value(self, *key):
        return self.q.get(key, self.q_init)

    def best(self, s, row):
        return max(self.value(s, row, a) for a in self.actions)

    def learn(self, s, row, a, target):
        old = self.value(s, row, a)
        self.q[s, row, a] = normal(old + self.alpha * (target - old))

    def experience(self, machine, state, a, s_next):
        """Return what a machine in some state would have made of the move, with the reward to learn from."""
        state_next, reward, outcome = machine.step(state, self.s, s_next)
        learned = machine.shaped(state, state_next, outcome, reward, self.gamma) if self.shaping else reward
        return state_next, reward, learned, outcome

    def run(self, steps):
        for _ in range(steps):
            self.step()
        return self

    def step(self):
        if self.steps % 1000 == 0:
            for name, rate in self.schedules.items():
                setattr(self, name, rate(self.steps))
        a = self.act()
        s_next = self.go(self.s, a)
        u_next, reward, learned, outcome = self.experience(self.machine, self.u, a, s_next)
        self.t += 1
        at_limit = self.t == self.limit
        self.update(a, s_next, u_next, learned, outcome, at_limit)
        if self.profile["prune"]:
            self.valid = [m.step(v, self.s, s_next)[0] for m in self.machines for v in m.states]
        self.trajectory.append((self.s, self.u, a))
        self.earned += reward
        self.steps += 1
        self.s, self.u = s_next, u_next
        if outcome or at_limit:
            self.end_episode(outcome)
        if self.steps % self.tick == 0:
            self.log()

    def go(self, s, a):
        """Return where an action leads from a cell, by chance where the world says so."""
        if isinstance(self.world, TableWorld) and self.world.probability is not None:
            return self.world.fall(s, a, next(self.draws))
        return self.world.move(s, self.slide(a))

    def slide(self, a):
        """Return the direction in which a move goes: now and then to the right or the left of where it should."""
        if self.slip == 0:
            return a
        draw = next(self.draws)
        if (draw >> 32) >= math.floor(self.slip * 2**32):
            return a
        n = len(self.actions)
        return (a + (1, n - 1)[((draw & 0xFFFFFFFF) * 2) >> 32]) % n

    def end_episode(self, outcome):
        paid = self.earned if self.machine.spec["score"] == "own" else (1.0 if outcome == "success" else 0.0)
        unit, base = self.optimum[self.machine.number], self.base[self.machine.number]
        self.scores.append(paid / self.t / unit if base is None else (paid - base) / unit)
        self.lengths.append((paid, self.t))
        self.episodes += 1
        self.completions += outcome == "success"
        self.reward_before_episode += self.earned
        self.begin_episode()

    def log(self):
        total = 0.0
        for score in self.scores[-self.window :]:
            total += score
        recent = min(self.window, len(self.scores))
        self.ticks.append({
            "step": self.steps, "episodes": self.episodes, "completions": self.completions,
            "reward": self.reward_before_episode + self.earned, "score": total / recent if recent else math.nan,
        })  # fmt: skip


class QRM(Learner):
    """Q-learning on cells x machine states."""

    def act(self):
        return choose({a: self.value(self.s, self.u, a) for a in self.actions}, self.epsilon, next(self.draws))

    def update(self, a, s_next, u_next, learned, outcome, at_limit):
        bootstrap = not outcome and (not at_limit or self.profile["qrm_bootstraps_at_limit"])
        target = learned + self.gamma * self.best(s_next, u_next) if bootstrap else learned
        self.learn(self.s, self.u, a, target)


class CRM(QRM):
    """QRM with a counterfactual update for every machine state."""

    def update(self, a, s_next, u_next, learned, outcome, at_limit):
        for machine in self.machines:
            for v in machine.states:
                if v not in self.valid:
                    continue
                v_next, _, learned, ends = self.experience(machine, v, a, s_next)
                target = learned if ends else learned + self.gamma * self.best(s_next, v_next)
                self.learn(self.s, v, a, target)


class HRM(Learner):
    """Options for the edges of the machine, and a controller that chooses among them."""

    def __init__(self, *args, **settings):
        self.option = None
        self.controller = {}
        super().__init__(*args, **settings)
        self.options = [pair for machine in self.machines for pair in machine.options(self.self_loop_options)]

    def option_values(self, s, u):
        return {o: self.controller.get((s, o), self.q_init) for o in self.options if o[0] == u}

    def act(self):
        if self.option is None:
            self.option = choose(self.option_values(self.s, self.u), self.epsilon, next(self.draws))
            self.option_start, self.option_return, self.discount = self.s, 0.0, 1.0
        return choose({a: self.value(self.s, self.option, a) for a in self.actions}, self.epsilon, next(self.draws))

    def update(self, a, s_next, u_next, learned, outcome, at_limit):
        for option in self.options:
            source, goal = option
            if source not in self.valid:
                continue
            machine = self.machines[source[0]]
            v_next, _, paid, _ = self.experience(machine, source, a, s_next)
            if v_next == source:
                target = paid + self.gamma * self.best(s_next, option)
            else:
                target = paid + (self.r_max if v_next == goal else self.r_min)
            self.learn(self.s, option, a, target)
        self.option_return += self.discount * learned
        self.discount *= self.gamma
        survives, own = self.profile["option_survives_limit"], self.option[0]
        ended = self.machines[own[0]].step(own, self.s, s_next)[0] != own  # by its own machine and state alone
        if ended or (at_limit and not survives):
            target = self.option_return
            if not outcome and not (at_limit and survives):
                target += self.discount * max(self.option_values(s_next, u_next).values())
            key = self.option_start, self.option
            old = self.controller.get(key, self.q_init)
            self.controller[key] = normal(old + self.controller_alpha * (target - old))
            self.option = None


class SARSA(QRM):
    """The target is the value of the action that is taken next."""

    def __init__(self, *args, **settings):
        self.chosen = None
        super().__init__(*args, **settings)

    def act(self):
        return super().act() if self.chosen is None else self.chosen

    def update(self, a, s_next, u_next, learned, outcome, at_limit):
        self.chosen, target = None, learned
        if not outcome and (not at_limit or self.profile["qrm_bootstraps_at_limit"]):
            values = {b: self.value(s_next, u_next, b) for b in self.actions}
            self.chosen = choose(values, self.epsilon, next(self.draws))
            target = learned + self.gamma * values[self.chosen]
        self.learn(self.s, self.u, a, target)
        if at_limit:
            self.chosen = None


class ExpectedSARSA(QRM):
    """The target is the mean value of the action that is taken next."""

    def best(self, s, row):
        epsilon = math.floor(self.epsilon * 2**32) / 2**32
        values, total = [self.value(s, row, a) for a in self.actions], 0.0
        for value in values:  # the built-in sum of Python 3.12 compensates for rounding
            total += value
        return epsilon * (total / len(values)) + (1 - epsilon) * max(values)


class DoubleQ(QRM):
    """Two tables, the second beside the first in `twin`; one learns, the other judges."""

    def __init__(self, *args, **settings):
        self.tables = [{}, {}]
        super().__init__(*args, **settings)

    def entry(self, table, *key):
        return self.tables[table].get(key, self.q_init)

    def value(self, *key):
        return (self.entry(0, *key) + self.entry(1, *key)) / 2

    def act(self):
        sums = {a: self.entry(0, self.s, self.u, a) + self.entry(1, self.s, self.u, a) for a in self.actions}
        return choose(sums, self.epsilon, next(self.draws))

    def update(self, a, s_next, u_next, learned, outcome, at_limit):
        draw = next(self.draws)
        learns = 0 if (draw >> 32) < 2**31 else 1
        target = learned
        if not outcome and (not at_limit or self.profile["qrm_bootstraps_at_limit"]):
            best = choose({b: self.entry(learns, s_next, u_next, b) for b in self.actions}, 0.0, draw)
            target = learned + self.gamma * self.entry(1 - learns, s_next, u_next, best)
        old = self.entry(learns, self.s, self.u, a)
        self.tables[learns][self.s, self.u, a] = normal(old + self.alpha * (target - old))


class QLambda(QRM):
    """Errors also correct what led to them, as far as its trace lasts."""

    def begin_episode(self):
        super().begin_episode()
        self.traces = {}

    def act(self):
        a = super().act()
        if self.value(self.s, self.u, a) != self.best(self.s, self.u):
            self.traces = {}
        return a

    def update(self, a, s_next, u_next, learned, outcome, at_limit):
        bootstrap = not outcome and (not at_limit or self.profile["qrm_bootstraps_at_limit"])
        target = learned + self.gamma * self.best(s_next, u_next) if bootstrap else learned
        change = self.alpha * (target - self.value(self.s, self.u, a))
        self.traces[self.s, self.u, a] = 1.0
        for key, trace in self.traces.items():
            self.q[key] = normal(self.value(*key) + change * trace)
        decay = self.gamma * self.trace_decay
        self.traces = {key: trace * decay for key, trace in self.traces.items() if trace * decay >= 2.0**-10}


class Dyna(QRM):
    """Every step is followed by updates of moves made before."""

    def __init__(self, *args, **settings):
        self.made = []
        super().__init__(*args, **settings)

    def update(self, a, s_next, u_next, learned, outcome, at_limit):
        super().update(a, s_next, u_next, learned, outcome, at_limit)
        if (self.s, self.u, a) not in self.made:
            self.made.append((self.s, self.u, a))
        for _ in range(self.planning):
            s, u, b = self.made[((next(self.draws) & 0xFFFFFFFF) * len(self.made)) >> 32]
            after, machine = self.go(s, b), self.machines[u[0]]
            v, reward, ends = machine.step(u, s, after)
            paid = machine.shaped(u, v, ends, reward, self.gamma) if self.shaping else reward
            self.learn(s, u, b, paid if ends else paid + self.gamma * self.best(after, v))


class Coupled(Learner):
    """A column for every object (or type) to stand on, and an agenda that says which of them to pursue.

    The machine is only asked whether the episode is over. ``spec["agenda"]`` lists the stages in order, each a pair of
    the object that completes it and the numbers of the stages that come before it.
    """

    def __init__(self, text, specs, *args, **settings):
        self.stages = specs[0]["agenda"]
        self.left, self.columns, self.cell, self.legs, self.plans = None, None, {}, None, 0
        super().__init__(text, specs, *args, **settings)

    def find_columns(self):
        """Return stage and cells of every column, in the order of stages, then of cells."""
        reachable, columns = self.world.reachable(), []
        for i, (name, _) in enumerate(self.stages):
            cells = [cell for cell in self.world.objects(name) if cell in reachable]
            columns += [(i, [cell]) for cell in cells] if self.per == "object" else [(i, cells)]
        return columns

    def begin_episode(self):
        super().begin_episode()
        if self.columns is None:
            self.columns = self.find_columns()
            self.cell["start"] = self.s
        self.left, self.last = frozenset(range(len(self.stages))), "start"
        if self.is_exact():
            columns = range(len(self.columns))
            legs = {(c, k): self.leg(c, k) for c in ["start", *columns] for k in columns}
            if legs != self.legs:
                self.legs, self.known_plans = legs, {}
                self.plans += 1
        self.pursued = self.choose_column()

    def is_exact(self):
        return self.plan == "exact" or (self.plan == "auto" and len(self.stages) <= 12)

    def leg(self, c, k):
        return min(1.0, self.best(self.cell[c], k)) if c in self.cell else 1.0

    def agenda(self, left):
        """Return the columns that may be pursued: their stage is left, and no stage is left that must come before."""
        return [k for k, (i, _) in enumerate(self.columns) if i in left and not left & set(self.stages[i][1])]

    def done_by(self, k, left):
        """Return the stages that leave the agenda when the object of column k is read."""
        return {self.columns[j][0] for j in self.agenda(left) if self.columns[j][1] == self.columns[k][1]}

    def plan_from(self, c, left):
        """Return the value of the best order from column c on, and the column it begins with."""
        if not left:
            return 1.0, None
        if (c, left) not in self.known_plans:
            value, first = -math.inf, None
            for k in self.agenda(left):
                done = self.done_by(k, left)
                ahead = self.plan_from(k, left - done)[0]
                for _ in range(len(done) - 1 if self.gamma > 0 else 0):
                    ahead /= self.gamma
                product = self.legs[c, k] * ahead
                if product > value:
                    value, first = product, k
            self.known_plans[c, left] = value, first
        return self.known_plans[c, left]

    def choose_column(self):
        if self.is_exact():
            return self.plan_from(self.last, self.left)[1]
        value = {k: min(1.0, self.best(self.s, k)) for k in self.agenda(self.left)}
        return max(value, key=value.get)  # the first of the largest

    def act(self):
        return choose({a: self.value(self.s, self.pursued, a) for a in range(4)}, self.epsilon, next(self.draws))

    def update(self, a, s_next, u_next, learned, outcome, at_limit):
        for k, (_, cells) in enumerate(self.columns):
            self.learn(self.s, k, a, 1.0 if s_next in cells else self.gamma * self.best(s_next, k))
        leaving = [k for k in self.agenda(self.left) if s_next in self.columns[k][1]]
        for k in leaving:
            self.cell[k] = s_next
        self.left -= {self.columns[k][0] for k in leaving}
        assert bool(outcome) == (not self.left)
        if leaving and self.left and not at_limit:
            self.last, here, self.s = leaving[0], self.s, s_next
            self.pursued = self.choose_column()
            self.s = here


LEARNERS = {
    "qrm": QRM, "crm": CRM, "hrm": HRM, "sarsa": SARSA, "expected-sarsa": ExpectedSARSA, "double-q": DoubleQ,
    "q-lambda": QLambda, "dyna": Dyna, "coupled": Coupled,
}  # fmt: skip
