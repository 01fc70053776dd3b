"""Finished runs: the output of a run as a session without a model."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.arrays import AnyArray
from airshed.core.errors import DataError, OutputError
from airshed.core.fields import FieldSpec
from airshed.core.files import read_text
from airshed.core.toml_text import parse_toml
from airshed.core.version import __version__
from airshed.grid.axes import GRID_MAPPING, Axes, Coordinate
from airshed.io.folder import SUMMARIES
from airshed.io.hdf5 import hdf5
from airshed.io.results import open_run
from airshed.serve.access.lease import Lease
from airshed.serve.fields.published import Session, Shape
from airshed.serve.model.sessions import iso
from airshed.serve.protocol import types
from airshed.serve.protocol.frames import window_of
from airshed.serve.protocol.values import Window
from airshed.serve.records.striking import striking_time

if TYPE_CHECKING:
    import xarray as xr

_FIRST: Final = "O3"
_AIR: Final = "air_density"
_SPECIES: Final = "mol mol-1"
_HORIZONTAL: Final = (("lat", "lon"), ("y", "x"), ("cell",))


@dataclass(frozen=True)
class RunOutput:
    """Records of an output of a run."""

    dataset: "xr.Dataset"
    shape: Shape
    moments: Sequence[types.Moment]
    every: float
    rewinds: int = 0

    @property
    def names(self) -> Sequence[str]:
        """Variables of the output."""
        return list(self.shape.variables)

    def read(self, name: str, index: int, level: int | None, window: Window | None) -> AnyArray:
        """Return a field of a moment, or a part of it."""
        field = self.dataset[name].isel(time=index)
        if level is not None and "level" in field.dims:
            field, level = field.isel(level=level), None
        with hdf5():
            values = np.asarray(field.values, np.float32)
        return window_of(self.shape.on_map(self.shape.variable(name), values), level, window, 1)

    def flush(self) -> None:
        """Return: all records are stored."""


@dataclass(frozen=True)
class FinishedRun:
    """Folder of a run without a model, and its answers."""

    folder: Path
    info: types.ModelInfo
    summary: types.Summary


def finished_session(
    folder: Path, name: str = "main", case_name: str | None = None, *, capabilities: Sequence[str] = ()
) -> Session:
    """Return a session with the fields of a finished run, or of an output file, at all its times.

    Raises OutputError for a folder without a finished run, DataError for an output without a map.
    """
    # output and its times
    dataset = open_run(folder)
    shape, case = _shape(dataset, folder), parse_toml(str(dataset.attrs.get("airshed_case", "")))
    begin = dict(case.get("time", {})).get("start")
    start = dataset["time"].values[0].astype("datetime64[ms]") if begin is None else _utc(begin)
    times = dataset["time"].values.astype("datetime64[ms]")
    seconds = (times - start) / np.timedelta64(1, "s")
    moments = [
        types.Moment(seconds=float(each), step=number, time=iso(when))
        for number, (each, when) in enumerate(zip(seconds, times, strict=True))
    ]
    recorded = RunOutput(dataset, shape, moments, float(np.median(np.diff(seconds))) if len(times) > 1 else 3600.0)

    # answers of a session that has ended
    last = moments[-1]
    of_run = types.SessionState(
        session=name, title=str(dataset.attrs.get("title", folder.name)), model=str(case.get("model", "air")),
        case=case_name or folder.name, recorded=True,
        status="ended", step=last.step, seconds=last.seconds, time=last.time, begin=moments[0].seconds,
        end=last.seconds, version=1,
    )  # fmt: skip
    species = [each.name for each in shape.variables.values() if each.unit == _SPECIES]
    shown = sorted(shape.variables, key=lambda each: each != _FIRST)
    info = types.ModelInfo(
        version=__version__, state=of_run, start=iso(start), variables=list(shape.variables.values()), grid=shape.grid,
        species=species, shown=shown, air=_AIR if _AIR in shape.variables else None, settings={}, values={},
        capabilities=list(capabilities), attributes=dict(shape.attributes),
        striking=striking_time(recorded, shape, shown[0]),
    )  # fmt: skip
    session = Session(shape, of_run, Lease(0.0), recorded=recorded)
    session.finished = FinishedRun(folder, info, _summary(folder, of_run))
    return session


def _utc(moment: datetime) -> np.datetime64:
    """Return a time of a case file as UTC without a zone."""
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return np.datetime64(zoned.astimezone(UTC).replace(tzinfo=None), "ms")


def _shape(dataset: "xr.Dataset", folder: Path) -> Shape:
    """Return the variables on a map and their axes."""
    names = {str(name): each for name, each in dataset.data_vars.items() if "time" in each.dims}
    horizontal = next(
        (dims for dims in _HORIZONTAL if any(each.dims[-len(dims) :] == dims for each in names.values())), None
    )
    if horizontal is None:
        raise DataError(f"{folder}: its output has no field on a map, so there is nothing to view")
    fields = {
        name: FieldSpec(
            name, tuple(map(str, each.dims[1:])), str(each.attrs.get("units", "1")),
            str(each.attrs.get("long_name", name)), each.attrs.get("standard_name"), each.attrs.get("molar_mass"),
        )
        for name, each in names.items()
        if each.dims[0] == "time" and each.dims[-len(horizontal) :] == horizontal
    }  # fmt: skip
    used = {dim for each in fields.values() for dim in each.dims}
    order = [*(dim for dim in ("level", *sorted(used)) if dim in used and dim not in horizontal), *horizontal]
    coordinates = [_coordinate(dataset, dim) for dim in dict.fromkeys(order)]
    coordinates += [
        _coordinate(dataset, each) for each in ("lat", "lon") if each in dataset.coords and each not in horizontal
    ]
    mapping = dict(dataset[GRID_MAPPING].attrs) if GRID_MAPPING in dataset.variables else {}
    attributes = {key: str(dataset.attrs[key]) for key in ("comment", "references") if key in dataset.attrs}
    return Shape.of(fields, Axes(coordinates, horizontal, mapping), {}, attributes)


def _coordinate(dataset: "xr.Dataset", name: str) -> Coordinate:
    """Return a coordinate with its bounds; the number of a cell where a dimension has none."""
    if name not in dataset.variables:
        return Coordinate(name, np.arange(dataset.sizes[name], dtype=np.float64), {})
    each = dataset[name]
    bounds = dataset[f"{name}_bnds"].values if f"{name}_bnds" in dataset.variables and each.ndim == 1 else None
    attributes = {key: str(value) for key, value in each.attrs.items()}
    return Coordinate(name, np.asarray(each.values, np.float64), attributes, bounds, tuple(map(str, each.dims)))


def _summary(folder: Path, state: types.SessionState) -> types.Summary:
    """Return the summary that the run has written; without tables where there is none."""
    path = folder / SUMMARIES[1]
    if not path.is_file():
        return types.Summary(state=state, facts={}, tables=[])
    try:
        document = json.loads(read_text(path))
        tables = [
            {
                "title": each["title"],
                "columns": list(each["rows"][0]),
                "rows": [list(row.values()) for row in each["rows"]],
            }
            for each in document["tables"]
            if each["rows"]
        ]
        return types.Summary.model_validate({"state": state, "facts": document["facts"], "tables": tables})
    except (ValueError, KeyError, TypeError) as error:
        raise OutputError(f"{path} is damaged ({str(error).splitlines()[0]}); make it again with airshed run") from None
