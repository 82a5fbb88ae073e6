"""Agendas: what is left to do, in any order that the task allows, and the machines that watch them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MAX_STAGES = 32
"""Stages of a task that is learned by agenda."""
MAX_STATES = 1024
"""Machine states that are listed."""


@dataclass(frozen=True)
class Agenda:
    """The stages of a task: the object that completes each, and which stages must come before.

    A stage is on the agenda when it is not done and all that must come before it are. Reading its object takes it off.
    The task is done when all stages are.

    Examples
    --------
    >>> errand = Agenda.in_turn([Agenda.visit("a"), Agenda.visit("b")])
    >>> both = Agenda.any_order([errand, Agenda.visit("c")])
    >>> both.targets, both.needs
    (('a', 'b', 'c'), (0, 1, 0))
    """

    targets: tuple[str, ...]
    """The object, or type of objects, that completes each stage."""
    needs: tuple[int, ...]
    """The stages that must come before each, as a bit mask."""

    @classmethod
    def visit(cls, target: str) -> Agenda:
        """Return the agenda of one visit."""
        return cls((target,), (0,))

    @classmethod
    def any_order(cls, parts: Iterable[Agenda]) -> Agenda:
        """Return the agenda of all parts, in any order."""
        whole = cls((), ())
        for part in parts:
            whole = whole._with(part, 0)
        return whole

    @classmethod
    def in_turn(cls, parts: Iterable[Agenda]) -> Agenda:
        """Return the agenda of all parts, one after the other."""
        whole = cls((), ())
        for part in parts:
            whole = whole._with(part, (1 << len(whole.targets)) - 1)
        return whole

    def _with(self, part: Agenda, before: int) -> Agenda:
        """Add a part, every stage of which needs the stages `before`."""
        shift = len(self.targets)
        return Agenda(self.targets + part.targets, self.needs + tuple(needs << shift | before for needs in part.needs))

    @property
    def everything(self) -> int:
        """The set of all stages."""
        return (1 << len(self.targets)) - 1

    def open(self, left: int) -> list[int]:
        """Return the stages on the agenda while some are left."""
        return [i for i, needs in enumerate(self.needs) if left >> i & 1 and not needs & left]

    def after(self, left: int, label: str) -> int:
        """Return what is left after a label was read."""
        return left & ~sum(1 << i for i in self.open(left) if self.targets[i] == label)

    def sets(self, most: int = MAX_STATES) -> dict[int, dict[str, int]] | None:
        """Return the sets of stages that can be left and where each object leads; None if there are more than `most`.

        >>> Agenda.any_order([Agenda.visit("a"), Agenda.visit("b")]).sets()
        {3: {'a': 2, 'b': 1}, 2: {'b': 0}, 1: {'a': 0}}
        """
        ways: dict[int, dict[str, int]] = {}
        todo = [self.everything]
        for left in todo:  # grows on the way
            if left in ways:
                continue
            if len(ways) == most:
                return None
            ways[left] = {self.targets[i]: self.after(left, self.targets[i]) for i in self.open(left)}
            todo += [rest for rest in ways[left].values() if rest]
        return ways

    def statements(self) -> list[list[str]] | None:
        """Return what ``agenda`` statements say it, one after the other: parts in any order, each visits in turn.

        None where parts are nested deeper.

        >>> Agenda.in_turn([Agenda.any_order(map(Agenda.visit, "ab")), Agenda.visit("c")]).statements()
        [['a', 'b'], ['c']]
        """
        n = len(self.targets)
        cuts = [i for i in range(n) if all(not ~needs & (1 << i) - 1 for needs in self.needs[i:])]
        found: list[list[str]] = []
        for first, end in zip(cuts, [*cuts[1:], n], strict=True):
            found.append([])
            begin, before = first, (1 << first) - 1
            for i in range(first, end):
                if self.needs[i] == before:
                    begin = i
                    found[-1].append(self.targets[i])
                elif self.needs[i] == before | (1 << i) - (1 << begin):
                    found[-1][-1] += f"-{self.targets[i]}"
                else:
                    return None
        return found
