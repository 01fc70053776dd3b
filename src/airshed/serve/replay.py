"""Branches and replays: other simulations of the same case that end, or go on, with the same bits."""

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

from pydantic import TypeAdapter

from airshed.parallel.communicator import Communicator
from airshed.runtime.model import Snapshot
from airshed.runtime.simulation import Simulation
from airshed.serve import types
from airshed.serve.hosted import START, Hosted

_COMMAND: TypeAdapter[Any] = TypeAdapter(types.Command)


def branch_of(parent: Hosted, command: types.Branch, author: str, of: str) -> Hosted:
    """Return a session that goes on from a snapshot of another, with changes; its log is the parent's until there."""
    kept = None if command.snapshot is None else parent.kept(command.snapshot)
    log = parent.log if kept is None else parent.log[: kept.log + (command.snapshot != START)]  # with its own entry
    simulation = parent.simulation.branch() if kept is None else parent.simulation.branch(kept.state, kept.case)
    earlier = {each: other for each, other in parent.snapshots.items() if each == START or other.log < len(log)}
    made = Hosted(simulation, list(log), earlier, parent=of)
    try:
        for field, value in command.changes.items():
            made.apply(types.Set(name=field, value=value), author)
    except BaseException:
        made.close()
        raise
    return made


Replay = Generator[int, None, types.ReplayResult]
"""Yields the step that it has reached after each batch of steps; closed before its end, it is given up."""


def replay(session: Hosted, ranks: Communicator) -> Replay:
    """Make the run of a session again from its log, beside it; return how the states differ bit by bit.

    The session may go on meanwhile: what is made again is its run until now.
    """
    wanted, log, step = session.simulation.snapshot(), list(session.log), session.step
    with closing(Hosted(Simulation(session.kept(START).case, ranks=ranks))) as again:
        for entry in log:
            yield from _advance(again, entry.step)
            again.apply(_COMMAND.validate_python(entry.command), entry.author)
        yield from _advance(again, step)
        parts = ranks.gather_all(tuple(_differences(wanted, again.simulation.snapshot())))
    differs = sorted({name for part in parts for name in part})
    return types.ReplayResult(equal=not differs, step=step, differs=differs)


def _advance(session: Hosted, step: int) -> Iterator[int]:
    while session.step < step:
        session.simulation.step(step - session.step)
        yield session.step


def _differences(one: Snapshot, other: Snapshot) -> Iterator[str]:
    """Yield what of two states differs on this rank: names of arrays and of plain values."""
    for mine, its in ((one.tiled, other.tiled), (one.whole, other.whole)):
        for name in sorted({*mine, *its}):
            if name not in mine or name not in its or mine[name].tobytes() != its[name].tobytes():
                yield name
    if one.metadata != other.metadata:
        yield "metadata"
