"""Pasture model: daily steps of its processes on the land cells of a case."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.errors import CaseError
from airshed.core.fields import FieldRegistry
from airshed.core.report import Cell, Report, Table
from airshed.core.settings import settings_of
from airshed.grid.box import Box
from airshed.models.pasture.case import PastureCase, burnt_fraction, processes_in
from airshed.models.pasture.classes import cell_parameters
from airshed.models.pasture.fields import DAY, OPTIONAL_WEATHER, STATE, USUAL_START, cell_fields
from airshed.models.pasture.inputs import Inputs, open_inputs
from airshed.models.pasture.summary import summary
from airshed.models.points.model import PointModel, PointValues
from airshed.parallel.binding import cores_each
from airshed.parallel.communicator import Communicator
from airshed.parallel.domain import Domain
from airshed.process.points import Points
from airshed.program.stage import Program, cells
from airshed.runtime.registry import BuiltModel, Lever, ModelInfo, ModelKind

Values = Mapping[str, npt.ArrayLike]

EXPORTS: Final = (
    "standing_dry_matter", "green", "dead", "litter", "growth", "total_cover", "green_cover", "water_1", "water_2",
    "water_3", "runoff", "drainage", "soil_evaporation", "transpiration", "soil_water_index", "nitrogen_index",
    "growth_index", "utilisation",
)  # fmt: skip
"""Default output fields."""
_ATTRIBUTES: Final = ("source", "license", "comment", "synthetic")
"""Attributes of inputs that are copied to results."""


class PastureModel(PointModel):
    """Model of soil water and pasture in land cells."""

    program = Program("pasture", 1, (cells(0.0, 1.0),))

    def __init__(self, case: PastureCase, inputs: Inputs, domain: Domain, *, threads: int) -> None:
        fires = ["burnt_fraction"] if case.events.fire else []
        fields = cell_fields([name for name in OPTIONAL_WEATHER if name in (*inputs.names, *fires)])
        points = Points(processes_in(case), fields)
        self._stream = inputs.stream(
            domain.box, domain.ranks, reading=case.inputs.strategy,
            dtype=np.float64 if case.precision == "double" else np.float32,
        )  # fmt: skip
        self._initial = _initial(inputs, domain.box)
        soil, pasture, trees = map(domain.box.of, (inputs.soil_class, inputs.pasture_class, inputs.tree_basal_area))
        parameters = cell_parameters(
            inputs.land, soil, pasture, np.zeros_like(soil), tree_basal_area=trees, stocking=np.zeros(soil.shape)
        )
        values = PointValues(self._initial, parameters, self._days)
        self._events, self._calendar = case.events, inputs.calendar
        batch = self._block_days = inputs.readable.block_days
        self._first_day = inputs.calendar.number(case.start)
        super().__init__(points, domain, values, step=DAY, precision=case.precision, threads=threads, batch=batch)
        self.fields = FieldRegistry(
            replace(spec, written="all" if spec.name in EXPORTS else "named") for spec in self.fields.values()
        )
        self._area = np.cos(np.radians(domain.box.of(inputs.grid.cell_lat)))

    @property
    def start(self) -> dict[str, AnyArray]:
        """Initial state for balances, including the increments by which users have set state variables."""
        return {**self._initial, **{name: self._initial[name] + more for name, more in self.increments.items()}}

    def next_change(self) -> float:
        """Return the time at which the next block of weather begins: batches within a block read it without a copy."""
        day = self._first_day + round(self.seconds / DAY)
        return ((day // self._block_days + 1) * self._block_days - self._first_day) * DAY

    def summary(self, *, brief: bool = False) -> Report:
        """Return balances of water and dry matter, means over the land, and sources of inputs."""
        return summary(self, self._area, brief=brief)

    def close(self) -> None:
        """Stop the threads."""
        self._stream.close()
        super().close()

    def info(self) -> ModelInfo:
        """Return the processes, the groups of fields, the first displayed field, and the levers of scenarios."""
        return replace(super().info(), shown=("standing_dry_matter",), levers=LEVERS)

    def _days(self, begins: Sequence[float]) -> Values:
        """Return the weather of steps by their begin times [s], including fires."""
        first = self._first_day + round(begins[0] / DAY)
        values: dict[str, npt.ArrayLike] = dict(self._stream.days(first, len(begins)))
        if self._events.fire:
            dates = self._calendar.dates(range(first, first + len(begins)))
            values["burnt_fraction"] = burnt_fraction(self._events, dates)
        return values


def _initial(inputs: Inputs, box: Box) -> dict[str, AnyArray]:
    """Return the initial state of cells from the inputs or default values, and the sums of standing dry matter."""
    found = {name: box.of(np.asarray(values)) for name, values in inputs.initial.items()}
    usual = {spec.name: np.full(box.shape, USUAL_START.get(spec.name, 0.0)) for spec in STATE}
    state = {name: found.get(name, values) for name, values in usual.items()}
    green, dead = state["green_leaf"] + state["green_stem"], state["dead_leaf"] + state["dead_stem"]
    return {**state, "green": green, "dead": dead, "standing_dry_matter": green + dead}


def build(
    case: PastureCase, ranks: Communicator, check: Callable[[Communicator], None], inputs: Inputs | None = None
) -> BuiltModel:
    """Return the model of a case, see :class:`airshed.runtime.registry.ModelKind`.

    inputs  inputs that replace those in the folder of the case

    Raises CaseError for a case that does not begin at midnight, or is longer than the weather.
    """
    check(ranks)
    folder = case.path(case.inputs.folder)
    inputs = inputs or open_inputs(folder)

    # Check that the case begins at midnight, and that there is weather for all days.
    start = case.start.astype("datetime64[D]")
    if case.start != start:
        raise CaseError(f"time.start = {case.start}: a pasture case begins at midnight; omit the hour")
    inputs.calendar.check(inputs.calendar.number(start), ceil(case.time.length.value / DAY), str(folder))

    # Copy the source and the licence of the inputs to the results.
    attributes = {name: text for name, text in inputs.attributes.items() if name in _ATTRIBUTES}
    domain = replace(Domain.even(inputs.grid.axes, ranks), attributes=attributes)
    return BuiltModel(PastureModel(case, inputs, domain, threads=case.run.threads or cores_each(ranks)))


def describe(case: PastureCase) -> Report:
    """Return the report of `airshed show`: the land, and the classes with the sources of all numbers.

    Raises DataError for missing inputs.
    """
    inputs = open_inputs(case.path(case.inputs.folder))
    days = ceil(case.time.length.value / DAY)
    value = 4 * inputs.grid.cells * (1.0 + days * DAY // case.output[0].every.value)
    facts: dict[str, Cell] = {
        "grid": f"{inputs.grid.lon.size} x {inputs.grid.lat.size} cells, {inputs.grid.cells} of them on land",
        "weather": f"{inputs.calendar.first} to {inputs.calendar.last}: {', '.join(inputs.names)}",
        "steps": f"{days} days",
        "output": f"about {value * len(EXPORTS) / 1e6:.0f} MB for {len(EXPORTS)} fields",
        "source": inputs.attributes.get("source", ""),
        "license": inputs.attributes.get("license", ""),
    }
    program = PastureModel.program
    columns = ("stage", "part of the step", "values", "formula", "runs on")
    tables = [
        Table(f"A step: {program.name}, order {program.order}", columns, [stage.columns for stage in program.stages]),
        *_tables("soil", inputs.land.soils, inputs.soil_class),
        *_tables("pasture", inputs.land.pastures, inputs.pasture_class),
    ]
    return Report(case.title, tables, facts)


def _tables(kind: str, classes: Sequence[Any], of_cell: AnyArray) -> tuple[Table, Table]:
    """Return a table of the classes, and a table of their numbers with a column for each class."""
    cells = np.bincount(of_cell, minlength=len(classes))
    sources = [(number, each.text, each.source, int(cells[number])) for number, each in enumerate(classes)]
    names = [setting for setting in settings_of(type(classes[0])) if setting.key not in ("text", "source")]
    rows = [(each.key, each.unit, *(_cell(getattr(one, each.key)) for one in classes), each.text) for each in names]
    columns = ("parameter", "unit", *map(str, range(len(classes))), "meaning")
    return (
        Table(f"Classes of {kind}", ("class", "description", "source of its numbers", "cells"), sources),
        Table(f"Parameters of {kind}, by class", columns, rows),
    )


def _cell(value: Any) -> Cell:
    return ", ".join(f"{each:g}" for each in value) if isinstance(value, tuple) else value


LEVERS: Final = MappingProxyType(
    {
        "grazing.stocking_rate": Lever("Stocking rate", hint="Animals on a hectare."),
        "grazing.supplement": Lever("Supplement", hint="Animals receive supplementary feed."),
        "trees.on": Lever("Trees", hint="Trees take water from the soil."),
        "nitrogen.limited": Lever("Lack of nitrogen", hint="Nitrogen limits the growth of grass."),
        "fire.litter_burns": Lever("Fires of litter", hint="A fire burns the litter as well."),
    }
)
"""Settings that scenarios change; rain is an input and has no setting."""

KIND = ModelKind(
    PastureCase, build, describe=describe, info=PastureModel.info,
    gradients="airshed.inverse.receptors.point_sensitivity",
)  # fmt: skip
