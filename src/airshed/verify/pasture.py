"""Pasture in cells with random soils, plants, states and weather: invariants of all cells, and derivatives of a day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.formula import evaluate_all
from airshed.kernels.cells.formulas import Precision
from airshed.models.pasture import processes
from airshed.models.pasture.classes import Land, Pasture, Soil, Trees, cell_parameters
from airshed.models.pasture.fields import LAYERS, PARAMETERS, POOLS, STATE, TOTALS, WEATHER, cell_fields
from airshed.models.pasture.summary import DRY_MATTER, WATER
from airshed.process.discovery import processes_of, section_of
from airshed.process.points import Points
from airshed.verify.figure import Figure

OPTIONS: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "as published": {"humidity": {"given": "deficit"}},
    "all options": {
        "runoff": {"cover": "yield"},
        "soil_evaporation": {"method": "ritchie", "potential": "priestley_taylor"},
        "nitrogen": {"limited": False},
        "death": {"drought": "strict"},
        "resets": {"nitrogen": "coded"},
        "grazing": {"on": True},
        "basal_area": {"varies": True},
        "erosion": {"on": True},
    },
}
"""Settings of processes: the published ones, and all other options."""

_FIRST: Final = np.datetime64("2001-01-01")
_TOTALS: Final = tuple(spec.name for spec in TOTALS)


def model(options: str) -> Points:
    """Return the model with some of OPTIONS."""
    settings = OPTIONS[options]
    chosen = processes_of(processes)
    humid = "vapour_pressure_deficit" if "humidity" in settings else "vapour_pressure"
    acting = [each(section_of(each).model_validate(settings.get(each.section, {}))) for each in chosen]
    return Points(acting, cell_fields((humid, "burnt_fraction")))


@dataclass(frozen=True)
class Cells:
    """Random cells: parameters and state (cell), weather (day, cell) or (day), by name."""

    parameters: Mapping[str, Array]
    state: Mapping[str, Array]
    weather: Mapping[str, Array]

    @property
    def days(self) -> int:
        """Number of days of the weather."""
        return len(self.weather["rain"])

    def day(self, number: int) -> dict[str, Array]:
        """Return all values of a day, with the initial state."""
        return {**self.parameters, **self.state, **{name: each[number] for name, each in self.weather.items()}}

    def smooth_day(self, number: int) -> dict[str, Array]:
        """Return all values of a day away from switches: cells with mobile water, and higher limits of trees."""
        moving = np.all(
            [
                (self.parameters[f"thickness_{n}"] == 0.0)
                | (self.parameters[f"drained_upper_limit_{n}"] - self.parameters[f"lower_limit_{n}"] > 1.0)
                for n in LAYERS
            ],
            axis=0,
        )
        found = {name: each[moving] if each.ndim else each for name, each in self.day(number).items()}
        return {name: 1.1 * each if name.startswith("tree_limit") else each for name, each in found.items()}


def random_cells(count: int, days: int, seed: int) -> Cells:
    """Return cells with random classes, and weather with a wide range of rain and temperature."""
    random = np.random.default_rng(seed)
    soils, pastures = zip(*((_soil(random), _pasture(random)) for _ in range(count)), strict=True)
    woods = [Trees(root_depth=random.uniform(0.0, 2000.0), root_uptake=(random.uniform(0.0, 1.0),) * 4)]
    number = np.arange(count)
    parameters = cell_parameters(
        Land(soils, pastures, woods), number, number, np.zeros(count, int),
        tree_basal_area=np.maximum(random.uniform(-5.0, 5.0, count), 0.0), stocking=random.uniform(0.0, 2.0, count),
    )  # fmt: skip
    return Cells(parameters, _state(random, parameters, count), _weather(random, days, count))


def _soil(random: np.random.Generator) -> Any:
    layers = int(random.integers(1, 5))
    limits = np.sort(random.uniform(0.0, 0.6, (4, layers)), axis=0)
    if random.random() < 0.1:
        limits[:] = limits[0]  # no mobile water
    named = dict(zip(("air_dry", "lower_limit", "drained_upper_limit", "saturation"), limits.tolist(), strict=True))
    return Soil(
        thickness=random.uniform(20.0, 800.0, layers).tolist(), **named,
        drainage_share=random.uniform(0.0, 1.0, layers).tolist(), runoff_depth=random.uniform(50.0, 2000.0),
        slope=random.uniform(0.0, 0.3), erodibility=random.uniform(0.0, 1.0),
        curve_number=random.uniform(0.0, 100.0), curve_number_reduction=random.uniform(0.0, 60.0),
        curve_number_cover=random.uniform(0.0, 1.0), evaporation_limit=random.uniform(0.0, 10.0),
        first_stage_evaporation=random.uniform(0.0, 12.0), second_stage_evaporation=random.uniform(1.0, 6.0),
        diffusivity=random.uniform(0.0, 200.0), diffusivity_slope=random.uniform(0.0, 40.0),
        albedo=random.uniform(0.05, 0.3),
    )  # fmt: skip


_RANGES: Final = {
    "transpiration_yield": (100.0, 3000.0), "radiation_yield": (100.0, 3000.0), "runoff_yield": (100.0, 3000.0),
    "runoff_power": (0.5, 2.0), "transpiration_efficiency": (0.0, 40.0), "tussock_growth": (0.0, 20.0),
    "nitrogen_residual": (0.0, 10.0), "nitrogen_per_100mm": (0.0, 60.0), "nitrogen_limit": (5.0, 60.0),
    "nitrogen_no_growth": (0.2, 0.7), "nitrogen_full_growth": (0.5, 1.0), "nitrogen_most": (1.0, 3.0),
    "no_growth_water": (0.0, 0.5), "full_green_water": (0.0, 1.0), "dry_detachment": (0.0, 0.05),
    "wet_detachment": (0.0, 0.05), "dry_start": (1.0, 200.0), "wet_start": (200.0, 366.0),
    "nitrogen_reset": (1.0, 366.0), "summer_start": (1.0, 366.0), "summer_end": (1.0, 366.0),
    "height_per_yield": (0.0, 0.5), "basal_area_efficiency": (0.0, 10.0), "basal_area": (0.0, 9.0),
    "root_depth": (0.0, 2000.0),
}  # fmt: skip
_DAYS: Final = ("dry_start", "wet_start", "nitrogen_reset", "summer_start", "summer_end")


def _pasture(random: np.random.Generator) -> Any:
    drawn = {name: random.uniform(*ends) for name, ends in _RANGES.items()}
    drawn |= {name: float(round(drawn[name])) for name in _DAYS}
    return Pasture(root_uptake=random.uniform(0.0, 1.0, 4).tolist(), **drawn)


def _state(random: np.random.Generator, parameters: Mapping[str, Array], count: int) -> dict[str, Array]:
    """Return states with water between air-dry and saturation, some empty pools, and some sums that are 0."""
    state = {spec.name: np.zeros(count) for spec in STATE}
    for layer in LAYERS:
        least, most = parameters[f"air_dry_{layer}"], parameters[f"saturation_{layer}"]
        state[f"water_{layer}"] = least + random.uniform(0.0, 1.0, count) * (most - least)
    for name in (*POOLS, "litter"):
        state[name] = random.choice([0.0, 10.0, 1000.0], count) * random.uniform(0.0, 4.0, count)
    for name, most_of_it in {
        "basal_area": 9.0, "nitrogen_transpiration": 300.0, "nitrogen_growth": 5000.0, "height": 800.0,
        "summer_evapotranspiration": 500.0, "last_summer_basal_area": 3.0, "eaten_since_reset": 500.0,
        "grown_since_reset": 3000.0, "evaporation_since_rain": 30.0, "stage_1": 6.0, "stage_2": 20.0,
        "stage_2_days": 20.0,
    }.items():  # fmt: skip
        state[name] = random.uniform(0.0, most_of_it, count)
    for name in ("nitrogen_transpiration", "nitrogen_growth", "eaten_since_reset", "grown_since_reset", "height"):
        state[name] *= random.random(count) < 0.8
    state["live_weight"] = random.uniform(100.0, 600.0, count)
    return state


def _weather(random: np.random.Generator, days: int, count: int) -> dict[str, Array]:
    shape, dates = (days, count), _FIRST + np.arange(days)
    years = dates.astype("datetime64[Y]").astype("datetime64[D]")
    coldest = random.uniform(-8.0, 28.0, shape)
    found = {
        "rain": np.where(random.random(shape) < 0.25, random.gamma(0.7, 20.0, shape), 0.0),
        "pan_evaporation": random.uniform(0.0, 15.0, shape),
        "radiation": random.uniform(0.0, 33.0, shape),
        "max_temperature": coldest + random.uniform(0.0, 22.0, shape),
        "min_temperature": coldest,
        "vapour_pressure": random.uniform(0.0, 35.0, shape),
        "vapour_pressure_deficit": random.uniform(0.0, 60.0, shape),
        "burnt_fraction": np.where(random.random(shape) < 0.005, random.uniform(0.0, 1.0, shape), 0.0),
        "day_of_year": (dates - years).astype(np.float64) + 1.0,
        "month": dates.astype("datetime64[M]").astype(np.float64) % 12 + 1,
    }
    return found


SMOOTH: Final = (
    *(spec.name for spec in STATE if spec.name not in _TOTALS),
    *(spec.name for spec in PARAMETERS if spec.unit != "d"),
    *(spec.name for spec in WEATHER if spec.name not in ("day_of_year", "month", "prescribed_litter")),
)
"""Inputs with derivatives: all except dates."""


# Invariants of cells with random soils, plants and weather, and derivatives of a day.


_CLOSED: Final[Mapping[Precision, float]] = {"double": 1e-9, "single": 1e-4}
_FULL: Final[Mapping[Precision, float]] = {"double": 1e-10, "single": 1e-3}
_STORES: Final = (*(f"water_{layer}" for layer in LAYERS), *POOLS, "litter")


def check(*, full: bool = False) -> list[Figure]:
    """Return the figures of properties, balances, precisions and derivatives; `full` has more cells and days."""
    cells = random_cells(2000 if full else 300, 1096 if full else 400, seed=16)
    found = []
    for options in OPTIONS:
        points = model(options)
        for precision in ("double", "single"):
            found += check_properties(points, cells, options, precision)
        found += [check_twin(points, cells, options), *check_derivatives(points, cells, options)]
    return found


def check_properties(points: Points, cells: Cells, options: str, precision: Precision) -> list[Figure]:
    """Return the figures of negative, oversaturated and non-finite values, and of the balances of the run."""
    step = points.compiled(precision)
    names = [name for name in points.outputs if name in cells.state]
    each = {name: np.empty((cells.days, cells.state["litter"].size)) for name in names}
    step.advance({**cells.parameters, **cells.weather, **points.numbers, **cells.state}, cells.days, records=each)
    step.close()
    return figures_of(each, cells, f"pasture {options}, {precision}", precision)


def figures_of(each: Mapping[str, Array], cells: Cells, name: str, precision: Precision) -> list[Figure]:
    """Return the figures of a run; `each` has the states (day, cell) by name."""
    least = min(float(np.min(each[store])) for store in _STORES)
    over = max(float((each[f"water_{n}"] - cells.parameters[f"saturation_{n}"]).max()) for n in LAYERS)
    strange = sum(int(np.count_nonzero(~np.isfinite(values))) for values in each.values())
    now = {**cells.state, **{state: values[-1] for state, values in each.items()}}
    figures = [
        Figure(name, "least store [mm, kg/ha]", least, 0.0, at_least=True, reference="0"),
        Figure(name, "water above saturation [mm]", over, _FULL[precision], reference="0"),
        Figure(name, "values that are no numbers", strange, 0, reference="0"),
    ]
    for balance in (WATER, DRY_MATTER):
        residual = float(balance.relative_residual(now, cells.state).max())
        figures.append(Figure(name, f"balance of {balance.text}, worst cell", residual, _CLOSED[precision], False, "0"))
    return figures


def check_twin(points: Points, cells: Cells, options: str) -> Figure:
    """Return the largest relative difference of compiled code from NumPy after a day."""
    values, step = {**cells.day(0), **points.numbers}, points.compiled()
    by_code, by_numpy = step(values), points.reference(values)
    step.close()
    error = [
        float((np.abs(one - other) / (1.0 + np.abs(other))).max())
        for one, other in zip(by_code, by_numpy.values(), strict=True)
    ]
    return Figure(f"pasture {options}", "compiled code against NumPy", max(error), 1e-11, reference="round-off")


def check_derivatives(points: Points, cells: Cells, options: str) -> list[Figure]:
    """Return the dot-product error of tangent and adjoint of a day, and the error of the tangent against differences.

    Differences are relative to the inputs: an input that is 0, such as an empty pool, is not differentiable and is not
    changed.
    """
    values, random = {**cells.day(1), **points.numbers}, np.random.default_rng(4)
    wrt = [name for name in SMOOTH if name in points.inputs]
    changes = {name: random.normal(size=values["rain"].shape) * (1.0 + np.abs(values[name])) for name in wrt}
    seeds = [random.normal(size=values["rain"].shape) for _ in points.outputs]
    adjoints = evaluate_all(
        points.adjoint(wrt).outputs, {**values, **{f"adjoint_{n}": each for n, each in enumerate(seeds)}}
    )
    product = dot_product(_tangents(points, values, changes), seeds, adjoints, list(changes.values()))
    values = {**cells.smooth_day(1), **points.numbers}
    changes = {name: random.normal(size=values["rain"].shape) * 1e-2 * np.abs(values[name]) for name in wrt}
    error, decided = compare_with_differences(points, values, changes, _tangents(points, values, changes))
    name = f"pasture {options}"
    return [
        Figure(name, "dot product of tangent and adjoint", product, 1e-12, reference="round-off"),
        Figure(name, "tangent against differences", error, 1e-5, reference="0"),
        Figure(name, "fraction of values with smooth differences", decided, 0.9, at_least=True, reference="1"),
    ]


def _tangents(points: Points, values: Mapping[str, Array], changes: Mapping[str, Array]) -> list[Array]:
    moved = {f"{name}_tangent": each for name, each in changes.items()}
    return evaluate_all(points.tangent(list(changes)).outputs, {**values, **moved})


def dot_product(
    tangents: Sequence[Array], seeds: Sequence[Array], adjoints: Sequence[Array], changes: Sequence[Array]
) -> float:  # fmt: skip
    """Return the largest difference of <w, M d> and <M^T w, d> in a cell, relative to the sum of magnitudes."""
    left = np.sum([one * other for one, other in zip(tangents, seeds, strict=True)], axis=0)
    right = np.sum([one * other for one, other in zip(adjoints, changes, strict=True)], axis=0)
    size = np.sum([np.abs(one * other) for one, other in zip(adjoints, changes, strict=True)], axis=0)
    return float((np.abs(left - right) / (1.0 + size)).max())


def compare_with_differences(
    points: Points, values: Mapping[str, Array], changes: Mapping[str, Array], tangents: Sequence[Array]
) -> tuple[float, float]:
    """Return the largest error of tangents against smooth central differences, and the fraction of smooth ones.

    Differences of one width and of half of it agree if there is no switch within them.
    """
    wide, narrow = (_differences(points, values, changes, width) for width in (2e-4, 1e-4))
    error, smooth = 0.0, 0
    for tangent, one, other in zip(tangents, wide, narrow, strict=True):
        size = 1e-3 + np.abs(other)
        same = np.abs(one - other) < 1e-6 * size
        smooth += int(np.count_nonzero(same))
        error = max(error, float((np.abs(tangent - other) / size)[same].max(initial=0.0)))
    return error, smooth / (len(tangents) * tangents[0].size)


def _differences(
    points: Points, values: Mapping[str, Array], changes: Mapping[str, Array], width: float
) -> list[Array]:  # fmt: skip
    up, down = (
        points.reference({**values, **{name: values[name] + sign * width * each for name, each in changes.items()}})
        for sign in (1.0, -1.0)
    )
    return [(up[name] - down[name]) / (2.0 * width) for name in points.outputs]
