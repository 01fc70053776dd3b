"""Results by the strategy "gather": records while the run goes, one CF netCDF file at its end.

A run may be killed at any moment. Appending to one netCDF file would leave it unreadable then, so each output time
becomes a small whole file of its own, numbered by its time, and the netCDF file is made of them at the end, whole or
not at all. A resumed run writes the records after its restart once more, with the same bits.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airshed.core.atomic import guarded, write_whole
from airshed.core.errors import OutputError
from airshed.core.version import __version__
from airshed.fields.spec import FieldSpec
from airshed.grid import Grid
from airshed.io import cf
from airshed.io.archive import load_arrays, save_arrays
from airshed.io.folder import RECORDS, RunFolder

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CLOCK_ROUNDOFF: Final = 1e-9


class OutputWriter:
    """Writes chosen fields every ``every`` seconds, as float32, to ``RUN/NAME.nc``.

    ``levels`` are the indices of the layers to keep, all for None; ``attributes`` are global attributes to add, such
    as ``references`` with the licence of the input data, or another text for ``airshed_case``. A run resumed at
    ``resume_from`` seconds must have the records up to then. Raises OutputError when they are missing, or when the
    folder cannot be written to.
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
    ) -> None:
        if not _NAME.fullmatch(name):
            raise OutputError(f"output name {name!r} is not usable: letters, digits, '.', '-' and '_' only")
        self.fields = tuple(fields)
        self.every = every
        self._run, self._grid, self._start, self._title = run, grid, start, title
        self._attributes = dict(attributes or {})
        self._levels = list(range(grid.shape[0])) if levels is None else list(levels)
        self._sizes = dict(zip(("level", "lat", "lon"), grid.shape, strict=True))
        self._path = run.add_output(name)
        self._records = run.path / RECORDS / name
        with guarded(self._records):
            self._records.mkdir(parents=True, exist_ok=True)
        if resume_from is not None and resume_from >= 0.0:  # none are due in a spin-up, before the start
            self._check_records(int(resume_from // every))

    def is_due(self, seconds: float) -> bool:
        """Say whether a record belongs at this time since the start [s]."""
        distance = abs(seconds - self.every * round(seconds / self.every))
        return seconds >= 0.0 and distance <= _CLOCK_ROUNDOFF * self.every

    def write(self, seconds: float, values: Mapping[str, ArrayLike]) -> None:
        """Take a copy of the fields at a time since the start [s], shapes (level, lat, lon) or (lat, lon), and return.

        The copy is written behind the run; this waits only when several records are still unwritten. Raises
        OutputError for a time between records or a missing field, and for an earlier record that failed.
        """
        if not self.is_due(seconds):
            raise OutputError(f"there is no output record at {seconds} s: records are due every {self.every} s")
        missing = [spec.name for spec in self.fields if spec.name not in values]
        if missing:
            raise OutputError(f"output at {seconds} s lacks the field {missing[0]}")
        record = {spec.name: self._chosen(spec, values[spec.name]) for spec in self.fields}
        index = round(seconds / self.every)
        path = self._records / f"{index:06d}.npz"
        self._run.writer.submit(partial(_save_record, path, record, index * self.every))

    def finish(self, *, complete: bool = True) -> Path:
        """Gather the records into the output file and return its path; ``complete=False`` marks a shorter run."""
        self._run.writer.wait()
        paths = self._check_records()
        status = "complete" if complete else "interrupted"
        attributes = {
            "title": self._title,
            "airshed_case": self._run.case,
            **self._attributes,
            "history": f"written by airshed {__version__} run",
            "airshed_run": status,
        }
        with write_whole(self._path) as part:
            file = cf.create(part, self._grid, self._levels, self.fields, start=self._start, attributes=attributes)
            with file:
                for index, path in enumerate(paths):
                    self._append(file, index, path)
        return self._path

    def _chosen(self, spec: FieldSpec, value: ArrayLike) -> NDArray[np.float32]:
        array = spec.checked(value, self._sizes)
        chosen = array[self._levels] if "level" in spec.dims else array
        return chosen.astype(np.float32)

    def _append(self, file: Any, index: int, path: Path) -> None:
        arrays, metadata = load_arrays(path)
        file["time"][index] = metadata["seconds"]
        for spec in self.fields:
            file[spec.name][index] = arrays[spec.name]

    def _check_records(self, last: int | None = None) -> list[Path]:
        """Return the records in order; raises OutputError for a gap among them, or before the record ``last``."""
        paths = sorted(self._records.glob("*.npz"))
        numbers = [int(path.stem) for path in paths]
        if last is not None and last not in numbers:
            raise OutputError(f"{self._records} lacks the record {last:06d}.npz of this run; run anew without --resume")
        for before, after in pairwise(numbers):
            if after != before + 1:
                raise OutputError(
                    f"{self._records} lacks the record {before + 1:06d}.npz of this run; run anew without --resume"
                )
        return paths


def _save_record(path: Path, record: Mapping[str, NDArray[np.float32]], seconds: float) -> None:
    with write_whole(path) as part:
        save_arrays(part, record, {"seconds": seconds})
