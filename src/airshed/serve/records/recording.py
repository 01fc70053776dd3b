"""Records of a session: the fields of its outputs at regular times, as a Zarr store with a chunk for each record.

A worker thread writes, so that the model waits only for the copy of its fields. The store is on disk where the session
has a folder, otherwise in memory. A return to an earlier state removes the later records.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from threading import RLock
from typing import Any, Final, Protocol

import numpy as np

from airshed.case.case import RunCase
from airshed.core.arrays import AnyArray
from airshed.core.atomic import write_whole
from airshed.core.errors import AirshedError, CaseError, DataError
from airshed.core.text import suggestion
from airshed.serve.fields.formats import METADATA, all_dims, array_metadata, attributes_of, coordinates, group_metadata
from airshed.serve.fields.published import Copy, Selection, Shape
from airshed.serve.protocol import types
from airshed.serve.protocol.errors import NotThereError
from airshed.serve.protocol.frames import window_of
from airshed.serve.protocol.values import Window

FOLDER: Final = "recording.zarr"
_CLOCK: Final = {"seconds": "float64", "step": "int64", "time": "int64"}
_EPOCH: Final = "milliseconds since 1970-01-01"
_INSTANT: Final = 1e-6
"""Round-off of a time [s]."""
_WEATHER: Final = frozenset(
    {
        "eastward_wind", "northward_wind", "air_temperature", "air_pressure", "atmosphere_boundary_layer_thickness",
        "precipitation_flux",
    }
)  # fmt: skip
"""CF standard names of weather that is drawn with any field of its hour, or converts its unit."""
MOST_BYTES: Final = 256 * 2**20
"""Most bytes of a response."""


class RecordedFields(Protocol):
    """Fields at several times: a recording of a session, or the output of a finished run."""

    @property
    def every(self) -> float:
        """Time between records [s]."""

    @property
    def names(self) -> Sequence[str]:
        """Recorded variables."""

    @property
    def moments(self) -> Sequence[types.Moment]:
        """Times of the records."""

    @property
    def rewinds(self) -> int:
        """Number of returns to an earlier state, after which records of the same times may differ."""

    def read(self, name: str, index: int, level: int | None, window: Window | None) -> AnyArray:
        """Return a field of a moment, or a part of it."""

    def flush(self) -> None:
        """Wait until all records so far are stored."""


class _Memory:
    """Records in memory."""

    def __init__(self) -> None:
        self._records: list[Mapping[str, AnyArray]] = []

    def load(self) -> list[types.Moment]:
        """Return the moments of an earlier recording: none."""
        return []

    def write(self, values: Mapping[str, AnyArray], moments: Sequence[types.Moment]) -> None:
        """Add a record, which is the last one of the moments."""
        self._records.append(values)

    def cut(self, moments: Sequence[types.Moment]) -> None:
        """Remove the records after the moments."""
        del self._records[len(moments) :]

    def read(self, name: str, index: int) -> AnyArray:
        """Return a field of a record."""
        return self._records[index][name]


class _Files:
    """Records in a Zarr store on disk: a file for each field of a record, and the clock, which counts the records."""

    def __init__(self, path: Path, shape: Shape, names: Sequence[str]) -> None:
        self._path, self._shape, self._names = path, shape, names

    def load(self) -> list[types.Moment]:
        """Return the moments of an earlier recording of the same fields."""
        try:
            clock = [np.fromfile(self._path / name / "c" / "0", np.dtype(dtype)) for name, dtype in _CLOCK.items()]
            known = json.loads((self._path / METADATA).read_text(encoding="utf-8"))["consolidated_metadata"]["metadata"]
        except (OSError, ValueError, KeyError):
            return []
        same = all(
            name in known and known[name]["shape"][1:] == self._shape.variables[name].shape for name in self._names
        )
        return [_moment(*row) for row in zip(*clock, strict=False)] if same else []

    def write(self, values: Mapping[str, AnyArray], moments: Sequence[types.Moment]) -> None:
        """Add a record, which is the last one of the moments."""
        if len(moments) == 1:
            rmtree(self._path, ignore_errors=True)
        for name in self._names:
            variable = self._shape.variables[name]
            file = self._file(name, len(moments) - 1)
            file.parent.mkdir(parents=True, exist_ok=True)
            field = values.get(name)
            file.write_bytes((np.full(variable.shape, np.nan) if field is None else field).astype("<f4").tobytes())
        self._write_clock(moments)

    def cut(self, moments: Sequence[types.Moment]) -> None:
        """Remove the records after the moments; their files are overwritten later."""
        self._write_clock(moments)

    def read(self, name: str, index: int) -> AnyArray:
        """Return a field of a record, mapped from its file."""
        return np.memmap(self._file(name, index), "<f4", "r", shape=tuple(self._shape.variables[name].shape))

    def _file(self, name: str, index: int) -> Path:
        dims = len(self._shape.variables[name].shape)
        return self._path.joinpath(name, "c", str(index), *["0"] * dims)

    def _write_clock(self, moments: Sequence[types.Moment]) -> None:
        """Write the times of the records, then the metadata of all arrays with their present length."""
        count, arrays = len(moments), dict[str, Any]()
        times = [np.datetime64(each.time.removesuffix("Z"), "ms").astype(np.int64) for each in moments]
        for name, values in zip(
            _CLOCK, ([each.seconds for each in moments], [each.step for each in moments], times), strict=True
        ):
            file = self._path / name / "c" / "0"
            file.parent.mkdir(parents=True, exist_ok=True)
            with write_whole(file) as part:
                part.write_bytes(np.asarray(values, np.dtype(_CLOCK[name])).tobytes())
            units = {"units": _EPOCH} if name == "time" else {}
            arrays[name] = array_metadata([count], ["time"], _CLOCK[name], 0, units)
        for name in self._names:
            each = self._shape.variables[name]
            about = attributes_of(each, self._shape.grid)
            arrays[name] = array_metadata(
                [count, *each.shape], ["time", *each.dims], "float32", "NaN", about, [1, *each.shape]
            )
        for name, (dims, values, about) in coordinates(self._shape, all_dims(self._shape)).items():
            arrays[name] = array_metadata(values.shape, dims, "float64", "NaN", about)
            file = self._path.joinpath(name, "c", *["0"] * values.ndim)
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(np.asarray(values, "<f8").tobytes())
        with write_whole(self._path / METADATA) as part:
            part.write_text(json.dumps(group_metadata(arrays, dict(self._shape.attributes))), encoding="utf-8")


class SessionRecords:
    """Records of a session.

    Parameters
    ----------
    shape : Shape
        Variables of the model.
    names : sequence of str
        Variables to record.
    every : float
        Time between records [s].
    folder : Path, optional
        Folder of the session; without it the store is in memory.
    until : float, optional
        Time up to which an earlier recording in the folder is continued [s]; None begins an empty one.
    on_record, on_failure : callable
        Called in the writer's thread after a record is stored, and with the error that ends the recording.
    """

    def __init__(
        self, shape: Shape, names: Sequence[str], every: float, folder: Path | None, until: float | None = None,
        *, on_record: Callable[[types.Moment], None], on_failure: Callable[[AirshedError], None],
    ) -> None:  # fmt: skip
        self.every, self.names, self.moments = every, tuple(names), list[types.Moment]()
        self._on_record, self._on_failure = on_record, on_failure
        self._store = _Memory() if folder is None else _Files(folder / FOLDER, shape, names)
        if until is not None:
            self.moments = [each for each in self._store.load() if each.seconds <= until + _INSTANT]
        self._last, self._failed = self._number(self.moments[-1].seconds) if self.moments else -1, False
        self.rewinds = 0
        self._lock, self._writer = RLock(), ThreadPoolExecutor(1, "airshed-recording")

    def is_due(self, seconds: float) -> bool:
        """Return whether a record is due at a time; there are none before the start of the case."""
        return not self._failed and seconds >= 0.0 and self._number(seconds) > self._last

    def add(self, state: types.SessionState, copies: Mapping[str, Copy]) -> None:
        """Store copies of fields as a record of a state; returns before they are stored."""
        self._last = self._number(state.seconds)
        moment = types.Moment(seconds=state.seconds, step=state.step, time=state.time)
        self._submit(self._write, moment, {name: copies[name].values for name in self.names if name in copies})

    def rewind(self, seconds: float) -> None:
        """Remove records after a time: the session has returned to an earlier state."""
        self.rewinds += 1
        self._last = min(self._last, self._number(seconds) if seconds >= 0.0 else -1)
        self._submit(self._cut, seconds)

    def copy(self, other: "SessionRecords", until: float) -> None:
        """Store the records of the parent of a branch up to a time."""
        self._last = self._number(until) if until >= 0.0 else -1
        other.flush()
        for index, moment in enumerate(list(other.moments)):
            if moment.seconds <= until + _INSTANT:
                names = [name for name in self.names if name in other.names]
                self._submit(self._write, moment, {name: other.read(name, index, None, None) for name in names})

    def read(self, name: str, index: int, level: int | None, window: Window | None) -> AnyArray:
        """Return a field of a moment, or a part of it; raises NotThereError for a record that was removed."""
        with self._lock:
            if index >= len(self.moments):
                raise NotThereError("the session has returned to an earlier state; repeat the request")
            return np.array(window_of(self._store.read(name, index), level, window, 1))

    def flush(self) -> None:
        """Wait until all records so far are stored; after the end of the session they are."""
        with suppress(RuntimeError):
            self._writer.submit(lambda: None).result()

    def close(self) -> None:
        """Wait until all records are stored."""
        self._writer.shutdown()

    def _number(self, seconds: float) -> int:
        return int(np.floor(seconds / self.every + _INSTANT))

    def _submit(self, work: Callable[..., None], *arguments: Any) -> None:
        """Call a function in the writer's thread; its first error ends the recording."""

        def guarded() -> None:
            try:
                if not self._failed:
                    work(*arguments)
            except Exception as error:
                self._failed = True
                self._on_failure(DataError(f"the recording ended, and later hours are not stored: {error}"))

        self._writer.submit(guarded)

    def _write(self, moment: types.Moment, values: Mapping[str, AnyArray]) -> None:
        with self._lock:
            self._store.write(values, [*self.moments, moment])
            self.moments.append(moment)
        self._on_record(moment)

    def _cut(self, seconds: float) -> None:
        with self._lock:
            left = [each for each in self.moments if each.seconds <= seconds + _INSTANT]
            if len(left) < len(self.moments):
                self._store.cut(left)
                self.moments[:] = left


