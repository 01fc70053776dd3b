"""Process of the pasture benchmark: it runs one of the functions below with the values of its request."""

import resource
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.case.case import RunCase
from airshed.models.pasture.fields import DAY
from airshed.models.pasture.inputs import Inputs, open_inputs
from airshed.models.pasture.inputs.store import save
from airshed.models.pasture.inputs.synthetic import synthetic_inputs
from airshed.models.pasture.model import EXPORTS, PastureModel, build
from airshed.models.pasture.weather.calendar import Calendar
from airshed.parallel.communicator import Communicator
from airshed.runtime.registry import load_case
from airshed.runtime.simulation import Simulation

Answer = dict[str, Any]

CASE: Final = "queensland"
_FIRST_DAY: Final = "1925-01-01"
_GIGABYTE: Final = 1e9 if sys.platform == "darwin" else 1e6  # units of memory of the system


def measured(request: Mapping[str, Any], ranks: Communicator) -> Answer:
    """Return the measurements for a request; see :mod:`benchmarks.started`."""
    return {"queensland": queensland, "australia": australia}[request["case"]](request, ranks)


def queensland(request: Mapping[str, Any], ranks: Communicator) -> Answer:
    """Return times of a year [s]: with the results of days in memory, for the cells alone, and with results on disk.

    Inputs are prepared beforehand in the request's folder, and the kernel is compiled.
    """
    folder = Path(request["folder"])
    prepared = save(open_inputs(load_case(CASE).path("inputs")), folder / "inputs")
    case = load_case(CASE, [f'inputs.folder="{folder / "inputs"}"', "time.length=365 day", "output.0.every=1 day"])
    _year(case, ranks, keep=False)
    found: Answer = {"year": [], "compute": [], "written": [], "stored": prepared.bytes}
    for turn in range(request["rounds"]):
        began = time.perf_counter()
        _year(case, ranks, keep=True)
        found["year"].append(time.perf_counter() - began)
        model = _year(case, ranks, keep=False)
        found["compute"].append(model.timings().parts["cells"])
        found["written"].append(_written(case, folder / str(turn)))
        found["cells"] = model.domain.cells
    return found


def australia(request: Mapping[str, Any], ranks: Communicator) -> Answer:
    """Return the wall time of the set-up and of each batch of days [s] with synthetic weather, and the memory [GB]."""
    began = time.perf_counter()
    days = request["days"]
    calendar = Calendar(np.datetime64(_FIRST_DAY), days)
    inputs = synthetic_inputs("australia", request["spacing"], calendar)
    case = load_case(CASE, [f"time.start={_FIRST_DAY}", f"time.length={days} day"])
    model = _built(case, ranks, inputs)
    blocks = [[time.perf_counter() - began, 0]]
    for first, last in _batches(model, days):
        start = time.perf_counter()
        model.step_through([number * DAY for number in range(first + 1, last + 1)])
        blocks.append([time.perf_counter() - start, last - first])
    parts = dict(model.timings().parts)
    sane = all(bool(np.isfinite(model.view(name)).all()) for name in EXPORTS)
    model.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _GIGABYTE
    return {"cells": model.domain.cells, "blocks": blocks, "parts": parts, "memory": memory, "sane": sane}


def _built(case: Any, ranks: Communicator, inputs: Inputs | None = None) -> PastureModel:
    model = build(case, ranks, lambda ranks: None, inputs).model
    assert isinstance(model, PastureModel)
    return model


def _year(case: RunCase, ranks: Communicator, *, keep: bool) -> PastureModel:
    """Open the inputs of a case, and run its year."""
    model = _built(case, ranks)
    if keep:
        model.record({name: np.empty((365, *model.domain.box.shape), np.float32) for name in EXPORTS})
    for first, last in _batches(model, 365):
        model.step_through([number * DAY for number in range(first + 1, last + 1)])
    model.close()
    return model


def _batches(model: PastureModel, days: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last day of batches, as in a simulation without output."""
    while (first := model.steps) < days:
        yield first, min(first + model.batch_limits.batch, round(model.next_change() / DAY), days)


def _written(case: RunCase, folder: Path) -> float:
    """Return the time [s] of a year with exports written each day, from the preparation until all are on disk."""
    began = time.perf_counter()
    with Simulation(case, output=folder) as simulation:
        simulation.run()
    return time.perf_counter() - began
