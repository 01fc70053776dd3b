"""A toy model of points whose fields have an axis: water in layers of soil."""

import numpy as np

from airshed.core.fields import FieldSpec
from airshed.formula import maximum, minimum, where
from airshed.grid.axes import Axes, Coordinate
from airshed.models.points.model import PointModel, PointValues
from airshed.parallel.domain import Domain
from airshed.process import Process, flux, switch, update, weather
from airshed.process.discovery import section_of
from airshed.process.points import CellFields, Points

LAYERS, CELLS = 3, 11


def fields(layers: int) -> CellFields:
    """Soil of some layers."""
    along = ("layer", "point")
    return CellFields(
        (FieldSpec("water", along, "mm", "Water", valid=(0.0, 1e4)), FieldSpec("leached", ("point",), "mm", "Leached")),
        (FieldSpec("capacity", along, "mm", "Water that it holds"),),
        (FieldSpec("rain", ("point",), "mm", "Rain"), FieldSpec("uptake", along, "mm", "Uptake")),
        {"layer": layers},
    )


class Infiltration(Process, section="infiltration", order=10):
    """Rain enters the first layer; roots take water from all layers, at most their content."""

    fallen = weather("rain", "mm")
    wanted = weather("uptake", "mm")
    taken = flux("mm", "Water that roots take", axis="layer")

    @update("water_1")
    def enters(water, fallen):
        return water[0] + fallen

    @update("water", "taken")
    def takes(water, wanted):
        taken = where(wanted > 0.1, minimum(wanted, water), 0.0)
        return water - taken, taken


class Drainage(Process, section="drainage", order=20):
    """Excess water of a layer flows into the next one."""

    drained = flux("mm", "Water that leaves the last layer")

    @update("water", "drained", "leached")
    def drains(water, capacity, leached, taken):
        left, inflow = [], 0.0
        for each, most in zip(water + 0.0 * taken, capacity, strict=True):
            excess = maximum(each + inflow - most, 0.0)
            left.append(each + inflow - excess)
            inflow = excess
        return left, inflow, leached + inflow


class Growth(Process, section="growth", order=30):
    """Off by default; its flux is an array of zeros."""

    on = switch(False, "Whether roots grow.")
    roots = flux("mm", "Roots", axis="layer")

    def is_on(self):
        return self.on

    @update("roots")
    def grow(water):
        return 0.5 * water


class Use(Process, section="use", order=40):
    """Reads the flux of a process that may be off."""

    @update("leached")
    def adds(leached, roots):
        return leached + sum(roots)


def points(*processes: type[Process], layers: int = LAYERS, **settings: dict[str, object]) -> Points:
    made = [each(section_of(each).model_validate(settings.get(each.section, {}))) for each in processes]
    return Points(made, fields(layers))


WATER = np.arange(float(LAYERS * CELLS)).reshape(LAYERS, CELLS)
WEATHER = {"rain": 12.0, "uptake_1": 0.5, "uptake_2": 0.5, "uptake_3": 0.5}


def model() -> PointModel:
    """Return a model whose start and constants are arrays along the axis."""
    domain = Domain.even(Axes((Coordinate("point", np.arange(float(CELLS)), {}),), divided=("point",)))
    values = PointValues({"water": WATER, "leached": 0.0}, {"capacity": 20.0}, lambda begins: WEATHER)
    return PointModel(points(Infiltration, Drainage), domain, values, step=1.0)
