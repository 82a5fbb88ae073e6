"""Boolean functions as reduced ordered decision diagrams: equal functions are one and the same number.

A diagram asks for one variable at a time, the newest first, and goes to one of two smaller diagrams. No variable is
asked for in vain and no diagram is stored twice (Bryant 1986), so comparing functions is comparing numbers and an
equivalence costs no more than a conjunction. Functions exist whose diagrams are exponential; the work is bounded.
"""

from __future__ import annotations

NEVER, ALWAYS = 0, 1
"""The two diagrams that ask for nothing."""

_Question = tuple[int, int, int]


class TooMuchWork(Exception):
    """Diagrams would take more steps than allowed."""


class Diagrams:
    """A store of diagrams over the same variables.

    >>> diagrams = Diagrams(limit=100)
    >>> x, y = diagrams.variable(), diagrams.variable()
    >>> diagrams.choose(x, y, NEVER) == diagrams.choose(y, x, NEVER)
    True
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.count = limit, 0
        self.nodes: list[_Question] = [(-1, NEVER, NEVER), (-1, ALWAYS, ALWAYS)]
        """Variable of every diagram, and the diagrams to go to where it is false and where it is true."""
        self._numbers: dict[_Question, int] = {}
        self._chosen: dict[_Question, int] = {}

    def work(self) -> None:
        """Count a step.

        Raises
        ------
        TooMuchWork
            After the last step allowed.
        """
        self.count += 1
        if self.count > self.limit:
            raise TooMuchWork

    def variable(self) -> int:
        """Return the diagram of a new variable; its place in `nodes` names the variable."""
        return self._node(len(self.nodes), NEVER, ALWAYS)

    def negate(self, f: int) -> int:
        """Return not f."""
        return self.choose(f, NEVER, ALWAYS)

    def both(self, f: int, g: int) -> int:
        """Return f and g."""
        return self.choose(f, g, NEVER)

    def either(self, f: int, g: int) -> int:
        """Return f or g."""
        return self.choose(f, ALWAYS, g)

    def choose(self, f: int, g: int, h: int) -> int:
        """Return g where f holds and h where it does not."""
        answer, nodes, todo = self._known(f, g, h), self.nodes, [(f, g, h)]
        while answer is None:  # no recursion: diagrams may be deeper than Python's stack
            self.work()
            f, g, h = todo[-1]
            (f_asks, f_low, f_high), (g_asks, g_low, g_high), (h_asks, h_low, h_high) = nodes[f], nodes[g], nodes[h]
            top = max(f_asks, g_asks, h_asks)
            if f_asks != top:
                f_low = f_high = f
            if g_asks != top:
                g_low = g_high = g
            if h_asks != top:
                h_low = h_high = h
            low, high = self._known(f_low, g_low, h_low), self._known(f_high, g_high, h_high)
            if low is None:
                todo.append((f_low, g_low, h_low))
            if high is None:
                todo.append((f_high, g_high, h_high))
            if low is not None and high is not None:
                found = self._chosen[todo.pop()] = self._node(top, low, high)
                answer = None if todo else found
        return answer

    def _known(self, f: int, g: int, h: int) -> int | None:
        """Return the answer of a question that is settled at once or was asked before."""
        if f == ALWAYS or g == h:
            return g
        if f == NEVER:
            return h
        if g == ALWAYS and h == NEVER:
            return f
        nodes = self.nodes
        if nodes[f][0] == f and nodes[g][0] < f and nodes[h][0] < f:  # a variable newer than all of g and h
            return self._node(f, h, g)
        return self._chosen.get((f, g, h))

    def _node(self, variable: int, low: int, high: int) -> int:
        if low == high:
            return low
        number = self._numbers.setdefault((variable, low, high), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append((variable, low, high))
        return number
