"""Results: chosen fields at chosen times, by the strategy that the case names.

What each strategy does is in :mod:`airshed.io.strategies`; here is what they share: which fields, what of them, when,
and as float32.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airshed.core.atomic import guarded
from airshed.core.errors import NumericalError, OutputError
from airshed.core.every import Every
from airshed.core.protocols import FieldView
from airshed.fields.spec import FieldSpec
from airshed.grid.axes import Axes
from airshed.grid.box import Box
from airshed.io.cf import Compression, Layout
from airshed.io.copying import Copy
from airshed.io.folder import RECORDS, RunFolder
from airshed.io.strategies import open_store
from airshed.io.strategies.names import Strategy
from airshed.io.strategies.store import Block, Place, Record, prepare_records

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SPARE: Final = 2
"""Records whose memory is kept, taken at the start: one that is filled while another is written."""


class OutputWriter:
    """Writes chosen fields every ``every`` seconds, as float32, to ``RUN/NAME.nc`` (or ``.files``, ``.zarr``).

    ``kept`` are the indices to keep along undivided dimensions, all where one is not named; ``attributes`` are global
    attributes to add, such as ``references`` with the licence of the input data, or another text for ``airshed_case``.
    A run resumed at ``resume_from`` seconds must have the records up to then. ``box`` is what this rank holds along the
    divided dimensions, all for None; with several ranks each makes a writer and the same calls. ``bytes`` counts what
    this rank gave to be written. Raises OutputError when records are missing, when the folder cannot be written to, and
    for a strategy that this machine lacks; CaseError for a field on other dimensions.
    """

    def __init__(
        self,
        run: RunFolder,
        axes: Axes,
        fields: Sequence[FieldSpec],
        *,
        start: np.datetime64,
        title: str,
        every: float,
        kept: Mapping[str, Sequence[int]] | None = None,
        attributes: Mapping[str, str] | None = None,
        name: str = "output",
        resume_from: float | None = None,
        box: Box | None = None,
        strategy: Strategy | str = "gather:async",
        compression: Compression = "none",
    ) -> None:
        if not _NAME.fullmatch(name):
            raise OutputError(f"output name {name!r} is not usable: letters, digits, '.', '-' and '_' only")
        self.fields, self._due = tuple(fields), Every(every, first=0.0)
        self._run = run
        for spec in self.fields:
            axes.check_dims(spec.name, spec.dims)
        self._picks = {dim: list(indices) for dim, indices in (kept or {}).items()}
        texts = {"title": title, "airshed_case": run.case, **(attributes or {})}
        layout = Layout(axes, self._picks, self.fields, start, texts)
        self._layout, self._box = layout, box or layout.whole
        self._sizes = {**axes.sizes, **dict(zip(axes.divided, self._box.shape, strict=True))}
        result, records = run.add_output(name), run.path / RECORDS / name
        with run.channel.together(), guarded(records):
            records.mkdir(parents=True, exist_ok=True)
        boxes = tuple(run.channel.gather_all(self._box))
        place = Place(result, records, run.channel, layout, boxes, compression)
        chosen = Strategy.parse(strategy) if isinstance(strategy, str) else strategy
        opened = open_store(chosen, place)
        self.strategy, self._store, self.measured = opened.strategy, opened.store, opened.measured
        self.bytes = 0
        self._spare = [self._new() for _ in range(_SPARE if self.strategy.asynchronous else 1)]
        # none are due in a spin-up, before the start
        last = -1 if resume_from is None or resume_from < 0.0 else self._due.last_until(resume_from)
        run.channel.on_root(partial(prepare_records, records, self._store.kind, last))
        self._store.resume(last)

    def is_due(self, seconds: float) -> bool:
        """Say whether a record belongs at this time since the start [s]."""
        return self._due.is_due(seconds)

    def write(self, seconds: float, values: Mapping[str, FieldView | ArrayLike], *, lasting: bool = False) -> Copy:
        """Take the fields at a time since the start [s], each on its dimensions, and return.

        They are copied at once; or, ``lasting``, when the thread that writes comes to it: then they must stay as they
        are until the caller has called :meth:`ensure` of what this returns, which makes the copy where that thread has
        not. With an asynchronous strategy the copy is written behind the run; this waits only when many are still
        unwritten. Raises OutputError for a time between records or a missing field, and for an earlier record that
        failed; DataError for a field of another shape, NumericalError for one that is not finite.
        """
        if not self.is_due(seconds):
            raise OutputError(f"there is no output record at {seconds} s: records are due every {self._due.interval} s")
        missing = [spec.name for spec in self.fields if spec.name not in values]
        if missing:
            raise OutputError(f"output at {seconds} s lacks the field {missing[0]}")
        given = [(spec, _as_field(spec, values[spec.name], self._sizes)) for spec in self.fields]
        block = self._spare.pop() if self._spare else self._new()
        copy = Copy(partial(self._copy, seconds, block, given))
        if not lasting:
            self.ensure(copy)
        size = block.bytes.nbytes
        job = partial(self._record, round(seconds / self._due.interval), block, copy)
        self.bytes += size
        self._run.submit(job, size, asynchronous=self.strategy.asynchronous)
        return copy

    def ensure(self, copy: Copy) -> None:
        """Return when what :meth:`write` took is copied; its original may change then."""
        self._run.writer.ensure(copy)

    def _record(self, index: int, block: Record, copy: Copy) -> None:
        """Write a record, and keep its memory for a later one: taking it anew costs as much as the copy."""
        with self._run.channel.together():
            copy.ensure()
        self._store.write(index, index * self._due.interval, block)
        if len(self._spare) < _SPARE:
            self._spare.append(block)

    def finish(self, *, complete: bool = True) -> Path:
        """Make the result of the records and return its path; ``complete=False`` marks a shorter run."""
        self._run.wait()
        with self._run.writer.counted():
            return self._store.finish(complete=complete)

    def _new(self) -> Record:
        """Return memory for a record."""
        return Record({spec.name: self._layout.shape(spec, self._box) for spec in self.fields}, self._store.dtype)

    def _copy(self, seconds: float, block: Block, given: Sequence[tuple[FieldSpec, FieldView | NDArray[Any]]]) -> None:
        """Copy fields into a record; raises NumericalError for one that is not finite, or not as a float32."""
        with np.errstate(over="ignore", invalid="ignore"):  # it is told below
            self._fill(block, given)
            for spec in self.fields:
                # in double the sum of finite ones is finite
                if not np.isfinite(np.add.reduce(block[spec.name], axis=None, dtype=np.float64)):
                    raise NumericalError(
                        f"{spec.name} is not finite at {seconds:g} s, or beyond what results hold, 3e38 {spec.unit}: "
                        "check emissions, rate constants, the initial state and what flows in"
                    )

    def _fill(self, block: Block, given: Sequence[tuple[FieldSpec, FieldView | NDArray[Any]]]) -> None:
        for spec, value in given:
            if isinstance(value, FieldView):
                value.copy_to(block[spec.name], self._picks.get(next(iter(spec.dims), ""), slice(None)))
            else:
                block[spec.name][...] = self._picked(spec, value)

    def _picked(self, spec: FieldSpec, value: NDArray[Any]) -> NDArray[Any]:
        """Return what is kept of a field."""
        for axis, dim in enumerate(spec.dims):
            if dim in self._picks:
                value = value[(slice(None),) * axis + (self._picks[dim],)]
        return value


def _as_field(spec: FieldSpec, value: FieldView | ArrayLike, sizes: Mapping[str, int]) -> FieldView | NDArray[Any]:
    """Return a value as the field that it is; raises DataError for another shape."""
    field = value if isinstance(value, FieldView) else np.asarray(value)
    spec.check_shape(field.shape, sizes)
    return field
