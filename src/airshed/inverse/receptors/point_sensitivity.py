"""Sensitivities of a receptor of a point model, as a Dataset and a report: the rain of which week grew this pasture?

A receptor is the mean or sum of a field over cells, at one time or over a range of times:

    {"field": "standing_dry_matter"}                                       the mean of all cells at the end
    {"field": "growth", "lon": [148, 150], "lat": [-27, -26], "time": ["90 day", "180 day"]}
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.core.report import Cell, Report, Table
from airshed.core.text import duration
from airshed.core.version import __version__
from airshed.grid.land import within
from airshed.grid.world import find_location
from airshed.inverse.gradient import DEFAULT, Options, Progress
from airshed.inverse.receptors.point_gradient import Fields, PointGradient, point_gradient
from airshed.inverse.receptors.receptor import notify_default_time, receptor_section
from airshed.inverse.receptors.results import write_files
from airshed.kernels.cells.formulas import StepValues
from airshed.models.points.model import PointModel
from airshed.models.points.sections import ReceptorSection
from airshed.parallel.communicator import world
from airshed.runtime.registry import load_case, model_kind

if TYPE_CHECKING:
    import xarray as xr


_ALL: Final = "all cells"


@dataclass(frozen=True)
class PointReceptor:
    """Receptor of a point model.

    place   description of the cells
    first, last  numbers of the first and last steps of the receptor
    weights weights of the cells of the whole domain (cells,)
    """

    field: str
    unit: str
    text: str
    place: str
    first: int
    last: int
    measure: str
    weights: AnyArray

    @property
    def title(self) -> str:
        """Description of the field and the cells."""
        return f"{self.text[:1].lower()}{self.text[1:]}, {self.measure} of {self.place}"


def point_receptor(section: ReceptorSection, model: PointModel, end: float) -> PointReceptor:
    """Return the receptor of a case that ends at a time [s]; raises CaseError for unknown names."""
    if section.field is None:
        raise CaseError("receptor.field is missing; name a state variable or a flux")
    (spec,) = model.fields.select([section.field], where="receptor.field")
    first, last = _steps(section, model.step_length, end)
    place, inside = _cells(section, model)
    located = _coordinates(model)  # cells have equal sizes, in degrees if they are located
    areas = 1.0 if located is None else np.cos(np.radians(located[0]))
    weights = np.where(inside, areas, 0.0)
    weights = weights / weights.sum() if section.measure == "mean" else inside.astype(np.float64)
    return PointReceptor(spec.name, spec.unit, spec.text, place, first, last, section.measure, weights)


class PointReceptorCost:
    """A receptor as a cost, see :class:`airshed.inverse.receptors.point_gradient.PointCost`."""

    def __init__(self, receptor: PointReceptor, model: PointModel) -> None:
        self.fields: Sequence[str] = (receptor.field,)
        self._receptor, self._domain = receptor, model.domain
        self._weights = model.domain.box.of(receptor.weights)
        self._share = 1.0 / (receptor.last - receptor.first + 1)
        self._sum = 0.0

    @property
    def value(self) -> float:
        """Mean over the steps of the receptor, in the unit of the field."""
        return self._sum * self._share

    def measure(self, first: int, rows: Mapping[str, AnyArray]) -> None:
        """Add the steps of the receptor; the bits do not depend on the number of ranks."""
        (values,) = rows.values()
        for row, counts in zip(values, self._counts(first, len(values)), strict=True):
            if counts:
                self._sum += float(self._domain.total(self._weights * row)[()])

    def gradient(self, first: int, steps: int) -> Mapping[str, StepValues]:
        """Return the weights of cells on the steps of the receptor, 0 on others."""
        weights = self._weights * self._share
        rows = StepValues(np.stack([np.zeros_like(weights), weights]), self._counts(first, steps).astype(np.int64))
        return {self._receptor.field: rows}

    def _counts(self, first: int, steps: int) -> npt.NDArray[np.bool_]:
        numbers = np.arange(first, first + steps)
        return (numbers >= self._receptor.first) & (numbers <= self._receptor.last)


def _steps(section: ReceptorSection, length: float, end: float) -> tuple[int, int]:
    """Return the numbers of the steps that end at the first and at the last time."""
    times = (end, end) if section.time is None else (section.time[0].value, section.time[1].value)
    if not 0.0 < times[1] <= end:
        raise CaseError(f"receptor.time: {duration(times[1])} is not within the case, 0 to {duration(end)}")
    first, last = (round(time / length) for time in times)
    if any(abs(number * length - time) > 1.0 for number, time in zip((first, last), times, strict=True)):
        raise CaseError(f"receptor.time is within a step; give multiples of {duration(length)}")
    return max(first, 1) - 1, last - 1


def _cells(section: ReceptorSection, model: PointModel) -> tuple[str, npt.NDArray[np.bool_]]:
    """Return a description of the cells of the receptor, and a mask of them in the whole domain."""
    shape = model.domain.axes.whole.shape
    if section.cells:
        inside = np.zeros(shape, np.bool_)
        invalid = [each for each in section.cells if not 0 <= each < inside.size]
        if invalid:
            raise CaseError(f"receptor.cells: there is no cell {invalid[0]}; cells are 0 to {inside.size - 1}")
        inside.reshape(-1)[list(section.cells)] = True
        return f"{len(set(section.cells))} of {inside.size} cells", inside
    if section.place is None and section.lon is None:
        return _ALL, np.ones(shape, np.bool_)
    found = _coordinates(model)
    if found is None:
        raise CaseError("receptor: cells of this model have no latitude and longitude; give receptor.cells")
    lat, lon = found
    if section.place is not None:
        place = find_location(section.place, "receptor.place")
        name, (west, east), (south, north) = place.name, place.lon, place.lat
    else:
        assert section.lon is not None
        assert section.lat is not None
        (west, east), (south, north), place = section.lon, section.lat, None
        name = f"{_ends(south, north)} N, {_ends(west, east)} E"
    if place is not None and place.outline:
        rows, columns = np.unique(lat), np.unique(lon)
        mask = within(place.outline, rows, columns)
        inside = mask[np.searchsorted(rows, lat), np.searchsorted(columns, lon)]
    elif west == east and south == north:
        inside = _nearest(lat, lon, south, west)
    else:
        inside = (lat >= south) & (lat <= north) & (lon >= west) & (lon <= east)
    if not inside.any():
        raise CaseError(f"receptor: {name} contains no cell of the case")
    return name, inside


def _nearest(lat: AnyArray, lon: AnyArray, south: float, west: float) -> npt.NDArray[np.bool_]:
    """Return a mask of the cell that contains a point; empty if the point is in no cell."""
    distance = np.hypot(lat - south, (lon - west) * np.cos(np.radians(south)))
    sizes = [np.diff(np.unique(each)).min(initial=np.inf) for each in (lat, lon)]
    found = np.zeros(lat.shape, np.bool_)
    at = int(np.argmin(distance))
    found[at] = bool(abs(lat[at] - south) <= 0.51 * sizes[0] and abs(lon[at] - west) <= 0.51 * sizes[1])
    return found


def _coordinates(model: PointModel) -> tuple[AnyArray, AnyArray] | None:
    """Return the latitude and longitude of each cell of the whole domain."""
    own = {each.name: each.values for each in model.domain.axes.coordinates}
    return (own["lat"], own["lon"]) if {"lat", "lon"} <= own.keys() else None


def _ends(first: float, last: float) -> str:
    return f"{first:g}" if first == last else f"{first:g} to {last:g}"


_MOST_ROWS: Final = 10
_KINDS: Final = {"initial": "state at the start", "parameter": "parameter of cells", "setting": "setting of a process"}


def write_sensitivity(found: "xr.Dataset", folder: Path) -> Report:
    """Write a Dataset of sensitivities, its table and its summary into a folder; return the summary."""
    report = point_report(found)
    columns = ["kind", "name", "from", "to", f"change by 10 % more [{found['value'].attrs['units']}]"]
    write_files(found, [columns, *_rows(found)], report, folder)
    return report


def contributions(found: "xr.Dataset") -> dict[str, Any]:
    """Return the contributions of weather amounts in each period, summed over cells (time,)."""
    names = [str(name) for name in found.data_vars if str(name).startswith("contribution_")]
    sums = {
        name.removeprefix("contribution_"): found[name].values.reshape(found.sizes["time"], -1).sum(1, np.float64)
        for name in names
    }
    return dict(sorted(sums.items(), key=lambda each: -np.abs(each[1]).sum()))


def periods(found: "xr.Dataset") -> list[tuple[str, str]]:
    """Return the first and the last day of each period."""
    begins, ends = (found["time_bounds"].values[:, column] for column in (0, 1))
    lasts = ends - np.timedelta64(1, "s")
    return [(str(first)[:10], str(last)[:10]) for first, last in zip(begins, lasts, strict=True)]


def point_report(found: "xr.Dataset") -> Report:
    """Return the value of the receptor, the contributions of weather, and the most important inputs."""
    unit = str(found["value"].attrs["units"])
    amounts, named = contributions(found), periods(found)
    tables = [
        Table(
            "Contribution of the weather, to first order", ("weather", unit),
            [(name.replace("_", " "), float(values.sum())) for name, values in amounts.items()],
            note="10 % less changes the receptor by -10 % of the contribution",
        )
    ] if amounts else []  # fmt: skip
    chosen = ["rain"] if "rain" in amounts else list(amounts)[:1]
    for name in chosen:
        values, total = amounts[name], float(np.abs(amounts[name]).sum()) or 1.0
        first = np.argsort(-np.abs(values), kind="stable")[:_MOST_ROWS]
        rows: list[tuple[Cell, ...]] = [
            (*named[each], float(values[each]), 100.0 * abs(float(values[each])) / total) for each in first
        ]
        title = f"Periods with the largest contributions of {name.replace('_', ' ')}"
        tables.append(Table(title, ("from", "to", unit, "share [%]"), rows))
    for kind, text in _KINDS.items():
        rows = list[tuple[Cell, ...]](each for each in _relative(found, kind) if each[1])[:_MOST_ROWS]
        if rows:
            tables.append(Table(f"Change by 10 % more of each {text}, everywhere", (text, unit), rows))
    facts = {"receptor": str(found.attrs["receptor_title"]), "value": f"{float(found['value']):.6g} {unit}"}
    return Report(str(found.attrs["title"]), tables, facts)


def _relative(found: "xr.Dataset", kind: str) -> list[tuple[str, float]]:
    """Return the change of the receptor by 10 % more of each input of a kind, the largest first."""
    names = [str(name) for name in found.data_vars if str(name).startswith(f"{kind}_")]
    rows = [(name.removeprefix(f"{kind}_"), 0.1 * float(found[name].attrs["relative_sum"])) for name in names]
    return sorted(rows, key=lambda each: -abs(each[1]))


def _rows(found: "xr.Dataset") -> Iterator[list[str]]:
    """Yield the changes by 10 % more weather in each period, and by 10 % more of each other input."""
    for name, values in contributions(found).items():
        for (first, last), value in zip(periods(found), values, strict=True):
            yield ["weather", name, first, last, f"{0.1 * value:.7g}"]
    for kind in _KINDS:
        for name, value in _relative(found, kind):
            yield [kind, name, "", "", f"{value:.7g}"]


Variable = tuple[tuple[str, ...], AnyArray, dict[str, str]]

KIND: Final = "points"
"""Value of the attribute `receptor_kind` of these Datasets."""


def sensitivity(
    case: Any, receptor: Mapping[str, Any] | None = None, *, allow_code: bool = False, options: Options = DEFAULT,
    progress: Progress = lambda part, done: None,
) -> "xr.Dataset":  # fmt: skip
    """Return the value of a receptor and its sensitivities to all inputs of the run.

    The run is in double precision. Where an update is not differentiable, the derivative is that of the branch taken.
    With several ranks (`mpiexec -n 4`) all of them call this, and all return the same.

    Parameters
    ----------
    case : case, str or Path
        Case of a point model, or its folder.
    receptor : mapping, optional
        Settings of `[receptor]`, see :mod:`airshed.inverse.receptors.point_sensitivity`; the rest is from the case.

    Returns
    -------
    xarray.Dataset
        `value` of the receptor; `weather_X` (time, cell), per unit of X on each step of a period; `contribution_X`
        (time, cell), the same times the value of X, for amounts such as rain; `initial_X` (cell,), to a variable of the
        initial state; `parameter_X` (cell,), to a parameter of a cell; `setting_X` (cell,), to a setting of a
        process in that cell.

    Examples
    --------
    >>> found = sensitivity("cases/queensland", {"field": "growth", "time": ["90 day", "180 day"]})
    >>> found.contribution_rain.sum("cell").plot()
    """
    loaded: Any = case if not isinstance(case, str | Path) else load_case(case)
    if options.frozen:
        raise CaseError(f"--frozen applies to limiters of transport, which the model {loaded.model} does not have")
    section: ReceptorSection = loaded.receptor
    if receptor is not None:
        section = receptor_section(ReceptorSection, {**section.to_mapping(), **receptor})
    if hasattr(loaded, "precision"):
        loaded = loaded.model_copy(update={"precision": "double"})
    loaded = loaded.allowing_code() if allow_code else loaded
    model: Any = model_kind(loaded.model).build(loaded, world(), lambda ranks: None).model
    try:
        measured = point_receptor(section, model, loaded.time.length.value)
        if section.time is None:
            notify_default_time(loaded.time.length.value, options.watcher.on_notice)
        start = {spec.name: model.state[spec.name].copy() for spec in model.points.fields.state}
        found = point_gradient(
            model, PointReceptorCost(measured, model), measured.last + 1,
            memory=int(loaded.adjoint.memory.value), period=_period(section, model), dtype=np.float32,
            progress=progress, planned=options.watcher.on_plan,
        )  # fmt: skip
        return _dataset(found, measured, model, loaded, _period(section, model), start)
    finally:
        model.close()


def _period(section: ReceptorSection, model: PointModel) -> int:
    """Return the number of steps of a period of weather."""
    steps = round(section.every.value / model.step_length)
    if steps < 1 or abs(steps * model.step_length - section.every.value) > 1.0:
        raise CaseError(f"receptor.every = {section.every.text!r}: give a multiple of {duration(model.step_length)}")
    return steps


def _dataset(
    found: PointGradient, receptor: PointReceptor, model: PointModel, case: Any, period: int, start: Fields
) -> "xr.Dataset":
    import xarray as xr

    dims = model.domain.axes.divided
    attributes = {
        "Conventions": "CF-1.11", "source": f"Airshed {__version__}", "title": f"{receptor.title}: {case.title}",
        "receptor_kind": KIND, "receptor_field": receptor.field, "receptor_place": receptor.place,
        "receptor_measure": receptor.measure, "receptor_title": receptor.title, "case_title": case.title,
        "receptor_time": [(step + 1) * model.step_length for step in (receptor.first, receptor.last)],
        "start": str(case.start), "steps": receptor.last + 1, **model.domain.attributes,
    }  # fmt: skip
    measured = {"units": receptor.unit, "long_name": receptor.title}
    data: dict[str, Any] = {
        "value": ((), found.value, measured),
        "receptor_weight": (dims, receptor.weights, {"units": "1", "long_name": "weight of a cell in the receptor"}),
        **_by_cell(found, receptor, model, start),
        **_by_period(found, receptor, model),
    }
    periods = -(-(receptor.last + 1) // period)
    bounds = np.minimum(np.arange(periods + 1) * period, receptor.last + 1) * model.step_length
    times = case.start + bounds.astype("timedelta64[s]")
    data["time_bounds"] = (("time", "bound"), np.stack([times[:-1], times[1:]], axis=1).astype("datetime64[ns]"))
    coordinates: dict[str, Any] = {
        each.name: (each.dims, each.values, dict(each.attributes)) for each in model.domain.axes.coordinates
    }
    text = {"standard_name": "time", "long_name": "beginning of a period of weather", "bounds": "time_bounds"}
    coordinates["time"] = ("time", times[:-1].astype("datetime64[ns]"), text)
    return xr.Dataset(data, coordinates, attributes)


def _by_cell(found: PointGradient, receptor: PointReceptor, model: PointModel, start: Fields) -> dict[str, Variable]:
    """Return the sensitivities to the initial state, to parameters and to numbers, in each cell."""
    fields, dims, whole = model.points.fields, model.domain.axes.divided, model.domain.whole
    kinds = {
        "initial": (found.initial, fields.state, "at the start"), "parameter": (found.shared, fields.parameters, ""),
        "setting": (found.shared, model.points.settable.values(), "in the cell"),
    }  # fmt: skip
    values = {"initial": start, "parameter": model.parameters, "setting": model.points.numbers}
    data: dict[str, Variable] = {}
    for kind, (sensitivities, specs, where) in kinds.items():
        for spec in specs:
            if spec.name in sensitivities:
                data[f"{kind}_{spec.name}"] = dims, whole(sensitivities[spec.name]), _attributes(receptor, spec, where)
                value = np.broadcast_to(values[kind][spec.name], model.domain.box.shape)
                relative = float(model.domain.total(np.ravel(value * sensitivities[spec.name]))[()])
                data[f"{kind}_{spec.name}"][2]["relative_sum"] = relative  # type: ignore[assignment]
    return data


def _by_period(found: PointGradient, receptor: PointReceptor, model: PointModel) -> dict[str, Variable]:
    """Return the sensitivities to the weather of each period, and the contributions of amounts, in each cell."""
    specs = {spec.name: spec for spec in model.points.fields.weather}
    dims, whole = ("time", *model.domain.axes.divided), model.domain.whole
    data: dict[str, Variable] = {
        f"weather_{name}": (dims, whole(values), _attributes(receptor, specs[name], "on each step of a period"))
        for name, values in found.weather.items()
    }
    for name, values in found.amounts.items():
        text = f"{specs[name].text} times the sensitivity of {receptor.title}, summed over the steps of a period"
        data[f"contribution_{name}"] = dims, whole(values), {"units": receptor.unit, "long_name": text}
    return data


def _attributes(receptor: PointReceptor, spec: FieldSpec, where: str) -> dict[str, str]:
    text = f"sensitivity of {receptor.title} to {spec.text[:1].lower()}{spec.text[1:]} {where}".rstrip()
    return {"units": unit_ratio(receptor.unit, spec.unit), "long_name": text, "field_units": spec.unit}


def unit_ratio(unit: str, other: str) -> str:
    """Return the unit of a quotient of units such as "kg ha-1"; a difference in degC is in K."""
    powers: dict[str, int] = {}
    for text, sign in ((unit, 1), (other.replace("degC", "K"), -1)):
        for name, power in re.findall(r"([A-Za-z%]+)(-?\d+)?", text):
            powers[name] = powers.get(name, 0) + sign * int(power or 1)
    ordered: Iterable[tuple[str, int]] = sorted(powers.items(), key=lambda each: each[1] < 0)
    return " ".join(f"{name}{power if power != 1 else ''}" for name, power in ordered if power) or "1"
