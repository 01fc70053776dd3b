"""Buckets of soil on which grass grows, a model of points: three processes of kind `update`, in steps of a day."""

from typing import Any, Literal

import numpy as np
from pydantic import create_model

from airshed.case.case import RunCase
from airshed.core.fields import FieldSpec
from airshed.core.settings import Whole, setting
from airshed.formula import exp, maximum, minimum
from airshed.grid.axes import Axes, Coordinate
from airshed.models.points.model import PointModel, PointValues
from airshed.parallel.domain import Domain
from airshed.process import Process, flux, number, switch, update, weather
from airshed.process.discovery import sections_of
from airshed.process.points import CellFields, Points
from airshed.runtime.registry import BuiltModel, ModelKind


class Rain(Process, section="rain", order=10):
    """Rain fills the bucket; the excess runs off."""

    fallen = weather("rain", "mm")
    runoff = flux("mm", "Water that runs off in a day.")

    @update("water", "runoff")
    def fills(water, fallen, depth):
        return minimum(water + fallen, depth), maximum(water + fallen - depth, 0.0)


class Drainage(Process, section="drainage", order=20):
    """Water above field capacity drains, by a fraction per day."""

    share = number(0.5, "Share that drains in a day.", settable=True, ge=0.0, le=1.0)
    drained = flux("mm", "Water that drains in a day.")

    @update("water", "drained")
    def drains(water, capacity, share):
        drained = share * maximum(water - capacity, 0.0)
        return water - drained, drained


class Growth(Process, section="growth", order=30):
    """Grass grows by the water that has drained past its roots, the less the more of it there is."""

    on = switch(True, "Whether it grows.")

    def is_on(self):
        return self.on

    @update("biomass")
    def grows(biomass, drained, water):
        return biomass + 0.125 * water * exp(-0.01 * biomass) + drained


PROCESSES = Growth, Drainage, Rain
RAIN, DAY = (0.0, 60.0, 10.0, 0.0, 25.0), 86400.0


class _Case(RunCase):
    model: Literal["bucket"] = "bucket"
    points: Whole = setting(7, "How many there are.", ge=1)
    batch: Whole = setting(4, "Days in one call.", ge=1)


BucketCase: Any = create_model("BucketCase", __base__=_Case, **sections_of(PROCESSES))


def field(name: str, unit: str) -> FieldSpec:
    return FieldSpec(name, ("point",), unit, f"The {name}")


FIELDS = CellFields(
    (field("water", "mm"), field("biomass", "g m-2")), (field("capacity", "mm"), field("depth", "mm")),
    (field("rain", "mm"),),
)  # fmt: skip


def build(case: Any, ranks: Any, check: Any) -> BuiltModel:
    check(ranks)
    domain = Domain.even(Axes((Coordinate("point", np.arange(float(case.points)), {}),), divided=("point",)), ranks)
    processes = [each(getattr(case, each.section)) for each in PROCESSES]
    capacity = domain.box.of(np.linspace(20.0, 50.0, case.points))
    values = PointValues(
        {"water": 30.0, "biomass": 100.0}, {"capacity": capacity, "depth": 80.0},
        lambda begins: {"rain": np.array([RAIN[int(seconds / DAY) % len(RAIN)] for seconds in begins])},
    )  # fmt: skip
    return BuiltModel(PointModel(Points(processes, FIELDS), domain, values, step=DAY, batch=case.batch))


KIND = ModelKind(BucketCase, build)
