"""Sensitivities of a receptor of a model of points, as a Dataset: which week's rain made this pasture."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from airshed.case.messages import explain
from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.core.version import __version__
from airshed.inverse.gradient import Progress
from airshed.inverse.options import DEFAULT, Options
from airshed.inverse.point_receptor import PointReceptor, PointReceptorCost, point_receptor
from airshed.inverse.point_report import write_sensitivity as write_sensitivity
from airshed.inverse.points import Fields, PointGradient, PointOptions, point_gradient
from airshed.models.points.model import PointModel
from airshed.models.points.sections import ReceptorSection
from airshed.parallel.communicator import world
from airshed.runtime.registry import load_case, model_kind

if TYPE_CHECKING:
    import xarray as xr

Array = npt.NDArray[Any]
Variable = tuple[tuple[str, ...], Array, dict[str, str]]

KIND: Final = "points"
"""The attribute `receptor_kind` of such a Dataset."""


def sensitivity(
    case: Any, receptor: Mapping[str, Any] | None = None, *, allow_code: bool = False, options: Options = DEFAULT,
    progress: Progress = lambda part, done: None,
) -> "xr.Dataset":  # fmt: skip
    """Return what a receptor measures and how it changes with all that the run is given, to first order.

        found = sensitivity("cases/queensland", {"field": "growth", "time": ["90 day", "180 day"]})
        found.contribution_rain.sum("cell").plot()

    receptor  see :mod:`airshed.inverse.point_receptor`; what it does not say is as the case has it
    returns   value            what is measured
              weather_X        (time, cell) by one unit of X more on each step of a period
              contribution_X   (time, cell) the same times the value of each step, for amounts such as rain
              initial_X        (cell,) by a field of the state at the start
              parameter_X      (cell,) by a parameter of a cell
              number_X         (cell,) by a number of a process that can be set, acting in that cell alone
    The run is in double precision. At kinks of updates the derivative is that of the branch taken.
    With several ranks (`mpiexec -n 4`) all of them call this, and all get the same.
    """
    loaded: Any = case if not isinstance(case, str | Path) else load_case(case)
    if options.frozen:
        raise CaseError(f"--frozen is for limiters of transport, which the model {loaded.model} does not have")
    section = loaded.receptor if receptor is None else _section({**loaded.receptor.to_mapping(), **receptor})
    if hasattr(loaded, "precision"):
        loaded = loaded.model_copy(update={"precision": "double"})
    loaded = loaded.allowing_code() if allow_code else loaded
    model: Any = model_kind(loaded.model).build(loaded, world(), lambda ranks: None).model
    try:
        asked = point_receptor(section, model, loaded.time.length.value)
        start = {spec.name: model.state[spec.name].copy() for spec in model.points.fields.state}
        found = point_gradient(
            model, PointReceptorCost(asked, model), asked.last + 1,
            PointOptions(
                int(loaded.adjoint.memory.value), _period(section, model), np.float32, progress,
                options.watcher.on_plan,
            ),
        )  # fmt: skip
        return _dataset(found, asked, model, loaded, _period(section, model), start)
    finally:
        model.close()


def _section(asked: Mapping[str, Any]) -> ReceptorSection:
    try:
        return ReceptorSection.model_validate(dict(asked))
    except ValidationError as error:
        raise CaseError(
            explain(error, ReceptorSection, dict(asked), lambda key: "receptor", None, "receptor")
        ) from error


def _period(section: ReceptorSection, model: PointModel) -> int:
    """Return the steps of a period of weather."""
    steps = round(section.every.value / model.step_length)
    if steps < 1 or abs(steps * model.step_length - section.every.value) > 1.0:
        raise CaseError(f"receptor.every = {section.every.text!r}: give a multiple of {model.step_length:g} s")
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
        each.name: (each.along, each.values, dict(each.attributes)) for each in model.domain.axes.coordinates
    }
    text = {"standard_name": "time", "long_name": "beginning of a period of weather", "bounds": "time_bounds"}
    coordinates["time"] = ("time", times[:-1].astype("datetime64[ns]"), text)
    return xr.Dataset(data, coordinates, attributes)


def _by_cell(found: PointGradient, receptor: PointReceptor, model: PointModel, start: Fields) -> dict[str, Variable]:
    """Return the sensitivity to the state at the start, to parameters, and to numbers, in each cell."""
    fields, dims, whole = model.points.fields, model.domain.axes.divided, model.domain.whole
    kinds = {
        "initial": (found.initial, fields.state, "at the start"), "parameter": (found.shared, fields.parameters, ""),
        "number": (found.shared, model.points.settable.values(), "in the cell"),
    }  # fmt: skip
    values = {"initial": start, "parameter": model.parameters, "number": model.points.numbers}
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
    """Return the sensitivity to the weather of each period, and what amounts contribute, in each cell."""
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
    text = f"sensitivity of {receptor.title} by {spec.text[:1].lower()}{spec.text[1:]} {where}".rstrip()
    return {"units": ratio_of_units(receptor.unit, spec.unit), "long_name": text, "field_units": spec.unit}


def ratio_of_units(unit: str, other: str) -> str:
    """Return the unit of a quotient, from units such as "kg ha-1"; a difference of degC is one of K."""
    powers: dict[str, int] = {}
    for text, sign in ((unit, 1), (other.replace("degC", "K"), -1)):
        for name, power in re.findall(r"([A-Za-z%]+)(-?\d+)?", text):
            powers[name] = powers.get(name, 0) + sign * int(power or 1)
    ordered: Iterable[tuple[str, int]] = sorted(powers.items(), key=lambda each: each[1] < 0)
    return " ".join(f"{name}{power if power != 1 else ''}" for name, power in ordered if power) or "1"
