"""A session as seen by requests: its state, copies of fields of a version, and its lease. Uses no model."""

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.arrays import AnyArray
from airshed.core.errors import CaseError, DataError
from airshed.core.fields import FieldSpec
from airshed.core.text import suggestion
from airshed.grid.axes import Axes, Coordinate
from airshed.grid.packing import PackedGrid
from airshed.grid.projected import MapProjection
from airshed.serve.access.lease import Client, Lease
from airshed.serve.protocol import types
from airshed.serve.protocol.frames import Payload, encode, frame, window_of
from airshed.serve.protocol.values import Encoding, Window
from airshed.serve.words.fields import field_words

if TYPE_CHECKING:
    from airshed.evaluate.observation_files import ObservationFiles
    from airshed.serve.records.finished import FinishedRun
    from airshed.serve.records.recording import RecordedFields

_MAP = ["lat", "lon"]


@dataclass(frozen=True)
class Shape:
    """Variables and map of a model.

    packing     positions on the map of cells that do not form its rows and columns
    attributes  global attributes of all data
    places      coordinates of the cells of a projected map: y, x, latitude and longitude
    """

    variables: Mapping[str, types.Variable]
    grid: types.GridInfo
    packing: PackedGrid | None
    attributes: Mapping[str, str]
    places: Sequence[Coordinate] = ()

    @classmethod
    def of(
        cls, fields: Mapping[str, FieldSpec], axes: Axes, groups: Mapping[str, str], attributes: Mapping[str, str]
    ) -> "Shape":
        """Return the shape of a model; `groups` has the group of each settable number."""
        packing = _packing(axes)
        grid = _grid(axes, packing)
        variables = {name: _variable(spec, axes, packing, groups.get(name, "")) for name, spec in fields.items()}
        horizontal = set(axes.divided) if axes.mapping else set[str]()
        places = [each for each in axes.coordinates if set(each.dims) <= horizontal]
        return cls(variables, grid, packing, dict(attributes), places)

    def variable(self, name: str) -> types.Variable:
        """Return a variable; raises CaseError for an unknown name."""
        if name not in self.variables:
            raise CaseError(f"there is no variable {name!r}; {suggestion(name, self.variables)}")
        return self.variables[name]

    def has_cells_of(self, other: "Shape") -> bool:
        """Return whether the cells of two maps have the same positions; levels and bounds may be recorded or not."""
        if self.grid is other.grid:
            return True
        grids = (self.grid, other.grid)
        one, two = ({each.name: each.values for each in grid.coordinates if each.name != "level"} for grid in grids)
        if len({(each.kind, each.rows, each.columns) for each in grids}) > 1 or not one.keys() & two.keys():
            return False
        return all(np.allclose(one[name], two[name]) for name in one.keys() & two.keys())

    def on_map(self, variable: types.Variable, values: AnyArray) -> AnyArray:
        """Return the values of a field on the map (..., lat, lon), NaN where there is no cell."""
        return values if self.packing is None or not variable.dims else self.packing.spread(values)

    def check(self, variable: types.Variable, level: int | None, window: Window | None) -> None:
        """Raise CaseError for a level or a window that a variable does not have."""
        if level is not None and level >= (variable.shape[0] if len(variable.shape) > 2 else 1):
            raise CaseError(f"{variable.name} has no level {level}; levels count from 0, at the ground")
        if window is None:
            return
        rows, columns = variable.shape[-2:] if len(variable.shape) > 1 else (0, 0)
        first, last, left, right = window
        if not (first < last <= rows and left < right <= columns):
            raise CaseError(
                f"window {window} is not within {variable.name}, which has {rows} rows and {columns} columns"
            )


def _packing(axes: Axes) -> PackedGrid | None:
    places = {each.name: each for each in axes.coordinates}
    if not {"lat", "lon"} <= set(places) or places["lat"].dims != places["lon"].dims or len(places["lat"].dims) > 1:
        return None
    try:
        return PackedGrid.of(places["lat"].values, places["lon"].values)
    except DataError:  # the cells do not form a grid
        return None


