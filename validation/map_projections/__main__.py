"""Run west-europe on its own grid, on that grid shifted by half a cell, and on a Lambert grid; write the differences.

python -m validation.map_projections FOLDER        three runs of two days in FOLDER: a minute on one core
"""

import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

import airshed
from airshed.core.arrays import Array
from airshed.evaluate.run_fields import RunFields
from airshed.observations.selection import bilinear

HERE = Path(__file__).parent
CASE = HERE.parents[1] / "cases" / "west-europe"
SPECIES = ("O3", "NO2")
EDGE = 0.75
"""Distance of compared points from the edge of the shipped grid [degrees]: three of its cells."""
GRIDS: dict[str, dict[str, Any]] = {
    "shipped": {"area": {"lon": [0, 10], "lat": [45, 55]}, "spacing": "0.25 deg"},
    "shifted": {"area": {"lon": [0.125, 9.875], "lat": [45.125, 54.875]}, "spacing": "0.25 deg"},
    "lambert": {
        "projection": {"kind": "lambert", "lon": 5, "lat": 50, "parallels": [47, 53]},
        "area": {"x": ["-320 km", "320 km"], "y": ["-540 km", "540 km"]},
        "spacing": {"lon": "16 km", "lat": "27 km"},
    },
}


def case_on(grid: dict[str, Any]) -> airshed.Case:
    """Return west-europe on another grid."""
    settings = tomllib.loads((CASE / "case.toml").read_text(encoding="utf-8"))
    layers = settings["grid"]["layers"]
    return airshed.Case.from_dict({**settings, "grid": {**grid, "layers": layers}, "run": {"threads": 1}}, base=CASE)


def run(case: airshed.Case, folder: Path) -> float:
    """Run a case into a new folder; return the processor time of a step and cell [ns]."""
    with airshed.Simulation(case, output=folder) as simulation:
        simulation.run(until=case.start + np.timedelta64(1, "h"))  # the first steps read files and fill caches
        steps, begin = simulation.model.steps, time.process_time()
        simulation.run()
        seconds, taken = time.process_time() - begin, simulation.model.steps - steps
        return 1e9 * seconds / taken / float(np.prod(simulation.model.grid.shape))


def at_points(folder: Path, species: str, lon: Array, lat: Array) -> Array:
    """Return the hourly mixing ratio at the ground at points (time, point) [ppb], bilinear in the run's own grid."""
    with RunFields(folder) as fields:
        [source] = [each for each in fields.sources[species] if not each.is_mean]
        every = (slice(None), slice(None), slice(None))
        values = source.read(0, *every).reshape(source.times.size, -1)
        columns, weights = bilinear(fields.grid, lon, lat)
    return 1e9 * np.sum(values[:, columns] * weights, axis=-1)


def points(case: airshed.Case) -> tuple[Array, Array]:
    """Return the cell centres of the shipped grid that are between cell centres of all grids, away from the edge."""
    grid, others = case.make_grid(), [case_on(each).make_grid() for each in GRIDS.values()]
    west, east, south, north = grid.bounds
    lon, lat = grid.lon.ravel(), grid.lat.ravel()
    inside = (lon > west + EDGE) & (lon < east - EDGE) & (lat > south + EDGE) & (lat < north - EDGE)
    for each in others:
        x, y = each.locate(lon, lat)
        inside &= (each.x[0] <= x) & (x <= each.x[-1]) & (each.y[0] <= y) & (y <= each.y[-1])
    return lon[inside], lat[inside]


def there_and_back(values: Array, case: airshed.Case, other: airshed.Case, lon: Array, lat: Array) -> Array:
    """Return a field of all cells (time, cell) interpolated to another grid and back to points (time, point)."""
    own, grid = case.make_grid(), other.make_grid()
    columns, weights = bilinear(own, grid.lon.ravel(), grid.lat.ravel())
    moved = np.sum(values[:, columns] * weights, axis=-1)
    columns, weights = bilinear(grid, lon, lat)
    return np.asarray(np.sum(moved[:, columns] * weights, axis=-1))


def row(name: str, species: str, found: Array, reference: Array) -> str:
    """Return the differences from a reference as a row of a table."""
    away = found - reference
    correlation = np.corrcoef(found.ravel(), reference.ravel())[0, 1]
    return (
        f"| {species} | {name} | {reference.mean():.2f} | {away.mean():+.3f} | {np.abs(away).mean():.2f} | "
        f"{np.sqrt((away**2).mean()):.2f} | {correlation:.4f} |"
    )


def compare(folder: Path) -> list[str]:
    """Return the table of differences from the shipped grid."""
    cases = {name: case_on(grid) for name, grid in GRIDS.items()}
    lon, lat = points(cases["shipped"])
    every = [each.ravel() for each in (cases["shipped"].make_grid().lon, cases["shipped"].make_grid().lat)]
    rows = []
    for species in SPECIES:
        fields = {name: at_points(folder / name, species, lon, lat) for name in GRIDS}
        whole = at_points(folder / "shipped", species, *every)
        smooth = there_and_back(whole, cases["shipped"], cases["lambert"], lon, lat)
        rows.append(row("the Lambert grid", species, fields["lambert"], fields["shipped"]))
        rows.append(row("the shipped grid, shifted by half a cell", species, fields["shifted"], fields["shipped"]))
        rows.append(row("no other run: interpolated to the Lambert grid and back", species, smooth, fields["shipped"]))
    head = "| species | compared with the shipped grid | mean [ppb] | bias | mean difference | RMSE | correlation |"
    return [f"{lon.size} points, 25 hours.\n", head, "|---|---|---|---|---|---|---|", *rows]


def scores(folder: Path) -> list[str]:
    """Return the scores of the three runs at the stations of the case."""
    found = airshed.evaluate([folder / name for name in GRIDS], CASE / "observations").statistics
    pooled = found[(found.group == "pooled") & found.species.isin(SPECIES)]
    lines = ["| species | grid | pairs | MB [µg/m³] | RMSE [µg/m³] | R |", "|---|---|---|---|---|---|"]
    for each in pooled.itertuples():
        lines.append(f"| {each.species} | {each.run} | {each.N} | {each.MB:+.2f} | {each.RMSE:.2f} | {each.R:.3f} |")
    return lines


def main(folder: Path) -> None:
    """Run, compare, and write README.md."""
    cost = {name: run(case_on(grid), folder / name) for name, grid in GRIDS.items()}
    costs = ["| grid | processor time of a cell and step [ns] |", "|---|---|"]
    costs += [f"| {name} | {each:.0f} |" for name, each in cost.items()]
    costs.append(f"\nThe Lambert grid takes {cost['lambert'] / cost['shipped']:.2f} of the time of the shipped grid.")
    text = (HERE / "README.in.md").read_text(encoding="utf-8")
    for name, lines in (("compared", compare(folder)), ("scores", scores(folder)), ("costs", costs)):
        text = text.replace(f"<!-- {name} -->", "\n".join(lines))
    (HERE / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
