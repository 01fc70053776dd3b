"""Identical twin experiment: observations of a run with known factors, and the errors of the estimated factors."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.atomic import write_whole
from airshed.core.errors import CaseError
from airshed.core.report import Cell, Table
from airshed.grid import Grid
from airshed.inverse.fourdvar.control import Controls, ControlVector
from airshed.inverse.fourdvar.study import Outcome, Study, StudyObservations, check_case, open_study, window_length
from airshed.inverse.gradient import Progress
from airshed.models.air.case import Case
from airshed.models.air.landcover import land_fraction
from airshed.observations.observation import Observation, Observations

COLUMNS: Final = ("station", "lon", "lat", "species", "value", "unit", "time", "averaging", "error",
                  "representativeness")  # fmt: skip
WELL_OBSERVED: Final = 0.5
"""A control is well observed if its analysis error is below this fraction of its background error."""

_HOUR: Final = 3600.0
_LEAST_OF_MEAN: Final = 0.2


def truth(case: Case, control: ControlVector) -> Controls:
    """Return the controls of the true run: random factors from the seed of the case; increments are 0."""
    random, twin = np.random.default_rng([case.assimilation.twin.seed, 0]), case.assimilation.twin
    low, high = np.log([twin.minimum_factor, twin.maximum_factor]).tolist()
    return {
        block.name: np.exp(random.uniform(low, high, block.shape))
        if block.kind == "log-normal"
        else np.zeros(block.shape)
        for block in control.blocks
    }


def make_twin(case: Case, progress: Progress = lambda part, done: None) -> list[Path]:
    """Run the truth, and write its values at random stations, with noise, to the observation files of the case.

    sigma = noise x max(value, a fifth of the mean of all values of the species)
    raises  CaseError for a case without `assimilation.twin.stations`, or with patterns of file names
    """
    check_case(case)
    paths = _paths(case)
    twin, grid = case.assimilation.twin, case.make_grid()
    rows = _rows(case, _places(case, grid))
    observations = Observations.of(rows)
    with open_study(case, StudyObservations(observations, None, ()), progress) as study:
        exact = study.simulated(truth(case, study.control), observations)
        first = study.air_model.subdomain.ranks.rank == 0
    random = np.random.default_rng([twin.seed, 2])
    sigma = np.empty_like(exact)
    for numbers in observations.groups().values():
        sigma[numbers] = twin.noise * np.maximum(exact[numbers], _LEAST_OF_MEAN * exact[numbers].mean())
    values = exact + sigma * random.standard_normal(exact.size)
    lines = [_line(case, row, *pair) for row, *pair in zip(rows, values.tolist(), sigma.tolist(), strict=True)]
    assimilated = len(rows) * twin.stations // (twin.stations + twin.withheld)
    for path, mine in zip(paths, (lines[:assimilated], lines[assimilated:]), strict=False) if first else ():
        with write_whole(path) as part, part.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *mine])
    return paths


def twin_facts(study: Study, outcome: Outcome) -> tuple[dict[str, Cell], Table]:
    """Return the errors of factors before and after, as the root mean square of ln f - ln f_true.

    If the posterior was estimated, also the errors of well observed factors.
    """
    true, rows = truth(study.case, study.control), []
    for block in study.control.blocks:
        if block.kind == "log-normal":
            rows += _factors(study, outcome, block.name, true[block.name])
    errors = np.array([[np.log(row[4] / row[3]), np.log(row[5] / row[3])] for row in rows])
    facts: dict[str, Cell] = dict(_reduction("all factors", errors))
    if outcome.posterior is not None:
        well = np.array([row[7] < WELL_OBSERVED * row[6] for row in rows])
        facts |= {"well observed factors": int(well.sum()), **_reduction("well observed factors", errors[well])}
    columns = ("control", "part of day", "place", "truth", "before", "after", "sigma before", "sigma after")
    return facts, Table("Factors of the twin experiment", columns, rows)


def _reduction(name: str, errors: Array) -> dict[str, Cell]:
    if not errors.size:
        return {}
    before, after = np.sqrt(np.mean(errors**2, axis=0)).tolist()
    return {f"error of {name} before": before, f"error of {name} after": after,
            f"reduction of the error of {name} [%]": 100.0 * (1.0 - after / before)}  # fmt: skip


def _factors(study: Study, outcome: Outcome, name: str, true: Array) -> list[list[Any]]:
    block = next(each for each in study.control.blocks if each.name == name)
    section = next(each for each in study.case.assimilation.control if each.name == name)
    before, after = block.control(np.zeros(block.shape)), outcome.analysis.controls[name]
    spread = outcome.posterior.spread[name] if outcome.posterior else np.full(block.shape, np.nan)
    found: list[list[Any]] = []
    for at in np.ndindex(block.shape):
        place = section.regions[at[1]] if section.resolution == "region" else " ".join(map(str, at[1:]))
        numbers = [float(each[at]) for each in (true, before, after, block.covariance.sigma, spread)]
        found.append([name, at[0], place, *numbers])
    return found


def _paths(case: Case) -> list[Path]:
    observed, twin = case.assimilation.observations, case.assimilation.twin
    if not twin.stations:
        raise CaseError(
            "assimilation.twin.stations is 0: this case is not a twin experiment; give a number of stations"
        )
    files = [("stations", observed.stations), *([("withheld", observed.withheld)] if twin.withheld else [])]
    for key, names in files:
        if len(names) != 1 or "*" in names[0]:
            raise CaseError(f"assimilation.observations.{key} must name one file, which the twin experiment writes")
    return [case.path(names[0]) for _, names in files]


def _places(case: Case, grid: Grid) -> Array:
    """Return random locations on land, longitudes and latitudes (2, n), within the centres of the outer cells."""
    twin, land = case.assimilation.twin, land_fraction(grid)
    random, found = np.random.default_rng([twin.seed, 1]), []
    count = twin.stations + twin.withheld
    for _ in range(1000 * count):
        x, y = (random.uniform(axis[0], axis[-1], 1) for axis in (grid.x, grid.y))
        cell = int(np.abs(grid.y - y).argmin()), int(np.abs(grid.x - x).argmin())
        lon, lat = (float(each[0]) for each in grid.mapping.to_lonlat(x, y))
        if land[cell] > 0.5:
            found.append((round(lon, 3), round(lat, 3)))
        if len(found) == count:
            return np.array(found).T
    raise CaseError("the area has too little land for the stations of a twin experiment")


def _rows(case: Case, places: Array) -> list[Observation]:
    """Return hourly means of each observed species at each location, without values."""
    hours = int(window_length(case) // _HOUR)
    return [
        Observation(f"T{number:03d}", "surface", species, lon, lat, _HOUR * hour, _HOUR * (hour + 1), np.nan, "ppb",
                    1.0, "twin")
        for number, (lon, lat) in enumerate(places.T.tolist(), 1)
        for species in case.assimilation.observations.species
        for hour in range(hours)
    ]  # fmt: skip


def _line(case: Case, row: Observation, value: float, sigma: float) -> Sequence[object]:
    end = case.start + np.timedelta64(round(row.end), "s")
    time = f"{np.datetime_as_string(end, unit='s')}Z"
    return (row.station, row.lon, row.lat, row.species, f"{value:.5g}", row.unit, time, "1 h", f"{sigma:.3g}", 0)
