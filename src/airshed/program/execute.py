"""The walks over a program: forwards, stage after stage, and backwards.

An executor is a walk with what runs stages: a :class:`Runner` for each key of the program's stages, and the
:class:`Values` that they work on. Compiled code, its tangent and NumPy arrays walk forwards; an adjoint backwards.
Runners work on one working state in place. The walk copies it where a value is read again later, and puts it back.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from airshed.program.stage import STATE, Program, Stage


class Values(Protocol):
    """The working state of an executor, and copies of it."""

    def copy(self) -> Any:
        """Return a copy of the working state."""
        ...

    def put(self, value: Any) -> None:
        """Replace the working state by a copy of :meth:`copy`."""
        ...

    def add_up(self, coefficients: Sequence[float], values: Sequence[Any]) -> Any:
        """Replace the working state by a linear combination of copies; return the record of the sum."""
        ...


class Runner(Protocol):
    """Runs the stages of one kernel on the working state."""

    def run(self, number: int, stage: Stage, given: Any) -> Any:
        """Advance the working state by a stage of the program.

        Parameters
        ----------
        number
            Of the stage in its program.
        given
            What the walk was given for the stage: its start and end [s], or its record in an earlier run.

        Returns
        -------
        The record of the stage.
        """
        ...


class AdjointValues(Protocol):
    """The working adjoint of an executor that walks backwards."""

    def copy(self) -> Any:
        """Return a copy of the working adjoint."""
        ...

    def put(self, value: Any | None) -> None:
        """Replace the working adjoint; None is zero."""
        ...

    def accumulate(self, value: Any) -> None:
        """Add a copy to the working adjoint."""
        ...

    def split(self, coefficients: Sequence[float], record: Any) -> list[Any]:
        """Return the adjoint of each value of a sum, of which the working adjoint is that of the result."""
        ...


def walk_forwards(program: Program, runners: Mapping[str, Runner], values: Values, given: Sequence[Any]) -> list[Any]:
    """Run the stages of a step in their order; return the record of each.

    Parameters
    ----------
    runners
        By the keys of the stages.
    given
        For each stage what its runner needs.
    """
    stored: dict[str, Any] = {}
    current, records = STATE, []
    for number, stage in enumerate(program.stages):
        if stage.kernel == "sum":
            if current in stage.reads or program.is_read_after(number, current):
                stored[current] = values.copy()
            records.append(values.add_up(_coefficients(stage), [stored[name] for name in stage.reads]))
        else:
            (source,) = stage.reads
            if source != current:
                if program.is_read_after(number, current):
                    stored[current] = values.copy()
                values.put(stored[source])
            if stage.writes != source and source not in stored and program.is_read_after(number, source):
                stored[source] = values.copy()
            records.append(runners[stage.key].run(number, stage, given[number]))
        current = stage.writes
        stored = {
            name: each for name, each in stored.items() if name != current and program.is_read_after(number, name)
        }
    return records


def walk_backwards(
    program: Program, runners: Mapping[str, Runner], values: AdjointValues, records: Sequence[Any]
) -> None:
    """Run the adjoint of each stage, the last one first: the working adjoint of the result becomes that of the start.

    Parameters
    ----------
    records
        Of the stages, as their adjoints need them.
    """
    others: dict[str, Any] = {}  # adjoints of values other than the one that the working adjoint belongs to
    current = STATE
    for number, stage in reversed(list(enumerate(program.stages))):
        if stage.writes != current:
            others[current] = values.copy()
            values.put(others.pop(stage.writes, None))  # None: no later stage reads it
            current = stage.writes
        if stage.kernel == "sum":
            for name, part in zip(stage.reads, values.split(_coefficients(stage), records[number]), strict=True):
                values.put(part)
                if name in others:  # a later stage reads it as well
                    values.accumulate(others[name])
                others[name] = values.copy()
            current = stage.reads[-1]
            del others[current]
            continue
        runners[stage.key].run(number, stage, records[number])
        (current,) = stage.reads
        if current in others:
            values.accumulate(others.pop(current))


def _coefficients(stage: Stage) -> tuple[float, ...]:
    assert not isinstance(stage.weights, str)
    return stage.weights
