"""Results: selected fields at selected times as float32, by the strategy in the case.

This part is common to all strategies; the specific parts are in :mod:`airshed.io.strategies`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airshed.core.alarm import Alarm
from airshed.core.atomic import guarded
from airshed.core.errors import NumericalError, OutputError
from airshed.core.fields import FieldSpec, FieldView
from airshed.core.text import duration
from airshed.grid.axes import Axes
from airshed.grid.box import Box
from airshed.io.background import Copy
from airshed.io.cf import Compression, Layout, Statistic
from airshed.io.folder import RECORDS, RunFolder
from airshed.io.run_state import results
from airshed.io.strategies import open_store
from airshed.io.strategies.choice import Strategy
from airshed.io.strategies.store import Block, OutputTarget, Record, prepare_records

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SPARE: Final = 2
"""Number of reused records: one is filled while another is written."""


@dataclass(frozen=True)
class Output:
    """Specification of one output of a run: fields, statistic, times and format.

    every      seconds between records
    name       of the result, ``RUN/NAME.nc`` (or ``.files``, ``.zarr``)
    selection       selected indices along undivided dimensions; all of a dimension that is not named
    statistic  "point" for the values at the time of a record, else the statistic over the interval that ends there
    """

    fields: Sequence[FieldSpec]
    every: float
    name: str = "output"
    selection: Mapping[str, Sequence[int]] = field(default_factory=dict)
    strategy: Strategy | str = "gather:async"
    compression: Compression = "none"
    statistic: Statistic = "point"


class OutputWriter:
    """Writer of one output of a run; several ranks each construct a writer and make the same calls.

    attributes   global attributes: the title, ``references`` with the licence of the input data ...
    resume_from  time [s] from which the run is resumed; records must exist up to then, or are copied from the results
                 of the finished run that the run makes longer
    box          cells of this rank along the divided dimensions; all for None
    bytes        submitted by this rank for writing

    Raises OutputError for missing records, a folder without write permission, and a strategy that this machine lacks;
    CaseError for a field on other dimensions.
    """

    def __init__(
        self, run: RunFolder, axes: Axes, output: Output, *, start: np.datetime64, attributes: Mapping[str, str],
        resume_from: float | None = None, box: Box | None = None,
    ) -> None:  # fmt: skip
        if not _NAME.fullmatch(output.name):
            raise OutputError(f"output name {output.name!r} is not usable: letters, digits, '.', '-' and '_' only")
        self.fields, self._due = tuple(output.fields), Alarm(output.every, first=0.0)
        self._run, self._name = run, output.name
        for spec in self.fields:
            axes.check_dims(spec.name, spec.dims)
        self._picks = {dim: list(indices) for dim, indices in output.selection.items()}
        texts = {"title": "", "airshed_case": run.case, **attributes}  # in this order
        layout = Layout(axes, self._picks, self.fields, start, texts, run.history, output.every, output.statistic)
        self._first = 0 if output.statistic == "point" else 1  # an interval ends at the first record
        self._layout, self._box = layout, box or layout.whole
        self._sizes = {**axes.sizes, **dict(zip(axes.divided, self._box.shape, strict=True))}
        result, records = run.add_output(output.name), run.path / RECORDS / output.name
        with run.channel.together(), guarded(records):
            records.mkdir(parents=True, exist_ok=True)
        boxes = tuple(run.channel.gather_all(self._box))
        place = OutputTarget(result, records, run.channel, layout, boxes, output.compression)
        chosen = output.strategy
        chosen = Strategy.parse(chosen) if isinstance(chosen, str) else chosen
        self.strategy, self._store, self.measured = open_store(chosen, place)
        self.bytes = 0
        self._spare = [self._new() for _ in range(_SPARE if self.strategy.asynchronous else 1)]
        # none are due in a spin-up, before the start
        last = -1 if resume_from is None or resume_from < 0.0 else self._due.last_until(resume_from) - self._first
        earlier = run.results_to_copy
        copied = last if earlier is not None else -1
        run.channel.on_root(partial(prepare_records, records, self._store.kind, -1 if copied >= 0 else last))
        self._store.resume(-1 if copied >= 0 else last)
        if earlier is not None and copied >= 0:
            self._copy_records(earlier, copied)

    def is_due(self, seconds: float) -> bool:
        """Return whether a record is due at this time since the start [s]."""
        return self._due.is_due(seconds)

    def write(self, seconds: float, values: Mapping[str, FieldView | ArrayLike], *, lasting: bool = False) -> Copy:
        """Write the fields at a time since the start [s], each on its dimensions.

        They are copied immediately. With ``lasting`` the writer thread copies them, and they must not change until the
        caller has called :meth:`ensure` of the returned copy. With an asynchronous strategy the copy is written in the
        background; this call blocks only if many copies are still unwritten.

        Raises OutputError for a time between records or a missing field, and for an earlier record that failed;
        DataError for a field of another shape, NumericalError for one that is not finite.
        """
        missing = [spec.name for spec in self.fields if spec.name not in values]
        if missing:
            raise OutputError(f"output at {seconds} s lacks the field {missing[0]}")
        given = [(spec, _as_field(spec, values[spec.name], self._sizes)) for spec in self.fields]
        return self._submit(seconds, lambda block: self._fill(block, given), lasting=lasting)

    def write_kept(self, seconds: float, values: Mapping[str, NDArray[np.float64]]) -> None:
        """Write a record of fields already reduced by :meth:`keep`; they are copied immediately."""

        def fill(block: Block) -> None:
            for name, array in block.items():
                array[...] = values[name]

        self._submit(seconds, fill, lasting=False)

    def keep(
        self, spec: FieldSpec, value: FieldView | ArrayLike, out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the selected part of a field, in double precision, in `out` if given.

        Raises DataError for a field of another shape.
        """
        selection = np.empty(self._layout.shape(spec, self._box)) if out is None else out
        self._fill({spec.name: selection}, [(spec, _as_field(spec, value, self._sizes))])
        return selection

    def _submit(self, seconds: float, fill: Callable[[Record], None], *, lasting: bool) -> Copy:
        """Write the record at a time, which `fill` fills, in the background or immediately."""
        index = round(seconds / self._due.interval) - self._first
        if not self.is_due(seconds) or index < 0:
            raise OutputError(f"there is no output record at {seconds} s: records are due every {self._due.interval} s")
        block = self._spare.pop() if self._spare else self._new()
        copy = Copy(partial(self._copy, seconds, block, fill))
        if not lasting:
            self.ensure(copy)
        size = block.bytes.nbytes
        self.bytes += size
        self._run.submit(partial(self._record, index, block, copy), size, asynchronous=self.strategy.asynchronous)
        return copy

    def ensure(self, copy: Copy) -> None:
        """Make the copy returned by :meth:`write`, on the writer thread or here; the fields may change afterwards."""
        self._run.writer.ensure(copy)

    def _record(self, index: int, block: Record, copy: Copy) -> None:
        """Write a record, and reuse its memory, since allocation costs as much as the copy."""
        with self._run.channel.together():
            copy.ensure()
        self._store.write(index, (index + self._first) * self._due.interval, block)
        if len(self._spare) < _SPARE:
            self._spare.append(block)

    def finish(self, *, complete: bool = True) -> Path:
        """Assemble the result from the records and return its path; ``complete=False`` marks a shorter run."""
        self._run.wait()
        with self._run.writer.counted():
            return self._store.finish(complete=complete)

    def _copy_records(self, folder: Path, last: int) -> None:
        """Copy the records up to this one from the result of a finished run, written by any strategy; collective."""
        from airshed.io.results import open_result

        channel = self._run.channel
        with channel.together():
            found = results(folder, self._name)
            if not found:
                raise OutputError(f"{folder} lacks the results of the run; restart the run without --resume")
            dataset = open_result(found[0], decode=False)
        block = self._spare[0]
        with dataset:
            for index in range(last + 1):
                with channel.together():
                    for spec in self.fields:
                        block[spec.name][...] = self._box.of(dataset[spec.name][index].to_numpy())
                self._store.write(index, (index + self._first) * self._due.interval, block)

    def _new(self) -> Record:
        """Return memory for a record."""
        shapes = {spec.name: self._layout.shape(spec, self._box) for spec in self.fields}
        times = sum(each.size for each in self._layout.clock(0.0).values())
        return Record(shapes, self._store.dtype, times)

    def _copy(self, seconds: float, block: Record, fill: Callable[[Record], None]) -> None:
        """Copy fields into a record; raise NumericalError for a field that is not finite, or not as a float32."""
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            fill(block)
            for spec in self.fields:
                # in double precision the sum of finite float32 values is finite
                if not np.isfinite(np.add.reduce(block[spec.name], axis=None, dtype=np.float64)):
                    raise NumericalError(
                        f"{spec.name} is not finite at {duration(seconds)} or exceeds 3e38 {spec.unit}; "
                        "check emissions, rate constants, the initial state and the inflow"
                    )

    def _fill(
        self, block: Mapping[str, NDArray[Any]], given: Sequence[tuple[FieldSpec, FieldView | NDArray[Any]]]
    ) -> None:
        for spec, value in given:
            if isinstance(value, np.ndarray):
                block[spec.name][...] = self._picked(spec, value)
            else:
                value.copy_to(block[spec.name], self._picks.get(next(iter(spec.dims), ""), slice(None)))

    def _picked(self, spec: FieldSpec, value: NDArray[Any]) -> NDArray[Any]:
        """Return the selected part of a field."""
        for axis, dim in enumerate(spec.dims):
            if dim in self._picks:
                value = value[(slice(None),) * axis + (self._picks[dim],)]
        return value


def _as_field(spec: FieldSpec, value: FieldView | ArrayLike, sizes: Mapping[str, int]) -> FieldView | NDArray[Any]:
    """Return a value as a field; raise DataError for another shape."""
    is_view = hasattr(value, "copy_to")  # isinstance with a protocol takes as long as a copy
    field = cast(FieldView, value) if is_view else np.asarray(value)
    spec.check_shape(field.shape, sizes)
    return field
