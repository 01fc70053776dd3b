"""Sensitivities of a receptor to all that a run is given, as a Dataset."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airshed.adjoint.gradient import DEFAULT, Gradient, Options, Progress, gradient
from airshed.adjoint.receptor import MEASURES, Receptor, ReceptorCost
from airshed.air.case import Case
from airshed.air.model import AirModel
from airshed.runtime.registry import load_case

if TYPE_CHECKING:
    import xarray as xr

    from airshed.air.case_weather import Given

Array = npt.NDArray[np.float64]

_HOUR: Final = 3600.0


def sensitivity(
    case: Case | str | Path, receptor: Mapping[str, Any], meteorology: "Given" = None,
    initial: "xr.Dataset | None" = None, *, allow_code: bool = False, options: Options = DEFAULT,
    progress: Progress = lambda part, done: None,
) -> "xr.Dataset":  # fmt: skip
    """Return what a receptor measures and how it changes with all that the run is given.

        found = sensitivity("cases/west-europe", {"species": "O3", "lon": 6.96, "lat": 50.94, "time": "24 h"})
        found.emission.sel(species="NO").sum("hour").plot()

    receptor  see :mod:`airshed.adjoint.receptor`
    returns   value     what is measured
              initial   (species, level, lat, lon) per mixing ratio at the beginning of the run, its spin-up and all
              emission  (species, hour, lat, lon) per mol released into the lowest layer, evenly over an hour
              boundary  (species, level) per mixing ratio at the sides of the area;  top (species,) above it
              rate      (reaction,) per relative change of a rate constant
    The derivatives are exact: those of the steps that ran, to round-off. Winds and temperatures stay as they are.
    With several ranks (`mpiexec -n 4`) all of them call this, and all get the same.
    """
    loaded: Any = case if not isinstance(case, str | Path) else load_case(case)
    asked = Receptor.of(receptor, loaded.time.length.value)
    about: dict[str, Any] = {}

    def cost(model: AirModel) -> ReceptorCost:
        model.fields.select([asked.species], where="receptor.species")
        about.update(model=model, start=model.case.start)
        return ReceptorCost(asked, model.whole)

    found = gradient(
        loaded, cost, meteorology=meteorology, initial=initial, allow_code=allow_code, options=options,
        progress=progress,
    )  # fmt: skip
    return _dataset(found, asked, about["model"])


def _dataset(found: Gradient, receptor: Receptor, model: AirModel) -> "xr.Dataset":
    import xarray as xr

    unit, adjoints = MEASURES[receptor.measure], found.adjoints
    hours, emission = per_hour(adjoints.sources)
    network, grid, start = model.network, model.whole, model.case.start
    coordinates = {
        "species": list(network.names), "level": grid.level, "lat": grid.lat, "lon": grid.lon,
        "hour": start + (np.array(hours) * 1e9).astype("timedelta64[ns]"),
        "reaction": [reaction.label for reaction in network.reactions],
    }  # fmt: skip
    per_ratio = "h" if unit.endswith("h") else "1"
    variables = {
        "value": ((), found.value, unit, f"{receptor.measure} of {receptor.species} at the receptor"),
        "initial": (("species", "level", "lat", "lon"), adjoints.initial, per_ratio, "by initial mixing ratio"),
        "emission": (
            ("species", "hour", "lat", "lon"), emission[:, :, 0], f"{unit} mol-1", "by release into the lowest layer"
        ),
        "boundary": (("species", "level"), adjoints.outside, per_ratio, "by mixing ratio at the sides of the area"),
        "top": (("species",), adjoints.top, per_ratio, "by mixing ratio above the area"),
        "rate": (("reaction",), adjoints.reactions, unit, "by relative change of a rate constant"),
    }  # fmt: skip
    data = {
        name: xr.DataArray(values, dims=dims, attrs={"units": units, "long_name": text if name == "value" else
                           f"sensitivity of {receptor.measure} of {receptor.species} at the receptor {text}"})
        for name, (dims, values, units, text) in variables.items()
    }  # fmt: skip
    attributes = {"title": model.case.title, "receptor": str(receptor), "steps": found.steps}
    return xr.Dataset(data, coordinates, attributes)


def per_hour(sources: Mapping[float, Array]) -> tuple[list[float], Array]:
    """Return hours by their beginnings [s], and what a mole released evenly in each is worth.

    sources  [s/mol] of rates in periods of an hour or less, by their beginnings: (species, level, lat, lon)
    returns  per mol, (species, hour, level, lat, lon)
    """
    begins = sorted(sources)
    hours = sorted({begin // _HOUR * _HOUR for begin in begins})
    totals = {hour: sum(sources[begin] for begin in begins if begin // _HOUR * _HOUR == hour) for hour in hours}
    return hours, np.stack([np.asarray(totals[hour]) / _HOUR for hour in hours], axis=1)
