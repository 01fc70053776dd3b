"""The problem EMEP of the Test Set for IVP Solvers by the compiled chemistry alone, to its published end state.

The conditions are those of the case emep-box; its formulas are evaluated here, without the box model.
"""

import csv
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.files import resource
from airshed.formula.parse import Formula, parse
from airshed.formula.quantity import evaluate_named
from airshed.kernels.backend import CellSolver, compile_chemistry
from airshed.kernels.cells import METHODS, Sources, Tableau, Tolerances
from airshed.kernels.cells.arguments import integrate_cells, series
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.verify.figure import Figure

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
START, END = 4 * HOUR, 116 * HOUR
JUMPS: Final = (0.0, 4 * HOUR, 20 * HOUR)
"""Times of the day at which the problem's formulas jump: humidity at midnight, the sun and deposition."""

LIMIT: Final = 1e-6
TIGHT: Final = 1e-8
ABUNDANT: Final = 1e3
"""Concentration [molecules cm-3] above which a species is compared: O(1D) ends at 8e-38, O(3P) at 4."""

_DEGREE: Final = 12
_LEAST: Final = 1e-4  # molecules cm-3
_FIRST, _GROWTH, _LONGEST = 300.0, 2.0, 2.0 * HOUR
_UNIT: Final = re.compile(r"\s*(molecules/cm3(/s)?|K|1/s)\s*$")


class Conditions:
    """Formulas of the problem [molecules, cm3, s, K]."""

    def __init__(self, folder: Path) -> None:
        document = tomllib.loads((folder / "conditions.toml").read_text(encoding="utf-8"))
        self.initial = {name: float(_read(text).evaluate({})) for name, text in document["initial"].items()}
        self.emitted, self.lost = tuple(document["emission"]), tuple(document["deposition"])
        tables: list[Mapping[str, Any]] = [document[name] for name in ("environment", "fixed", "rates")]
        self._formulas = {name: _read(text) for table in tables for name, text in table.items()}
        self._formulas["T"] = self._formulas.pop("temperature")
        for table in ("emission", "deposition"):
            self._formulas |= {f"{table} {name}": _read(text) for name, text in document[table].items()}

    def air(self, times: Array, middle: float) -> dict[str, npt.ArrayLike]:
        """Return the air at times (time,) of an interval; its middle determines the side of a jump."""
        values = self._at(times, middle)
        air = {name: values[name] for name in ("M", "O2", "N2", "H2O", "sec_zenith", "daylight")}
        return {**air, "TEMP": values["T"], "PRESS": 1e5, "SUN": values["daylight"] / values["sec_zenith"]}

    def sources(self, times: Array, middle: float) -> list[npt.ArrayLike]:
        """Return emissions, then loss rates."""
        values = self._at(times, middle)
        wanted = [f"emission {name}" for name in self.emitted] + [f"deposition {name}" for name in self.lost]
        return [values[name] for name in wanted]

    def _at(self, times: Array, middle: float) -> dict[str, Array]:
        return evaluate_named(self._formulas, {"t": middle + (1.0 - 1e-9) * (times - middle)})


def _read(text: str) -> Formula:
    return parse(_UNIT.sub("", text), where="conditions")


def intervals() -> Iterator[tuple[float, float]]:
    """Yield intervals without a jump; they grow from each jump, because the secant is steep near the horizon."""
    days = range(int(END / DAY) + 1)
    events = sorted(
        {START, END, *(day * DAY + jump for day in days for jump in JUMPS if START < day * DAY + jump < END)}
    )
    for begin, end in pairwise(events):
        yield from pairwise(graded(begin, end))


def graded(begin: float, end: float) -> list[float]:
    """Return edges whose distances grow from both ends, up to the longest."""
    edges, length, middle = [0.0], _FIRST, 0.5 * (end - begin)
    while edges[-1] + length < middle:
        edges.append(edges[-1] + length)
        length = min(length * _GROWTH, _LONGEST)
    return [*(begin + edge for edge in edges), begin + middle, *(end - edge for edge in reversed(edges))]


def end_state(network: ReactionNetwork, method: Tableau, relative: float, conditions: Conditions) -> Array:
    """Integrate the problem (species,) [molecules cm-3]; NaN if the end is not reached."""
    sources = Sources(*(tuple(map(network.index, names)) for names in (conditions.emitted, conditions.lost)))
    kernel = compile_chemistry(network)
    solver = CellSolver(kernel, method, Tolerances(relative, _LEAST), sources)
    y, step = np.zeros((len(network.species), 1)), np.zeros(1)
    for name, value in conditions.initial.items():
        y[network.index(name)] = value
    for begin, end in intervals():
        middle = 0.5 * (begin + end)
        air, given = partial(conditions.air, middle=middle), partial(conditions.sources, middle=middle)
        inputs = series(kernel, air, begin, end, degree=_DEGREE, sources=given)
        jump = any(abs(begin % DAY - each) < 1.0 for each in JUMPS)
        found = integrate_cells(solver, y, inputs, begin, end, first=0.0 if jump else step)
        y, step = found.y, found.step
        if found.reached[0] < end:
            return np.full(len(y), np.nan)
    return y[:, 0]


def published(folder: Path) -> dict[str, float]:
    """Return the end state by species."""
    with (folder / "reference.csv").open(encoding="utf-8", newline="") as file:
        return {row["species"]: float(row["end [molecules cm-3]"]) for row in csv.DictReader(file)}


def error(network: ReactionNetwork, method: Tableau, relative: float) -> float:
    """Return the largest relative error of the abundant species."""
    folder = resource("cases") / "emep-box"
    found = dict(zip(network.names, end_state(network, method, relative, Conditions(folder)), strict=True))
    wanted = published(folder)
    return float(np.max([abs(found[name] / end - 1.0) for name, end in wanted.items() if end > ABUNDANT]))


def check(network: ReactionNetwork | None = None, relative: float = TIGHT) -> list[Figure]:
    """Return the error of the end state with a tight tolerance."""
    tight = error(network or load_mechanism("emep"), METHODS["rodas4"], relative)
    what = f"greatest relative error of 64 species, rodas4 at {relative:g}"
    return [Figure("EMEP, 4 h to 116 h", what, tight, LIMIT, reference="Test Set for IVP Solvers 2.4")]