def recorded_fields(case: RunCase, shape: Shape, air: str = "") -> tuple[list[str], float]:
    """Return the variables to record, and the shortest time between the records of a case's outputs.

    Recorded are the variables on a map that the outputs write, and the weather that is drawn with them. ``air`` is
    the amount of air, which converts their units.
    """
    on_map = [name for name, each in shape.variables.items() if len(each.dims) > 1]
    wanted = {name for output in case.output for name in (on_map if output.fields == "all" else output.fields)}
    every = min((output.every.value for output in case.output), default=3600.0)
    if wanted:
        wanted |= {name for name in on_map if name == air or shape.variables[name].standard_name in _WEATHER}
    return [name for name in on_map if name in wanted], every


def _moment(seconds: float, step: int, time: int) -> types.Moment:
    return types.Moment(seconds=float(seconds), step=int(step), time=f"{np.datetime64(int(time), 'ms')}Z")


def selected(
    recorded: RecordedFields, shape: Shape, name: str, chosen: Selection, since: float | None, at: float | None
) -> Iterator[tuple[types.Moment, AnyArray]]:
    """Yield the moments of a field after a time, or the last one up to a time, with the chosen part of its values.

    Raises CaseError for a field that is not recorded, for a part that does not exist, and for a part that is too large.
    """
    if name not in recorded.names:
        raise CaseError(f"{name!r} is not recorded; {suggestion(name, recorded.names)}")
    variable, moments = shape.variable(name), list(recorded.moments)
    shape.check(variable, chosen.level, chosen.window)
    if at is not None:
        indices = [index for index, each in enumerate(moments) if each.seconds <= at + _INSTANT][-1:]
    else:
        indices = [index for index, each in enumerate(moments) if since is None or each.seconds > since + _INSTANT]
    layers = 1 if chosen.level is not None or len(variable.shape) < 3 else variable.shape[0]
    rows, columns = variable.shape[-2:]
    first, last, left, right = chosen.window or (0, rows, 0, columns)
    if 4 * layers * (last - first) * (right - left) * len(indices) > MOST_BYTES * chosen.stride**2:
        raise CaseError(
            f"{len(indices)} times of {name} are too much for a response; request a level, a window, a time"
        )
    for index in indices:
        try:
            values = recorded.read(name, index, chosen.level, chosen.window)
        except NotThereError:  # the session has returned to an earlier state
            return
        yield moments[index], window_of(values, None, None, chosen.stride)
