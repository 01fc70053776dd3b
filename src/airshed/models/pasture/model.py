"""The pasture model: its processes on the land cells of a case, day by day."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.fields import FieldRegistry
from airshed.core.report import Report
from airshed.grid.box import Box
from airshed.models.pasture.case import PastureCase, processes_in
from airshed.models.pasture.events import burnt_fraction
from airshed.models.pasture.fields import DAY, OPTIONAL_WEATHER, STATE, USUAL_START, cell_fields
from airshed.models.pasture.inputs import Inputs
from airshed.models.pasture.parameters import cell_parameters
from airshed.models.pasture.summary import summary
from airshed.models.points.model import PointModel, PointValues
from airshed.parallel.domain import Domain
from airshed.process.points import Points
from airshed.program.stage import Program, cells

Array = npt.NDArray[Any]
Values = Mapping[str, npt.ArrayLike]

EXPORTS: Final = (
    "standing_dry_matter", "green", "dead", "litter", "growth", "total_cover", "green_cover", "water_1", "water_2",
    "water_3", "runoff", "drainage", "soil_evaporation", "transpiration", "soil_water_index", "nitrogen_index",
    "growth_index", "utilisation",
)  # fmt: skip
"""Fields that are written unless a case names others."""


class PastureModel(PointModel):
    """Soil water and pasture of land cells."""

    program = Program("pasture", 1, (cells(0.0, 1.0),))

    def __init__(self, case: PastureCase, inputs: Inputs, domain: Domain, *, threads: int) -> None:
        fires = ["burnt_fraction"] if case.events.fire else []
        fields = cell_fields([name for name in OPTIONAL_WEATHER if name in (*inputs.source.names, *fires)])
        points = Points(processes_in(case), fields)
        self._stream = inputs.stream(
            domain.box, domain.ranks, reading=case.inputs.strategy,
            dtype=np.float64 if case.precision == "double" else np.float32,
        )  # fmt: skip
        self._initial = _initial(inputs, domain.box)
        values = PointValues(self._initial, _parameters(inputs, domain.box), self._weather_of(case, inputs))
        batch = self._block_days = inputs.source.block_days
        self._first_day = inputs.calendar.number(case.start)
        super().__init__(points, domain, values, step=DAY, precision=case.precision, threads=threads, batch=batch)
        self.fields = FieldRegistry(
            replace(spec, written="all" if spec.name in EXPORTS else "named") for spec in self.fields.values()
        )
        self._area = np.cos(np.radians(domain.box.of(inputs.grid.cell_lat)))

    @property
    def start(self) -> dict[str, Array]:
        """The state at the start, with what was set since as if it had been there then: what balances count from."""
        return {**self._initial, **{name: self._initial[name] + more for name, more in self.was_set.items()}}

    def next_change(self) -> float:
        """The time at which another block of weather begins: a batch of days within one reads it as it is."""
        day = self._first_day + round(self.seconds / DAY)
        return ((day // self._block_days + 1) * self._block_days - self._first_day) * DAY

    def summary(self, *, brief: bool = False) -> Report:
        """Balances of water and dry matter, means over the land, and what its input says of itself."""
        return summary(self, self._area, brief=brief)

    def close(self) -> None:
        """End the threads."""
        self._stream.close()
        super().close()

    def _weather_of(self, case: PastureCase, inputs: Inputs) -> Callable[[Sequence[float]], Values]:
        """Return what gives the weather of the steps that begin at some times [s]: that of inputs, and fires."""

        def weather(begins: Sequence[float]) -> Values:
            first = self._first_day + round(begins[0] / DAY)
            values: dict[str, npt.ArrayLike] = dict(self._stream.days(first, len(begins)))
            if case.events.fire:
                days = range(first, first + len(begins))
                values["burnt_fraction"] = burnt_fraction(case.events, inputs.calendar.dates(days))
            return values

        return weather


def _initial(inputs: Inputs, box: Box) -> dict[str, Array]:
    """Return the state of cells at the start: what the inputs have, else what is usual; and the sums of what stands."""
    found = {name: box.of(np.asarray(values)) for name, values in inputs.initial.items()}
    usual = {spec.name: np.full(box.shape, USUAL_START.get(spec.name, 0.0)) for spec in STATE}
    state = {name: found.get(name, values) for name, values in usual.items()}
    green, dead = state["green_leaf"] + state["green_stem"], state["dead_leaf"] + state["dead_stem"]
    return {**state, "green": green, "dead": dead, "standing_dry_matter": green + dead}


def _parameters(inputs: Inputs, box: Box) -> Values:
    """Return the parameters of cells."""
    soil, pasture, trees = map(box.of, (inputs.soil_class, inputs.pasture_class, inputs.tree_basal_area))
    return cell_parameters(
        inputs.land, soil, pasture, np.zeros_like(soil), tree_basal_area=trees, stocking=np.zeros(box.shape)
    )
