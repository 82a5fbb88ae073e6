"""Learning a machine while acting, slow and obvious: plain lists, nothing imported from the package.

A world is a list of moves, for every cell one (next cell, label) per action; the hidden machine and the guesses are
those of `naive_inference`. Labels are numbers, 0 for none.
"""

import math

import naive
import naive_inference

NOTHING = naive_inference.NOTHING


class Student:
    """Acts by a guess, and guesses again when a move contradicts it."""

    def __init__(
        self, moves, starts, truth, seed, walk=0.5, alpha=0.5, gamma=0.9, epsilon=0.1, q_init=2.0, limit=1000,
        compress=True,
    ):  # fmt: skip
        self.moves, self.starts, self.truth, self.draws = moves, starts, truth, naive.generator(seed)
        self.walk, self.alpha, self.gamma, self.epsilon = walk, alpha, gamma, epsilon
        self.q_init, self.limit, self.compress = q_init, limit, compress
        self.cells, self.actions = range(len(moves)), range(len(moves[0]))
        self.guess, self.traces = [{}], []
        self.q = {(s, 0, a): q_init for s in self.cells for a in self.actions}
        self.seen, self.met, self.toward = set(), [], {}
        self.steps = self.episodes = self.since = self.known = 0
        self.log, self.scores = [(0, 0, 1, 1)], []
        self.s = self.draw_start()
        self.u, self.t = 0, 0

    def draw_start(self):
        number = next(self.draws) if len(self.starts) > 1 else 0
        return self.starts[((number & 0xFFFFFFFF) * len(self.starts)) >> 32]

    def run(self, steps):
        for _ in range(steps):
            self.step()
        return self

    def step(self):
        if self.t == 0:
            self.walks = (next(self.draws) >> 32) < math.floor(self.walk * 2**32)
            self.v, self.goal, self.left, self.trace = 0, 0, 0, []
        a = self.act_walking() if self.walks else self.act()
        self.seen.add((self.s, a))
        s_next, label = self.moves[self.s][a]
        u_next, output = naive_inference.step(self.truth, self.u, label)
        if (label, output) != (0, NOTHING) or not self.compress:
            self.trace.append((label, output))
        self.v, expected = naive_inference.step(self.guess, self.v, label)
        if label and label not in self.met:
            self.met.append(label)
        if label == self.goal:
            self.left = 0
        for v in range(len(self.guess)):
            v_next, (paid, end) = naive_inference.step(self.guess, v, label)
            ahead = 0.0 if end else max(self.q[s_next, v_next, b] for b in self.actions)
            old = self.q[self.s, v, a]
            self.q[self.s, v, a] = naive.normal(old + self.alpha * (paid + self.gamma * ahead - old))
        self.s, self.u = s_next, u_next
        self.steps += 1
        self.t += 1
        if output[1] or self.t == self.limit:
            self.end_episode(output)
        if expected != output:
            self.guess_again()
        if expected != output or (self.since >= 50 and len(self.seen) != self.known):
            self.look_for_ways()

    def act(self):
        values = {a: self.q[self.s, self.v, a] for a in self.actions}
        return naive.choose(values, self.epsilon, next(self.draws))

    def act_walking(self):
        if self.left == 0 and self.met:
            number = next(self.draws)
            self.goal, self.left = self.met[((number & 0xFFFFFFFF) * len(self.met)) >> 32], 60
        self.left = max(0, self.left - 1)
        number = next(self.draws)
        ways = self.toward.get((self.goal, self.s), self.actions)
        return naive.choose({a: float(a in ways) for a in self.actions}, 0.05, number)

    def end_episode(self, output):
        self.scores.append(1.0 / self.t if output[1] == 1 else 0.0)
        self.episodes += 1
        self.since += 1
        self.s, self.u, self.t = self.draw_start(), 0, 0

    def guess_again(self):
        self.traces.append(list(self.trace))
        self.guess, self.v = naive_inference.infer(self.traces), 0
        for label, _ in self.trace:
            self.v = naive_inference.step(self.guess, self.v, label)[0]
        self.log.append((self.steps, self.episodes, len(self.guess), self.count_nodes()))
        self.q = self.plan(self.q_init)

    def count_nodes(self):
        nodes = {()}
        for trace in self.traces:
            for k, (_, output) in enumerate(trace):
                if not output[1]:
                    nodes.add(tuple(label for label, _ in trace[: k + 1]))
        return len(nodes)

    def look_for_ways(self):
        is_known, self.since, self.known = self.known == len(self.seen), 0, len(self.seen)
        if is_known or not self.walk:
            return
        self.toward = {}
        for goal in {label for s, a in self.seen for label in [self.moves[s][a][1]] if label}:
            steps = {s: 1 for s, a in self.seen if self.moves[s][a][1] == goal}
            for n in range(2, len(self.moves) + 2):
                for s, a in self.seen:
                    if s not in steps and steps.get(self.moves[s][a][0]) == n - 1:
                        steps[s] = n
            for s in steps:
                for a in self.actions:
                    s_next, label = self.moves[s][a]
                    left = 1 if label == goal else steps.get(s_next, math.inf) + 1
                    if (s, a) in self.seen and left == steps[s]:
                        self.toward.setdefault((goal, s), []).append(a)

    def worth(self, value, s, v, a, unseen):
        if (s, a) not in self.seen:
            return unseen
        s_next, label = self.moves[s][a]
        v_next, (paid, end) = naive_inference.step(self.guess, v, label)
        return paid if end else paid + self.gamma * value[s_next, v_next]

    def plan(self, unseen):
        """Return the best values by the guess over the moves that were seen."""
        order = [(s, v) for s in self.cells for v in range(len(self.guess))]
        value, sweep, is_settled = dict.fromkeys(order, 0.0), 0, False
        while not is_settled:
            is_settled = True
            for s, v in order if sweep % 2 == 0 else order[::-1]:
                best = max(self.worth(value, s, v, a, unseen) for a in self.actions)
                is_settled = is_settled and abs(best - value[s, v]) <= 1e-9 * abs(best)
                value[s, v] = best
            sweep += 1
        return {(s, v, a): self.worth(value, s, v, a, unseen) for s, v in order for a in self.actions}