def _grid(axes: Axes, packing: PackedGrid | None) -> types.GridInfo:
    levels: list[float] = next((each.values.tolist() for each in axes.coordinates if each.name == "level"), [])
    if packing is not None:
        lat, lon = Coordinate("lat", packing.lat, _units("north")), Coordinate("lon", packing.lon, _units("east"))
        rows, columns = packing.shape
        return types.GridInfo(
            kind="packed", rows=rows, columns=columns, coordinates=[_coordinate(lat), _coordinate(lon)], levels=levels
        )
    coordinates = [_coordinate(each) for each in axes.coordinates if len(each.dims) == 1]
    if axes.mapping:
        rows, columns = (axes.sizes[dim] for dim in axes.divided)
        attributes = MapProjection(axes.mapping).parameters
        projection = {name: list(each) if isinstance(each, tuple) else each for name, each in attributes.items()}
        return types.GridInfo(
            kind="projected", rows=rows, columns=columns, coordinates=coordinates, levels=levels, projection=projection
        )
    if not set(_MAP) <= set(axes.dims):
        return types.GridInfo(kind="plain", coordinates=coordinates, levels=levels)
    rows, columns = axes.sizes["lat"], axes.sizes["lon"]
    return types.GridInfo(kind="lonlat", rows=rows, columns=columns, coordinates=coordinates, levels=levels)


def _units(towards: str) -> dict[str, str]:
    return {"units": f"degrees_{towards}"}


def _coordinate(each: Coordinate) -> types.Coordinate:
    bounds = None if each.bounds is None else [(float(low), float(high)) for low, high in each.bounds]
    return types.Coordinate(
        name=each.name, dim=each.dims[0], unit=each.attributes.get("units", "1"),
        text=each.attributes.get("long_name", each.name), values=np.asarray(each.values, np.float64).tolist(),
        bounds=bounds,
    )  # fmt: skip


def _variable(spec: FieldSpec, axes: Axes, packing: PackedGrid | None, group: str) -> types.Variable:
    dims, shape = list(spec.dims), list(spec.shape(axes.sizes))
    if packing is not None and dims:
        cells = len(axes.divided)
        dims, shape = [*dims[:-cells], *_MAP], [*shape[:-cells], *packing.shape]
    valid = None if spec.valid is None else (_finite(spec.valid[0]), _finite(spec.valid[1]))
    return types.Variable(
        name=spec.name, unit=spec.unit, text=spec.text, dims=dims, shape=shape, valid=valid,
        standard_name=spec.standard_name, molar_mass=spec.molar_mass, settable=spec.settable,
        when="at the end of a step" if spec.settable else None,
        paintable=spec.settable and len(dims) > 1, group=group, **asdict(field_words(spec.name, spec.text, spec.unit)),
    )  # fmt: skip


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


_PAYLOADS: Final = 64
"""Encoded values in the cache, for clients with equal requests."""


@dataclass(frozen=True)
class Copy:
    """Copy of a field on the map, of one version of the state; of a difference, of two versions."""

    variable: types.Variable
    state: types.SessionState
    values: AnyArray
    other: int = 0

    @property
    def version(self) -> int:
        """Number that grows with every change of either state."""
        return self.state.version + self.other

    def less(self, other: "Copy") -> "Copy":
        """Return the difference to another copy; raises CaseError for a field of another shape."""
        if other.values.shape != self.values.shape or other.variable.unit != self.variable.unit:
            raise CaseError(f"{self.variable.name} of {other.state.session} is on another grid and cannot be compared")
        return Copy(self.variable, self.state, self.values - other.values, other.state.version)


@dataclass(frozen=True)
class Selection:
    """Part of a field that a client requests, and its encoding."""

    level: int | None = None
    window: Window | None = None
    stride: int = 1
    encoding: Encoding = "float32"
    range: tuple[float, float] | None = None
    compress: bool = False
    less: str | None = None


