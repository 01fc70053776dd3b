"""What `airshed show` tells of a pasture case: its land, its classes with the source of every number, what it takes."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

from airshed.core.report import Cell, Report, Table
from airshed.core.settings import settings_of
from airshed.models.pasture.case import PastureCase
from airshed.models.pasture.fields import DAY
from airshed.models.pasture.inputs import open_inputs
from airshed.models.pasture.model import EXPORTS, PastureModel

_WORDS = ("text", "source")


def describe(case: PastureCase) -> Report:
    """Return facts and tables on a case; raises DataError for inputs that are not there."""
    inputs = open_inputs(case.path(case.inputs.folder))
    days = ceil(case.time.length.value / DAY)
    value = 4 * inputs.grid.cells * (1.0 + days * DAY // case.output[0].every.value)
    facts: dict[str, Cell] = {
        "grid": f"{inputs.grid.lon.size} x {inputs.grid.lat.size} cells, {inputs.grid.cells} of them on land",
        "weather": f"{inputs.calendar.first} to {inputs.calendar.last}: {', '.join(inputs.source.names)}",
        "steps": f"{days} days",
        "output": f"about {value * len(EXPORTS) / 1e6:.0f} MB for {len(EXPORTS)} fields",
        "source": inputs.attributes.get("source", ""),
        "license": inputs.attributes.get("license", ""),
    }
    program = PastureModel.program
    columns = ("stage", "part of the step", "values", "formula", "runs on")
    tables = [
        Table(f"A step: {program.name}, order {program.order}", columns, [stage.columns for stage in program.stages]),
        *_tables("soil", inputs.land.soils, np.bincount(inputs.soil_class, minlength=len(inputs.land.soils))),
        *_tables(
            "pasture", inputs.land.pastures, np.bincount(inputs.pasture_class, minlength=len(inputs.land.pastures))
        ),
    ]
    return Report(case.title, tables, facts)


def _tables(kind: str, classes: Sequence[Any], cells: Any) -> tuple[Table, Table]:
    """Return what the classes are, and their numbers, a column each."""
    told = [(number, each.text, each.source, int(cells[number])) for number, each in enumerate(classes)]
    names = [setting for setting in settings_of(type(classes[0])) if setting.key not in _WORDS]
    rows = [(each.key, each.unit, *(_cell(getattr(one, each.key)) for one in classes), each.text) for each in names]
    columns = ("parameter", "unit", *map(str, range(len(classes))), "meaning")
    return (
        Table(f"Classes of {kind}", ("class", "what", "source of its numbers", "cells"), told),
        Table(f"Parameters of {kind}, by class", columns, rows),
    )


def _cell(value: Any) -> Cell:
    return ", ".join(f"{each:g}" for each in value) if isinstance(value, tuple) else value
