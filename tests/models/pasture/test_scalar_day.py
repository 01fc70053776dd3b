"""The model agrees with an independent scalar day in random cells, also unrealistic ones, with all options."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pytest
from tests.models.pasture import scalar_day
from tests.models.pasture.days import PROCESSES

from airshed.models.pasture.classes import Land, Trees, cell_parameters
from airshed.models.pasture.fields import LAYERS, TOTALS, cell_fields
from airshed.process.discovery import section_of
from airshed.process.points import Points
from airshed.verify import pasture

CELLS: Final = 60
DAYS: Final = 5

CHOICES: Final[Mapping[str, tuple[Any, ...]]] = {
    "humidity.given": ("deficit", "vapour_pressure", "temperature"),
    "fire.litter_burns": (True, False),
    "runoff.cover": ("surface", "yield"),
    "soil_evaporation.method": ("rickert", "ritchie"),
    "soil_evaporation.potential": ("pan", "priestley_taylor"),
    "nitrogen.limited": (True, False),
    "trees.on": (True, False),
    "death.drought": ("published", "strict"),
    "resets.nitrogen": ("zero", "coded"),
    "grazing.on": (True, False),
    "grazing.stocking_rate": (0.0, 100.0, 0.3),
    "grazing.supplement": (True, False),
    "basal_area.varies": (True, False),
    "erosion.on": (True, False),
    "given litter": (True, False),
}
FIRST_DAYS: Final = ("2000-12-29", "2001-12-29", "2001-11-29", "2000-02-27")

Cell = dict[str, float]


def options(number: int) -> dict[str, Any]:
    random = np.random.default_rng(number)
    return {name: some[int(random.integers(len(some)))] for name, some in CHOICES.items()}


def model(of: Mapping[str, Any]) -> Points:
    settings: dict[str, dict[str, Any]] = {}
    for name, value in of.items():
        section, _, key = name.partition(".")
        settings.setdefault(section, {})[key] = value
    litter = ["prescribed_litter"] if of["given litter"] else []
    fields = cell_fields(["burnt_fraction", "vapour_pressure", "vapour_pressure_deficit", *litter])
    return Points([each(section_of(each)(**settings.get(each.section, {}))) for each in PROCESSES], fields)


def strange(random: np.random.Generator, each: Any, **values: Any) -> Any:
    """Return a class with some parameters at the ends of their ranges."""
    return each.model_copy(update={name: value for name, value in values.items() if random.random() < 0.15})


class World:
    """Cells with their classes, and some days of weather."""

    def __init__(self, number: int) -> None:
        random = self.random = np.random.default_rng(100 + number)
        self.soils = [self.soil() for _ in range(CELLS)]
        self.pastures = [self.pasture() for _ in range(CELLS)]
        woods = [Trees(root_depth=random.uniform(0.0, 2000.0), root_uptake=(random.uniform(0.0, 1.0),) * 4)]
        of_cell = np.arange(CELLS)
        self.parameters = cell_parameters(
            Land(self.soils, self.pastures, woods), of_cell, of_cell, np.zeros(CELLS, int),
            tree_basal_area=np.maximum(random.uniform(-5.0, 5.0, CELLS), 0.0),
            stocking=random.choice([0.0, 0.3, 100.0], CELLS),
        )  # fmt: skip
        self.state = pasture._state(random, self.parameters, CELLS)
        for name in ("stage_1", "stage_2", "stage_2_days"):
            self.state[name] = self.state[name] * random.choice([0.0, 1.0], CELLS)
        self.weather = self.days(FIRST_DAYS[number % len(FIRST_DAYS)])

    def soil(self) -> Any:
        soil = pasture._soil(self.random)
        while not all(
            np.subtract(soil.drained_upper_limit, soil.lower_limit)
        ):  # without a capacity, the result would depend on rounding
            soil = pasture._soil(self.random)
        thin = tuple(self.random.choice([0.1, 1.0, 5000.0], len(soil.thickness)))
        return strange(
            self.random, soil, thickness=thin, saturation=soil.drained_upper_limit, curve_number=100.0,
            curve_number_reduction=100.0, second_stage_evaporation=0.0, first_stage_evaporation=0.0, diffusivity=0.0,
            diffusivity_slope=300.0, curve_number_cover=0.0, evaporation_limit=0.0,
        )  # fmt: skip

    def pasture(self) -> Any:
        late = self.random.integers(363, 367, 2).astype(float)
        made = pasture._pasture(self.random)
        return strange(
            self.random, made, root_depth=0.0, root_uptake=(0.0,) * 4, full_green_water=0.0,
            nitrogen_no_growth=made.nitrogen_full_growth, nitrogen_reset=late[0], summer_end=late[1],
        )  # fmt: skip

    def days(self, first: str) -> dict[str, np.ndarray]:
        random, shape, dates = self.random, (DAYS, CELLS), np.datetime64(first) + np.arange(DAYS)
        found = pasture._weather(random, DAYS, CELLS)
        storms = random.choice([2000.0, 4.0, 4.000001, 1e-6, 300.0], shape)
        coldest = random.uniform(-20.0, 50.0, shape)
        return {
            **found,
            "rain": np.where(random.random(shape) < 0.3, storms, found["rain"]),
            "min_temperature": coldest,
            "max_temperature": coldest + random.uniform(0.0, 10.0, shape),
            "burnt_fraction": random.choice([0.0, 0.0, 0.0, 0.5, 1.0], shape),
            "prescribed_litter": random.uniform(0.0, 3000.0, shape),
            "day_of_year": (dates - dates.astype("M8[Y]").astype("M8[D]")).astype(float) + 1.0,
            "month": dates.astype("M8[M]").astype(float) % 12 + 1,
        }

    def cell(self, number: int) -> Cell:
        """Return the parameters, and the inputs of the scalar day: depth for runoff, roots and their supply."""
        soil, pasture = self.soils[number], self.pastures[number]
        found = {name: float(np.broadcast_to(values, CELLS)[number]) for name, values in self.parameters.items()}
        top = 0.0
        for layer in LAYERS:
            thick = soil.thickness[layer - 1] if layer <= len(soil.thickness) else 0.0
            found[f"rooted_{layer}"] = min(max((pasture.root_depth - top) / thick, 0.0), 1.0) if thick else 0.0
            found[f"kl_{layer}"] = pasture.root_uptake[layer - 1]
            top += thick
        return {**found, "runoff_depth": soil.runoff_depth}


def furthest(of: Mapping[str, Any], world: World) -> tuple[float, str]:
    """Return the largest relative difference from the scalar day, and the name of its value."""
    points, state, worst = model(of), dict(world.state), (0.0, "")
    left = () if of["given litter"] else ("prescribed_litter",)
    totals = {spec.name for spec in TOTALS}
    for number in range(DAYS):
        weather = {name: values[number] for name, values in world.weather.items() if name not in left}
        found = points.reference({**world.parameters, **state, **weather, **points.numbers})
        for cell in range(CELLS):
            one = {name: float(values[cell]) for name, values in state.items()}
            given = {name: float(values[cell] if values.ndim else values) for name, values in weather.items()}
            expected = scalar_day.day(world.cell(cell), one, given, of)
            for name in expected.keys() & found.keys() - totals:
                value = float(np.broadcast_to(found[name], CELLS)[cell])
                apart = abs(value - expected[name]) / (1.0 + abs(expected[name]))
                worst = max(worst, (apart if apart == apart else np.inf, name))
        state = {name: np.asarray(found.get(name, values)) for name, values in state.items()}
    return worst


NUMBERS: Final = range(16)


@pytest.mark.parametrize(
    "number", [each if each in NUMBERS[:4] else pytest.param(each, marks=pytest.mark.thorough) for each in NUMBERS]
)
def test_a_day_equals_the_scalar_day(number: int) -> None:
    apart, what = furthest(options(number), World(number))
    assert apart < 1e-8, what


def test_cells_cover_all_options() -> None:
    for name, some in CHOICES.items():
        assert {options(number)[name] for number in NUMBERS} == set(some)


@pytest.mark.parametrize(
    "changed", [{"trees.on": True}, {"runoff.cover": "yield"}, {"death.drought": "strict"}, {"nitrogen.limited": False}]
)
def test_a_changed_day_is_detected(changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    of = {**{name: some[-1] for name, some in CHOICES.items()}, "trees.on": False, "runoff.cover": "surface"}
    of |= {"death.drought": "published", "nitrogen.limited": True}
    plain = scalar_day.day
    monkeypatch.setattr(
        scalar_day, "day", lambda cell, state, weather, asked: plain(cell, state, weather, of | changed)
    )
    assert furthest(of, World(1))[0] > 1e-4
