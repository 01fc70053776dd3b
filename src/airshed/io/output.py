"""Results: chosen fields at chosen times, by the strategy that the case names.

What each strategy does is in :mod:`airshed.io.strategies`; here is what they share: which fields and layers, when, and
as float32.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airshed.core.atomic import guarded
from airshed.core.errors import OutputError
from airshed.fields.spec import FieldSpec
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.io.cf import Compression, Layout
from airshed.io.folder import RECORDS, RunFolder
from airshed.io.strategies import open_store
from airshed.io.strategies.names import Strategy
from airshed.io.strategies.store import Place, prepare_records

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CLOCK_ROUNDOFF: Final = 1e-9
_SPARE: Final = 2
"""Records whose memory is kept, taken at the start: one that is filled while another is written."""


class OutputWriter:
    """Writes chosen fields every ``every`` seconds, as float32, to ``RUN/NAME.nc`` (or ``.files``, ``.zarr``).

    ``levels`` are the indices of the layers to keep, all for None; ``attributes`` are global attributes to add, such
    as ``references`` with the licence of the input data, or another text for ``airshed_case``. A run resumed at
    ``resume_from`` seconds must have the records up to then. ``window`` are the columns that this rank holds of the
    grid, all for None; with several ranks each makes a writer and the same calls. Raises OutputError when records are
    missing, when the folder cannot be written to, and for a strategy that this machine lacks.
    """

    def __init__(
        self,
        run: RunFolder,
        grid: Grid,
        fields: Sequence[FieldSpec],
        *,
        start: np.datetime64,
        title: str,
        every: float,
        levels: Sequence[int] | None = None,
        attributes: Mapping[str, str] | None = None,
        name: str = "output",
        resume_from: float | None = None,
        window: Window | None = None,
        strategy: Strategy | str = "gather:async",
        compression: Compression = "none",
    ) -> None:
        if not _NAME.fullmatch(name):
            raise OutputError(f"output name {name!r} is not usable: letters, digits, '.', '-' and '_' only")
        self.fields, self.every = tuple(fields), every
        self._run = run
        kept = tuple(range(grid.shape[0]) if levels is None else levels)
        self._levels = slice(None) if levels is None else list(kept)
        texts = {"title": title, "airshed_case": run.case, **(attributes or {})}
        layout = Layout(grid, kept, self.fields, start, texts)
        self._window = window or layout.whole
        self._kept = len(kept)
        self._sizes = dict(zip(("level", "lat", "lon"), (grid.shape[0], *self._window.shape), strict=True))
        result, records = run.add_output(name), run.path / RECORDS / name
        with run.channel.together(), guarded(records):
            records.mkdir(parents=True, exist_ok=True)
        windows = tuple(run.channel.gather_all(self._window))
        place = Place(result, records, run.channel, layout, windows, compression)
        chosen = Strategy.parse(strategy) if isinstance(strategy, str) else strategy
        opened = open_store(chosen, place)
        self.strategy, self._store, self.measured = opened.strategy, opened.store, opened.measured
        self._spare = [self._new() for _ in range(_SPARE if self.strategy.asynchronous else 1)]
        # none are due in a spin-up, before the start
        last = -1 if resume_from is None or resume_from < 0.0 else self._last(resume_from)
        run.channel.on_root(partial(prepare_records, records, self._store.kind, last))
        self._store.resume(last)

    def is_due(self, seconds: float) -> bool:
        """Say whether a record belongs at this time since the start [s]."""
        distance = abs(seconds - self.every * round(seconds / self.every))
        return seconds >= 0.0 and distance <= _CLOCK_ROUNDOFF * self.every

    def _last(self, seconds: float) -> int:
        """Return the number of the last record up to a time; 999 // 199.8 is 4, since 199.8 is not exact."""
        return round(seconds / self.every) if self.is_due(seconds) else int(seconds // self.every)

    def write(self, seconds: float, values: Mapping[str, ArrayLike]) -> None:
        """Take a copy of the fields at a time since the start [s], shapes (level, lat, lon) or (lat, lon), and return.

        With an asynchronous strategy the copy is written behind the run; this waits only when many are still
        unwritten. Raises OutputError for a time between records or a missing field, and for an earlier record that
        failed.
        """
        if not self.is_due(seconds):
            raise OutputError(f"there is no output record at {seconds} s: records are due every {self.every} s")
        missing = [spec.name for spec in self.fields if spec.name not in values]
        if missing:
            raise OutputError(f"output at {seconds} s lacks the field {missing[0]}")
        block = self._spare.pop() if self._spare else self._new()
        for spec in self.fields:
            self._copy(spec, values[spec.name], block[spec.name])
        size = sum(array.nbytes for array in block.values())
        job = partial(self._record, round(seconds / self.every), block)
        self._run.submit(job, size, asynchronous=self.strategy.asynchronous)

    def _record(self, index: int, block: dict[str, NDArray[np.float32]]) -> None:
        """Write a record, and keep its memory for a later one: taking it anew costs as much as the copy."""
        self._store.write(index, index * self.every, block)
        if len(self._spare) < _SPARE:
            self._spare.append(block)

    def finish(self, *, complete: bool = True) -> Path:
        """Make the result of the records and return its path; ``complete=False`` marks a shorter run."""
        self._run.wait()
        with self._run.writer.counted():
            return self._store.finish(complete=complete)

    def _new(self) -> dict[str, NDArray[np.float32]]:
        """Return memory for a record, filled: the system gives pages as they are touched, which is slow."""
        sizes = {**self._sizes, "level": self._kept}
        return {spec.name: np.full(spec.shape(sizes), np.nan, np.float32) for spec in self.fields}

    def _copy(self, spec: FieldSpec, value: ArrayLike, chosen: NDArray[np.float32]) -> None:
        array = spec.checked(value, self._sizes)
        chosen[...] = array[self._levels] if "level" in spec.dims else array
