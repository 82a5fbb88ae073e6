"""Machines that read moves as they are made, in any environment: what a move means in every machine state.

Maps and tables are evaluated once, when they are compiled. Elsewhere labels and features are known only after a move.
What guards can tell apart of it is its *pattern*: which of their propositions, truths and comparisons hold. The open
edge of every state is found once for each pattern, by the evaluator that compiles maps, and kept. A move then costs the
truths of its pattern, a look-up, and the rewards that are not constant, for all machine states together.

A feature is a number after a move. What compares two moves is found here: ``d_before(x)`` is d(x) after the move
before, ``closer(x)`` holds where d(x) fell, and ``d_only(x)`` is d(x). With these, and with potentials, features are
also read at the start of an episode.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array, freeze
from fastrm.checks import check_number, check_whole
from fastrm.config import Profile
from fastrm.errors import ConfigError, FastrmWarning, MachineError, did_you_mean, place, shown
from fastrm.kernels.contracts import LIVE
from fastrm.machines import RewardMachine
from fastrm.machines.language import (
    FEATURES,
    OWN,
    TO_GO,
    Binary,
    Chain,
    Edge,
    Expression,
    Feature,
    Guard,
    Proposition,
    Unary,
    evaluate,
    leaves,
    write,
)
from fastrm.problems.events import EventTable, Leaf, Part, TableEvaluator, leaves_read
from fastrm.problems.problem import check_machines

MADE_OF_DISTANCES = ("d_only", "d_before", "closer")
"""Features that follow from the distances after a move and after the one before."""
Columns = dict[Leaf, Array]
Values = Sequence[Any]
"""Values of features, in the order in which a machine wants them; each has a number for each environment."""


class Readings(EventTable):
    """What moves showed, for the evaluator: an event each."""

    possible = True

    def __init__(self, columns: Columns, count: int) -> None:
        self.columns, self._count = columns, count

    @property
    def count(self) -> int:
        """Number of moves."""
        return self._count

    def describe(self, event: int) -> str:
        """Name a move by all that the machine reads of it."""
        facts = [f"{write(leaf)} = {column[event].item()}" for leaf, column in self.columns.items()]
        return f"a move with {', '.join(facts) or 'nothing to read'}"


class _Openings(TableEvaluator):
    """Finds which edges a move opens; in place of what they pay it enters their `numbers`."""

    numbers: Mapping[tuple[Expression, str], int]

    def pay(self, part: Part, v: int, edge: Edge, where: Array) -> None:
        part.reward[where, v] = self.numbers[_payment(edge)]


def _payment(edge: Edge) -> tuple[Expression, str]:
    """Return a reward, and where steps to go are counted from if it reads them."""
    return edge.reward, edge.target if TO_GO in leaves(edge.reward) else ""


class Sweep(NamedTuple):
    """What some moves mean in every machine state."""

    next_state: Array  # int64   [n, n_u]  n_u for every end
    reward: Array  # float64 [n, n_u]
    outcome: Array  # uint8   [n, n_u]  LIVE, SUCCESS or FAILURE
    ending: Array  # int16   [n, n_u]  0 while the task goes on, i + 1 in terminal i of the machine


class Monitors:
    """Machines side by side, one for each of `count` environments, that read a move of each at once."""

    def __init__(
        self, machine: RewardMachine, count: int = 1, gamma: float = 0.9, offers: Collection[str] | None = None
    ) -> None:
        """`offers` names the functions or features that can be asked for; without them all but what follows."""
        (machine,) = check_machines(machine)
        machine.refuse_large("an environment")
        check_number("gamma", gamma, 0, 1)
        check_whole("count", count, 1, 10**7)
        self.machine, self.count, self.gamma, self.n_u = machine, count, float(gamma), len(machine.states)
        self.u = np.full(count, self.n_u)
        self._rows = np.arange(count)[:, None]
        self._number = {name: k for k, name in enumerate((*machine.states, *machine.terminals))}
        read = leaves_read([machine])
        self.propositions = {leaf.name: leaf for leaf in read if isinstance(leaf, Proposition)}
        self._features = [leaf for leaf in read if isinstance(leaf, Feature) and leaf != TO_GO]
        self._phi_of = {machine.states.index(one.state): one.value for one in machine.state_potentials}
        self._features += [x for value in self._phi_of.values() for x in leaves(value) if isinstance(x, Feature)]
        self.reads_to_go = TO_GO in read or bool(machine.potential)
        self.has_potential = machine.has_potential
        self._find_sources(offers)
        self._atoms = tuple(dict.fromkeys(atom for edge in machine.edges for atom in _atoms(edge.guard)))
        self._payments = list(dict.fromkeys(map(_payment, machine.edges)))
        self._edges = {_payment(edge): edge for edge in reversed(machine.edges)}
        self._constant = np.array([np.nan if [*leaves(r)] else float(evaluate(r, {})) + 0.0 for r, _ in self._payments])
        self._varying = np.flatnonzero(np.isnan(self._constant)).tolist()
        self._patterns: dict[bytes, Part] = {}
        self._phi = np.zeros((count, self.n_u + 1))
        self._all, self._none = np.ones(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
        self._warned = False

    def _find_sources(self, offers: Collection[str] | None) -> None:
        """Find out which features to ask for, and which follow from them."""
        source: dict[Feature, Feature] = {}
        own = {leaf.name for leaf in self._features if leaf.function == OWN} if offers is None else offers
        for leaf in dict.fromkeys(self._features):
            base = leaf
            if leaf.function in (*MADE_OF_DISTANCES, "d"):
                if leaf.name in own:
                    base = Feature(OWN, leaf.name)
                elif offers is None or _name(leaf) not in offers:
                    base = Feature("d", leaf.name)
            if offers is not None and _name(base) not in offers:
                names = () if base.function == OWN else base.names
                given = ", ".join(("observation", "action", "next_observation", *map(repr, names)))
                raise ConfigError(
                    f"features: the machine reads {write(leaf)}; give {{{_name(base)!r}: f}}, with f({given}) -> number"
                )
            source[leaf] = base
        if self.reads_to_go and offers is not None and TO_GO.function not in offers:
            raise ConfigError(
                "features: the machine reads to_go, the fewest steps to a success, which only a map tells; take "
                "another kind, or give {'to_go': f}, with f(observation, action, next_observation) -> "
                f"a number for each of {', '.join((*self.machine.states, *self.machine.terminals)[:6])}"
            )
        self.wanted = tuple(dict.fromkeys(source.values()))
        """The features to ask for."""
        self._before = {
            base: np.zeros(self.count)
            for leaf, base in source.items()
            if base != leaf and leaf.function in ("d_before", "closer")
        }
        self._truths = [leaf for leaf in self.wanted if FEATURES[leaf.function].is_truth]
        self._follows = [(leaf, base) for leaf, base in source.items() if leaf != base]
        self.reads_start = bool(self._before) or self.has_potential
        """Whether features are read at the start of an episode."""

    def begin(self, rows: Any = ..., values: Values = ()) -> None:
        """Begin episodes, with the features at their start where `reads_start`."""
        self.u[rows] = self.machine.states.index(self.machine.start)
        if self.reads_start:
            columns, to_go = self._measure(values)
            for leaf, kept in self._before.items():
                kept[rows] = columns[leaf][rows]
            self._phi[rows] = self._potential(columns, to_go)[rows]

    def step(self, held: Mapping[str, Array | bool], values: Values) -> Sweep:
        """Read a move of each environment: which propositions hold, and the `wanted` features, then the steps to go."""
        if not self._warned and not held.keys() <= self.propositions.keys():
            self._warn(held)
        columns, to_go = self._measure(values)
        for name, proposition in self.propositions.items():
            given = held.get(name, False)
            columns[proposition] = (self._all if given else self._none) if isinstance(given, bool) else given
        sweep = self._sweep(columns, to_go)
        for leaf, kept in self._before.items():
            kept[:] = columns[leaf]
        if self.has_potential:
            phi = self._potential(columns, to_go)
            gain = self.gamma * phi[self._rows, sweep.next_state] - self._phi[:, :-1]
            sweep, self._phi = sweep._replace(reward=sweep.reward + gain), phi
        self.u = sweep.next_state[self._rows[:, 0], self.u]
        return sweep

    def _warn(self, held: Mapping[str, Any]) -> None:
        """Warn, once, of labels that the machine does not read."""
        self._warned = True
        unknown = ", ".join(shown(name) for name in held if name not in self.propositions)
        warnings.warn(
            f"labels: {unknown}: the machine {self.machine.name or self.machine.source} does not read it; it reads "
            f"{', '.join(self.propositions) or 'no labels'}",
            FastrmWarning,
            stacklevel=4,
        )

    def _measure(self, values: Values) -> tuple[Columns, Array | None]:
        """Return features as columns, those that follow from others too, and the steps to go."""
        columns: Columns = {}
        if self.wanted:
            table = _finite(values[: len(self.wanted)], (len(self.wanted), self.count))
            if table is None:
                self._report_values(values)
            else:
                columns = dict(zip(self.wanted, table, strict=True))
        for leaf in self._truths:
            columns[leaf] = columns[leaf] != 0
        for leaf, base in self._follows:
            columns[leaf] = columns[base]
            if leaf.function != "d_only" and base in self._before:
                before = self._before[base]
                columns[leaf] = columns[base] < before if leaf.function == "closer" else before.copy()
        if not self.reads_to_go:
            return columns, None
        to_go = _finite(values[-1:], (1, self.count, len(self._number)))
        if to_go is None:
            self._report_values(values)
            return columns, None
        return columns, to_go[0]

    def _report_values(self, values: Values) -> None:
        """Raise the error that names a feature without finite numbers."""
        wanted = [(leaf, (1, self.count)) for leaf in self.wanted]
        for k, (leaf, shape) in enumerate([*wanted, (TO_GO, (1, self.count, len(self._number)))]):
            given = values[k] if k < len(values) else None
            if _finite([given], shape) is None:
                told = given[0] if self.count == 1 and isinstance(given, list) else given
                size = " x ".join(map(str, shape[1:] if self.count > 1 else shape[2:]))
                must = f"{size} finite numbers" if size else "a finite number"
                raise ConfigError(f"features: {write(leaf)} is {shown(told)} after a move; it must be {must}")

    def _sweep(self, columns: Columns, to_go: Array | None) -> Sweep:
        """Look up the open edge of every machine state, and evaluate what those pay that is not constant."""
        held = np.array([evaluate(atom, columns) for atom in self._atoms], dtype=np.bool_)
        rows = np.ascontiguousarray(held.reshape(len(self._atoms), self.count).T)
        keys = [row.tobytes() for row in rows]
        parts = [self._patterns.get(key) or self._find_pattern(key, columns, k) for k, key in enumerate(keys)]
        next_state, outcome, number, ending = (
            parts[0] if self.count == 1 else map(np.concatenate, zip(*parts, strict=True))
        )
        if not self._varying:
            return Sweep(next_state, self._constant[number], outcome, ending)
        paid = np.empty((len(self._payments), self.count))
        paid[:] = self._constant[:, None]
        for k in self._varying:
            reward, target = self._payments[k]
            if target and to_go is not None:
                columns[TO_GO] = to_go[:, self._number[target]]
            paid[k] = evaluate(reward, columns)
        columns.pop(TO_GO, None)
        rewards = paid[number, self._rows] + 0.0  # never -0
        if not np.isfinite(rewards).all():
            self._report_infinite(rewards, number, columns)
        return Sweep(next_state, rewards, outcome, ending)

    def _find_pattern(self, key: bytes, columns: Columns, k: int) -> Part:
        """Find the open edges of move k, and keep them for all moves of its pattern; in place of rewards numbers."""
        one = {leaf: column[k : k + 1] for leaf, column in columns.items()}
        openings = _Openings(self.machine, Readings(one, 1), Profile.named("clean"))  # type: ignore[arg-type]
        openings.numbers = {payment: number for number, payment in enumerate(self._payments)}
        part = openings.run()
        part = part._replace(reward=part.reward.astype(np.int64))
        freeze(part)
        self._patterns[key] = part
        return part

    def _report_infinite(self, rewards: Array, number: Array, columns: Columns) -> None:
        """Raise the error that names an edge without a finite reward."""
        k, u = np.argwhere(~np.isfinite(rewards))[0].tolist()
        edge = self._edges[self._payments[int(number[k, u])]]
        told = Readings(columns, self.count).describe(k)
        raise MachineError(
            f"{place(self.machine.source, edge.line)}edge {edge.source} -> {edge.target} pays no finite reward for "
            f"{told}; change the reward so that it is a number there"
        )

    def _potential(self, columns: Columns, to_go: Array | None) -> Array:
        """Return Phi in every machine state, float64 [n, n_u + 1], 0 at every end."""
        phi = np.zeros((self.count, self.n_u + 1))
        if self.machine.potential and to_go is not None:
            phi[:, :-1] = 0.0 - self.machine.potential * to_go[:, : self.n_u]
        for u, value in self._phi_of.items():
            phi[:, u] = evaluate(value, columns)
        return phi


def _name(leaf: Feature) -> str:
    """Return what a feature is asked for by: its function, or its own name."""
    return leaf.name if leaf.function == OWN else leaf.function


def _finite(values: Values, shape: tuple[int, ...]) -> Array | None:
    """Return values as finite numbers of a shape, None where they are not."""
    try:
        table = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return table if table.shape == shape and np.isfinite(table).all() else None


def _atoms(guard: Guard) -> Iterator[Expression]:
    """Yield the truths that a guard is made of: propositions, features and comparisons."""
    match guard:
        case Proposition() | Feature():
            yield guard
        case Unary(_, operand):
            yield from _atoms(operand)
        case Chain(_, operands):
            for operand in operands:
                yield from _atoms(operand)
        case Binary():
            if next(leaves(guard), None) is not None:
                yield guard


class MachineMove(NamedTuple):
    """What a move led to."""

    reward: float
    """What the machine paid."""
    state: str
    """The state of the machine, ``(terminal)`` when it has reached one."""
    end: str
    """The terminal that was reached, empty while the task goes on."""


class MachineMonitor:
    """A machine alone, for a loop of your own: tell it what holds after a move, and it says what that pays.

    Parameters
    ----------
    machine : RewardMachine
        Any machine except a large agenda.
    gamma : float
        Discount of its potentials, if it has any.

    Examples
    --------
    >>> import fastrm
    >>> monitor = MachineMonitor(fastrm.RewardMachine.sequence("a-b", kind="numeric"))
    >>> monitor.features
    ('d(a)', 'd(b)')
    >>> monitor.start()
    'u0'
    >>> monitor.step((), {"d(a)": 2, "d(b)": 5})
    MachineMove(reward=-2.0, state='u0', end='')
    >>> monitor.step(("a",), {"d(a)": 0, "d(b)": 3})
    MachineMove(reward=0.0, state='u1', end='')
    >>> monitor.step("b", {"d(a)": 3, "d(b)": 0})
    MachineMove(reward=10000.0, state='(terminal)', end='done')
    """

    def __init__(self, machine: RewardMachine, gamma: float = 0.9) -> None:
        self._monitors = Monitors(machine, gamma=gamma)
        to_go = (TO_GO,) if self._monitors.reads_to_go else ()
        self.features = tuple(map(write, (*self._monitors.wanted, *to_go)))
        """The features to give after every move, as they are written in the machine."""
        self._last: Sweep | None = None

    @property
    def reads_start(self) -> bool:
        """Whether `start` needs them, too: where rewards or guards compare a move with the one before."""
        return self._monitors.reads_start

    @property
    def states(self) -> tuple[str, ...]:
        """The machine states, by number."""
        return self._monitors.machine.states

    @property
    def state(self) -> str:
        """The state of the machine, ``(terminal)`` when it has reached one."""
        u = int(self._monitors.u[0])
        return "(terminal)" if u == self._monitors.n_u else self.states[u]

    def start(self, features: Mapping[str, float] | None = None) -> str:
        """Begin an episode, with the features at its start if the machine `reads_start`; return the state."""
        self._monitors.begin(values=self._read(features))
        self._last = None
        return self.state

    def step(self, labels: str | Iterable[str] = (), features: Mapping[str, float] | None = None) -> MachineMove:
        """Read what holds after a move and the features there.

        Raises
        ------
        ConfigError
            When no episode is on, or when a feature is missing or no finite number.
        """
        monitors = self._monitors
        if monitors.u[0] == monitors.n_u:
            raise ConfigError("no episode is on; call start() first")
        u = int(monitors.u[0])
        self._last = monitors.step(dict.fromkeys(names_in(labels), True), self._read(features))
        number = int(self._last.ending[0, u])
        end = monitors.machine.terminals[number - 1] if number else ""
        return MachineMove(float(self._last.reward[0, u]), self.state, end)

    @property
    def counterfactuals(self) -> dict[str, Array]:
        """What the last move means in every machine state, as environments of fastrm give it."""
        if self._last is None:
            raise ConfigError("counterfactuals: no move was made yet; call step() first")
        return {name: column[0] for name, column in counterfactuals_of(self._last).items()}

    def _read(self, features: Mapping[str, Any] | None) -> list[Any]:
        """Return features in the order in which they are wanted."""
        given = features or {}
        if not isinstance(given, Mapping):
            raise ConfigError(f"features={shown(features)}: must be a table, such as {{'d(a)': 3}}")
        for name in given:
            if name not in self.features:
                raise ConfigError(
                    f"features: {shown(name)}: the machine does not read it; it reads "
                    f"{', '.join(self.features) or 'none'}{did_you_mean(name, self.features)}"
                )
        return [[given.get(name)] for name in self.features]


def names_in(labels: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of what holds, given as one name, as several, or as nothing."""
    if labels is None or isinstance(labels, str):
        return (labels,) if labels else ()
    if not isinstance(labels, Iterable):
        raise ConfigError(f"labels gave {shown(labels)}; it must give a name, several names, or nothing")
    return tuple(labels)


def counterfactuals_of(sweep: Sweep, ended: Array | bool = False) -> dict[str, Array]:
    """Return what moves mean in every machine state; where an environment `ended` by itself, all episodes do."""
    terminated = sweep.outcome != LIVE
    if np.any(ended):
        terminated = terminated | np.reshape(ended, (-1, 1))
    state = np.arange(sweep.reward.shape[1])[None].repeat(len(terminated), axis=0)
    next_state = sweep.next_state.copy()  # patterns are kept; whoever gets this may write into it
    return {"state": state, "next_state": next_state, "reward": sweep.reward, "terminated": terminated}
