"""Walks over a program: forwards, stage after stage, and backwards.

An executor combines a walk with a :class:`Runner` for each key of the program's stages and the :class:`Values` that the
runners change. Compiled code, its tangent and NumPy walk forwards, an adjoint walks backwards. Runners change one
working state in place. The walk copies a value that a later stage reads, and restores it for that stage.
"""

import time
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Protocol

from airshed.program.stage import STATE, Program, Stage


class Values(Protocol):
    """Working state of an executor, and copies of it."""

    def copy(self) -> Any:
        """Return a copy of the working state."""
        ...

    def put(self, value: Any) -> None:
        """Replace the working state by a value that :meth:`copy` returned."""
        ...

    def add_up(self, coefficients: Sequence[float], values: Sequence[Any]) -> Any:
        """Replace the working state by a linear combination of copies; return the record of the sum."""
        ...


class Runner(Protocol):
    """Runner of the stages of one kernel."""

    def run(self, number: int, stage: Stage, inputs: Any) -> Any:
        """Advance the working state by a stage of the program.

        Parameters
        ----------
        number
            Number of the stage in its program.
        inputs
            Input of the stage: its start and end [s], or its record in an earlier run.

        Returns
        -------
        The record of the stage.
        """
        ...


class AdjointValues(Protocol):
    """Working adjoint of an executor that walks backwards."""

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
        """Return the adjoint of each value of a sum; the working adjoint is that of its result."""
        ...


def walk_forwards(
    program: Program, runners: Mapping[str, Runner], values: Values | Mapping[str, Values], inputs: Sequence[Any],
    spent: MutableMapping[str, float] | None = None,
) -> list[Any]:  # fmt: skip
    """Run the stages of a step in their order; return the record of each.

    Parameters
    ----------
    runners
        Runners by the keys of their stages.
    values
        Values of each placement that this process has, see :mod:`airshed.program.placement`. Stages of other
        placements do not run; their record is None.
    inputs
        Input of each stage, see :meth:`Runner.run`.
    spent
        Wall time of stages by their keys [s], to which those of this step are added.
    """
    by_placement = values if isinstance(values, Mapping) else {program.home: values}
    by_name = {name: _StoredValues(program, name, each) for name, each in by_placement.items()}
    records: list[Any] = []
    for number, stage in enumerate(program.stages):
        source, target = (by_name.get(each) for each in stage.placements)
        if stage.kernel == "sum" and source is not None:
            records.append(source.add_up(number, stage))
            continue

        # the value that the stage reads becomes the working state; one that it replaces is stored
        if source is not None:
            source.load(number, stage.reads[0])
        if target is not None:
            target.store_current(number, stage.writes)

        # stages without a placement here do not run
        runs = source is not None or target is not None
        began = time.perf_counter()
        records.append(runners[stage.key].run(number, stage, inputs[number]) if runs else None)
        if spent is not None:
            spent[stage.key] = spent.get(stage.key, 0.0) + time.perf_counter() - began
        if target is not None:
            target.is_written(number, stage.writes)
    return records


class _StoredValues:
    """Values of a placement: the current one in the working state, others as copies."""

    def __init__(self, program: Program, placement: str, values: Values) -> None:
        self._program, self._placement, self._values = program, placement, values
        self._current: str | None = STATE if placement == program.home else None
        self._stored: dict[str, Any] = {}

    def load(self, number: int, name: str) -> None:
        """Copy a value into the working state, for the stage with a number."""
        if name != self._current:
            self.store_current(number, name)
            self._values.put(self._stored[name])
            self._current = name

    def store_current(self, number: int, name: str) -> None:
        """Store the current value before another value replaces it, if a later stage reads it."""
        current = self._current
        if current in (None, name) or current in self._stored:
            return
        if self._program.is_read_after(number, current, self._placement):
            self._stored[current] = self._values.copy()

    def add_up(self, number: int, stage: Stage) -> Any:
        """Run a sum; return its record."""
        if self._current is not None and self._current in stage.reads:
            self._stored[self._current] = self._values.copy()
        self.store_current(number, stage.writes)
        record = self._values.add_up(_coefficients(stage), [self._stored[name] for name in stage.reads])
        self.is_written(number, stage.writes)
        return record

    def is_written(self, number: int, name: str) -> None:
        """Register the value that a stage has written into the working state; drop copies that no later stage reads."""
        self._current = name
        self._stored = {
            each: copy for each, copy in self._stored.items()
            if each != name and self._program.is_read_after(number, each, self._placement)
        }  # fmt: skip


def walk_backwards(
    program: Program, runners: Mapping[str, Runner], values: AdjointValues, records: Sequence[Any]
) -> None:
    """Run the adjoint of each stage, the last one first: the working adjoint of the result becomes that of the start.

    Parameters
    ----------
    runners
        Runners of adjoints by the keys of their stages.
    records
        Input of the adjoint of each stage.
    """
    others: dict[str, Any] = {}  # adjoints of the values that are not the current one
    current = STATE
    for number, stage in reversed(list(enumerate(program.stages))):
        # the working adjoint becomes that of the value that the stage writes
        if stage.writes != current:
            others[current] = values.copy()
            values.put(others.pop(stage.writes, None))  # None: no later stage reads it
            current = stage.writes

        # adjoint of a sum
        if stage.kernel == "sum":
            for name, part in zip(stage.reads, values.split(_coefficients(stage), records[number]), strict=True):
                values.put(part)
                if name in others:  # a later stage reads it as well
                    values.accumulate(others[name])
                others[name] = values.copy()
            current = stage.reads[-1]
            del others[current]
            continue

        # adjoint of operators
        runners[stage.key].run(number, stage, records[number])
        (current,) = stage.reads
        if current in others:  # a later stage reads it as well
            values.accumulate(others.pop(current))


def _coefficients(stage: Stage) -> tuple[float, ...]:
    assert not isinstance(stage.weights, str)
    return stage.weights
