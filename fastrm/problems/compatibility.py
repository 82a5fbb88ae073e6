"""Does a machine fit a map? What it reads must be there, and its task must be possible."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from fastrm.errors import FastrmWarning, MachineError, place, shown
from fastrm.machines import RewardMachine
from fastrm.machines.language import FEATURES, Chain, Edge, Feature, Guard, Proposition, Unary, leaves, write
from fastrm.problems.events import Leaf
from fastrm.problems.terrain import Terrain


def check_machines(machine: RewardMachine | Sequence[RewardMachine]) -> tuple[RewardMachine, ...]:
    """Return one machine, or several, as a tuple; refuse what is none."""
    machines = tuple(machine) if isinstance(machine, list | tuple) else (machine,)
    if not machines:
        raise MachineError("no machine to compile; give at least one")
    for item in machines:
        if not isinstance(item, RewardMachine):
            cure = f"write fastrm.task({shown(item)})" if isinstance(item, str) else "make one with fastrm.task"
            raise MachineError(f"machine={shown(item)}: must be a RewardMachine; {cure}, or use RewardMachine.load")
    return machines


def leaves_read(machines: Iterable[RewardMachine]) -> list[Leaf]:
    """Return the propositions and features that machines read, in order of appearance."""
    return list(dict.fromkeys(leaf for m in machines for edge in m.edges for leaf in _leaves_of(edge)))


def _leaves_of(edge: Edge) -> Iterable[Leaf]:
    yield from leaves(edge.guard)
    yield from leaves(edge.reward)


def check_features(machines: tuple[RewardMachine, ...], terrain: Terrain) -> None:
    """Raise MachineError for distances to objects that the map does not have, or that no path leads to."""
    for machine in machines:
        for edge in machine.edges:
            for leaf in _leaves_of(edge):
                if isinstance(leaf, Feature) and not _measurable(leaf, terrain):
                    raise MachineError(
                        f"{place(machine.source, edge.line)}edge {edge.source} -> {edge.target} uses "
                        f"{write(leaf)}; {terrain.offers(leaf.name)}"
                    )


def _measurable(leaf: Feature, terrain: Terrain) -> bool:
    """Return whether a feature has a value in every cell."""
    return not FEATURES[leaf.function].takes_object or terrain.is_measurable(leaf.function, leaf.name)


def _missing(machine: RewardMachine, terrain: Terrain) -> Iterable[tuple[Edge, str]]:
    """Yield the propositions that no move on this map can make true, with the first edge that reads each."""
    seen: set[str] = set()
    for edge in machine.edges:
        for leaf in _leaves_of(edge):
            if isinstance(leaf, Proposition) and leaf.name not in seen and not terrain.reachable(leaf.name):
                seen.add(leaf.name)
                yield edge, leaf.name


def why_impossible(machine: RewardMachine, terrain: Terrain) -> str:
    """Return why no path on this map completes the task."""
    if walled_in := terrain.why_walled_in():
        return f"{terrain.source}: {walled_in}"
    missing = list(_missing(machine, terrain))
    wanted = {leaf.name for edge in machine.edges if leads_on(edge, machine) for leaf in wanted_by(edge.guard)}
    for edge, name in sorted(missing, key=lambda item: item[1] not in wanted):  # what only must not be there comes last
        return (
            f"{place(machine.source, edge.line)}edge {edge.source} -> {edge.target} uses '{name}'; "
            f"{terrain.offers(name)}; the task cannot be completed on this map"
        )
    return (
        f"{machine.source}: no path on {terrain.source} leads to a success state ({', '.join(machine.success)}); "
        "the task cannot be completed on this map"
    )


def leads_on(edge: Edge, machine: RewardMachine) -> bool:
    """Return whether an edge may lead towards success: it is neither a loop nor an edge to a failure."""
    return edge.target not in machine.failure and edge.target != edge.source


def wanted_by(guard: Guard, negated: bool = False) -> Iterable[Proposition]:
    """Yield the propositions that help a guard to open by being true."""
    match guard:
        case Proposition() if not negated:
            yield guard
        case Unary("!", operand):
            yield from wanted_by(operand, not negated)
        case Chain("&" | "|", operands):
            for operand in operands:
                yield from wanted_by(operand, negated)


def check_names(machines: Iterable[RewardMachine], terrain: Terrain) -> None:
    """Warn about propositions that never hold on this map; the tasks can be completed without them."""
    for machine in machines:
        for edge, name in _missing(machine, terrain):
            warnings.warn(
                f"{place(machine.source, edge.line)}edge {edge.source} -> {edge.target} reads '{name}', "
                f"which never holds on the map {terrain.source}; {terrain.offers(name)}",
                FastrmWarning,
                stacklevel=3,
            )
