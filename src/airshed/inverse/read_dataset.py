"""What numbers and fields of processes are worth to a receptor, as variables of its Dataset."""

from typing import TYPE_CHECKING

from airshed.inverse.gradient import Gradient
from airshed.inverse.receptor import MEASURES, Receptor
from airshed.kernels.operators import Operator, OperatorField
from airshed.models.air.model import AirModel

if TYPE_CHECKING:
    import xarray as xr


def read_variables(found: Gradient, receptor: Receptor, model: AirModel) -> "dict[str, xr.DataArray]":
    """Return `number`, by names of settable numbers, and `relative_...` of fields of cells and the ground."""
    import xarray as xr

    read, unit = found.adjoints.read, MEASURES[receptor.measure]
    if read is None:
        return {}
    names = list(read.numbers)
    units = ("name", [f"{unit} / ({model.settable[name].unit})" for name in names])
    data = {
        "number": xr.DataArray(
            [read.numbers[name] for name in names], {"name": names, "number_units": units}, ["name"],
            attrs={"long_name": f"sensitivity of {receptor.title} by a number of a process"},
        )
    }  # fmt: skip
    for operator in model.parts.processes.operators:
        for field in operator.fields:
            if field.name in read.relative and field.shape in ("cells", "ground"):
                dims, coordinates = _dimensions(operator, field, model)
                text = f"sensitivity of {receptor.title} by a relative change of {field.name}"
                attributes = {"units": unit, "long_name": text}
                relative = read.relative[field.name]
                data[f"relative_{field.name}"] = xr.DataArray(relative, coordinates, dims, attrs=attributes)
    return data


def _dimensions(operator: Operator, field: OperatorField, model: AirModel) -> tuple[list[str], dict[str, list[str]]]:
    dims = ["level", "lat", "lon"] if field.shape == "cells" else ["lat", "lon"]
    if not field.species:
        return dims, {}
    own = f"{field.name}_species"
    return [own, *dims], {own: [model.network.names[number] for number in operator.species]}
