"""Learning a machine while acting, slow and obvious: plain lists, nothing imported from the package.

A world is a list of moves, for every cell one (next cell, label) per action; the hidden machine and the guesses are
those of `naive_inference`. Labels are numbers, 0 for none.
"""

import math

import naive
import naive_inference

NOTHING = naive_inference.NOTHING


class Student:
    """Acts by a guess, notices what contradicts it, and guesses again."""

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
            self.v, self.goal, self.left, self.trace, self.is_wrong = 0, 0, 0, [], False
        a = self.act_walking() if self.walks else self.act()
        self.seen.add((self.s, a))
        s_next, label = self.moves[self.s][a]
        u_next, output = naive_inference.step(self.truth, self.u, label)
        if not self.is_wrong:
            if (label, output) != (0, NOTHING) or not self.compress:
                self.trace.append((label, output))
            self.is_wrong = naive_inference.step(self.guess, self.v, label)[1] != output
        if label and label not in self.met:
            self.met.append(label)
        if label == self.goal:
            self.left = 0
        for v in range(len(self.guess)):
            v_next, (paid, end) = naive_inference.step(self.guess, v, label)
            ahead = 0.0 if end else max(self.q[s_next, v_next, b] for b in self.actions)
            old = self.q[self.s, v, a]
            self.q[self.s, v, a] = naive.normal(old + self.alpha * (paid + self.gamma * ahead - old))
        if not self.is_wrong:
            self.v = naive_inference.step(self.guess, self.v, label)[0]
        else:
            self.v = self.after(label)
        self.s, self.u = s_next, u_next
        self.steps += 1
        self.t += 1
        if output[1] or self.t == self.limit:
            self.end_episode(output)

    def after(self, label):
        """Return the state of a guess that is known to be wrong; None where it is over by its own account."""
        if self.v is None:
            return None
        v_next, (_, end) = naive_inference.step(self.guess, self.v, label)
        return None if end else v_next

    def act(self):
        values = {a: 0.0 if self.v is None else self.q[self.s, self.v, a] for a in self.actions}
        return naive.choose(values, self.epsilon, next(self.draws))

    def act_walking(self):
        if self.left == 0 and self.met:
            number = next(self.draws)
            self.goal, self.left = self.met[((number & 0xFFFFFFFF) * len(self.met)) >> 32], 60
        self.left = max(0, self.left - 1)
        number = next(self.draws)
        way = self.toward.get((self.goal, self.s))
        if way is None or number >> 32 < 2**32 // 20:
            return ((number & 0xFFFFFFFF) * len(self.actions)) >> 32
        return way

    def end_episode(self, output):
        self.scores.append(1.0 / self.t if output[1] == 1 else 0.0)
        self.episodes += 1
        self.since += 1
        self.s, self.u, self.t = self.draw_start(), 0, 0
        if self.is_wrong:
            self.traces.append(self.trace)
            self.guess = naive_inference.infer(self.traces)
            self.log.append((self.steps, self.episodes, len(self.guess), self.count_nodes()))
            self.q = self.plan(self.q_init)
        if self.is_wrong or (self.since >= 50 and len(self.seen) != self.known):
            self.since, is_known, self.known = 0, self.known == len(self.seen), len(self.seen)
            if self.walk and not is_known:
                self.look_for_ways()

    def count_nodes(self):
        nodes = {()}
        for trace in self.traces:
            for k, (_, output) in enumerate(trace):
                if not output[1]:
                    nodes.add(tuple(label for label, _ in trace[: k + 1]))
        return len(nodes)

    def look_for_ways(self):
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
                        self.toward[goal, s] = a
                        break

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