@dataclass
class Session:
    """The published state of a session.

    state    replaced as a whole by the model's thread at the end of steps
    history  events other than commands, for the history attribute of files
    recorded fields at earlier times; None for a model without outputs
    published_control  the clients with control and requesting it, of the last event
    finished answers of a finished run, which has no model; None for a model
    observations  files of the case, for the stations; None without any
    """

    shape: Shape
    state: types.SessionState
    lease: Lease
    copies: dict[str, Copy] = field(default_factory=dict)
    log: list[types.LogEntry] = field(default_factory=list)
    snapshots: list[types.SnapshotInfo] = field(default_factory=list)
    history: tuple[str, ...] = ()
    recorded: "RecordedFields | None" = None
    finished: "FinishedRun | None" = None
    observations: "ObservationFiles | None" = None
    used: float = field(default_factory=time.monotonic)
    published_control: tuple[Client | None, Client | None] = (None, None)
    _payloads: OrderedDict[Any, tuple[tuple[int, ...], Payload]] = field(default_factory=OrderedDict)

    @property
    def name(self) -> str:
        """The name of the session."""
        return self.state.session

    def control(self) -> tuple[Client | None, Client | None]:
        """Return the client with control, and the one that requests it."""
        return self.lease.held_by(), self.lease.asked_by()

    def view(self) -> types.SessionState:
        """Return the state, with the present controller."""
        holder, asking = self.control()
        return self.state.model_copy(
            update={"controller": holder and holder.author, "asking": asking and asking.author}
        )

    def present(self, variable: str) -> Copy | None:
        """Return the copy of a field if it is of the present state."""
        copy = self.copies.get(variable)
        return copy if copy is not None and copy.state.version == self.state.version else None

    def publish(self, values: dict[str, AnyArray]) -> None:
        """Store copies of fields of the present state, in the layout of the model."""
        for name, each in values.items():
            variable = self.shape.variable(name)
            self.copies[name] = Copy(variable, self.state, self.shape.on_map(variable, np.asarray(each, np.float32)))

    def publish_last(self, name: str) -> Copy:
        """Store and return a copy of the last record of a field, which is on the map already."""
        assert self.recorded is not None
        values = self.recorded.read(name, len(self.recorded.moments) - 1, None, None)
        self.copies[name] = Copy(self.shape.variable(name), self.state, values)
        return self.copies[name]

    def frame(self, copy: Copy, chosen: Selection, subscription: str | None = None, dropped: int = 0) -> bytes:
        """Return a frame of a part of a copy; raises CaseError for a part that does not exist."""
        self.shape.check(copy.variable, chosen.level, chosen.window)
        if chosen.range is not None and chosen.range[0] > chosen.range[1]:
            raise CaseError(f"range = {list(chosen.range)} is invalid; give two increasing numbers")
        variable, (shape, payload) = copy.variable, self._payload(copy, chosen)
        header = frame_header(copy.state, variable.name, variable.unit, variable.dims, shape, payload, chosen)
        return frame({**header, "subscription": subscription, "dropped": dropped}, payload.data)

    def recorded_frame(self, name: str, moment: types.Moment, values: AnyArray, chosen: Selection) -> bytes:
        """Return a frame of a part of a recorded field, which is chosen already."""
        variable = self.shape.variable(name)
        payload = encode(values, chosen.encoding, chosen.range, compress=chosen.compress)
        state = self.state.model_copy(update=moment.model_dump())
        header = frame_header(state, name, variable.unit, variable.dims, values.shape, payload, chosen)
        return frame({**header, "subscription": None, "dropped": 0}, payload.data)

    def _payload(self, copy: Copy, chosen: Selection) -> tuple[tuple[int, ...], Payload]:
        key = copy.variable.name, copy.state.version, copy.other, chosen
        if key not in self._payloads:
            values = window_of(copy.values, chosen.level, chosen.window, chosen.stride)
            self._payloads[key] = values.shape, encode(values, chosen.encoding, chosen.range, compress=chosen.compress)
            if len(self._payloads) > _PAYLOADS:
                self._payloads.popitem(last=False)
        return self._payloads[key]


def frame_header(
    state: types.SessionState, name: str, unit: str, dims: Sequence[str], shape: tuple[int, ...], payload: Payload,
    chosen: Selection,
) -> dict[str, Any]:  # fmt: skip
    """Return the header of a frame; its dimensions are the last ones of the variable, as many as `shape` has."""
    return {
        "variable": name, "unit": unit, "dims": dims[len(dims) - len(shape) :], "shape": shape, "dtype": payload.dtype,
        "encoding": payload.encoding, "range": payload.range, "missing": 255 if payload.encoding == "byte" else "NaN",
        "compression": payload.compression, "length": len(payload.data), "session": state.session,
        "version": state.version, "step": state.step, "seconds": state.seconds, "time": state.time,
        "level": chosen.level, "window": chosen.window, "stride": chosen.stride, "less": chosen.less,
    }  # fmt: skip
