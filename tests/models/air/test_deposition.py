import tomllib
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.processes.dry_deposition import resistance
from airshed.models.air.processes.dry_deposition.resistance import SEASONS, season, surfaces
from airshed.models.air.processes.dry_deposition.velocity import DepositionVelocities
from airshed.models.air.species_map.parts import depositing_species
from airshed.models.air.weather import MetState
from airshed.models.air.weather.fields import of_use

GRID = Grid.regular((0.0, 2.0), (45.0, 48.0), 1.0, [20.0, 50.0])
FLAT = GRID.shape[1:]
LAND, SEA = np.ones(FLAT), np.zeros(FLAT)
SUN, NO_SUN = np.full(FLAT, 0.6), np.full(FLAT, -0.3)
CM = 1e-2


def weather(friction: float, length: float, temperature: float, cloud: float = 0.0) -> MetState:
    fields = {name: np.zeros(shape) for name, shape in ((each.name, each.shape(GRID)) for each in of_use("state"))}
    fields["friction_velocity"] += friction
    fields["obukhov_length"] += length
    fields["surface_temperature"] += temperature
    fields["cloud_cover"] += cloud
    return MetState(**fields)


def summer_weather(light: float, temperature: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return resistance.surface_weather(np.array([[light]]), np.array([[temperature]]))


DAY = weather(0.4, -50.0, 293.0)
NIGHT = weather(0.15, 30.0, 285.0)
AT_SEA = weather(0.25, -300.0, 290.0)


def by_name(names: list[str], **settings: object) -> DepositionVelocities:
    """Velocities of species that deposit as the substances of their own names."""
    return DepositionVelocities(names, {name: name for name in names}, **settings)  # type: ignore[arg-type]


def velocity(name: str, met: MetState, land: np.ndarray, sun: np.ndarray, **settings: object) -> float:
    """Return the deposition velocity of one species [cm/s]."""
    found = by_name([name], **settings).velocities(met, land, sun)
    assert found.shape == (1, *FLAT)
    assert np.ptp(found) == 0.0
    return float(found[0, 0, 0]) / CM


@pytest.mark.parametrize(
    ("name", "day", "night", "sea"),
    [
        ("O3", (0.3, 0.8), (0.05, 0.25), (0.02, 0.07)),
        ("NO2", (0.1, 0.6), (0.01, 0.1), (0.001, 0.02)),
        ("SO2", (0.3, 1.0), (0.05, 0.4), (0.3, 1.0)),
        ("HNO3", (1.0, 4.0), (0.3, 1.5), (0.3, 1.5)),
        ("PAN", (0.1, 0.5), (0.01, 0.2), (0.001, 0.05)),
        ("H2O2", (0.5, 2.0), (0.1, 1.0), (0.3, 1.5)),
        ("HCHO", (0.2, 1.0), (0.005, 0.3), (0.2, 1.0)),
        ("SA", (0.05, 0.6), (0.01, 0.1), (0.02, 0.3)),
    ],
)
def test_published_ranges(
    name: str, day: tuple[float, float], night: tuple[float, float], sea: tuple[float, float]
) -> None:
    """Ranges of measured velocities [cm/s]: Seinfeld & Pandis (2016), table 19.1, and the papers in the tables."""
    assert day[0] < velocity(name, DAY, LAND, SUN) < day[1]
    assert night[0] < velocity(name, NIGHT, LAND, NO_SUN) < night[1]
    assert sea[0] <= velocity(name, AT_SEA, SEA, SUN) < sea[1]


def test_ranges_can_fail() -> None:
    assert velocity("O3", DAY, SEA, SUN) < 0.3, "the sea takes less ozone than land: not in the range of land"
    assert velocity("O3", NIGHT, LAND, SUN) != velocity("O3", NIGHT, LAND, NO_SUN)


def test_ozone_at_a_leaf_by_hand() -> None:
    """Wesely's formulas for O3 on midsummer farmland at 20 degrees and 500 W/m2, worked out on paper."""
    crops = surfaces("summer")["agricultural"]
    one = np.ones((1, 1, 1))
    found = resistance.surface(crops, 48.0 * one, 0.01 * one, one, *summer_weather(500.0, 293.15))
    stomata = 60.0 * np.sqrt(48.0 / 18.015) * (1.0 + (200.0 / 500.1) ** 2)
    pores = 1.0 / (stomata + 1.0 / (0.01 / 3000.0 + 100.0))
    cuticle, exposed = 1.0 / 2000.0, 1.0 / (100.0 * (1.0 + 1000.0 / 510.0) + 1000.0)
    ground = 1.0 / (200.0 + 150.0)
    assert found.item() == pytest.approx(1.0 / (pores + cuticle + exposed + ground), rel=1e-3)


def test_leaves_shut_in_dark_cold_and_heat() -> None:
    at_noon = velocity("NO2", DAY, LAND, SUN)
    for met, sun in ((DAY, NO_SUN), (weather(0.4, -50.0, 272.0), SUN), (weather(0.4, -50.0, 314.0), SUN)):
        assert velocity("NO2", met, LAND, sun) < 0.35 * at_noon
    assert velocity("NO2", weather(0.4, -50.0, 293.0, cloud=1.0), LAND, SUN) < at_noon


def test_bare_fields_take_less() -> None:
    summer, winter = (velocity("O3", DAY, LAND, SUN, season=name) for name in ("summer", "late_autumn"))
    assert winter < 0.7 * summer


def test_a_coast_is_part_land_part_sea() -> None:
    dry = by_name(["O3", "SO2"])
    land, sea, coast = (dry.velocities(DAY, part, SUN) for part in (LAND, SEA, np.full(FLAT, 0.3)))
    np.testing.assert_allclose(coast, 0.3 * land + 0.7 * sea, rtol=1e-13)


conditions = st.tuples(st.floats(0.0, 2.0), st.floats(1.0, 1e6), st.booleans(), st.floats(230.0, 320.0))


@given(conditions, st.floats(-1.0, 1.0), st.floats(0.0, 1.0), st.sampled_from(SEASONS))
def test_positive_and_bounded_by_turbulence(
    state: tuple[float, float, bool, float], cosine: float, land: float, of_season: str
) -> None:
    friction, length, stable, temperature = state
    met = weather(friction, length if stable else -length, temperature)
    dry = by_name([entry.name for entry in depositing_species().values()], season=of_season)
    found = dry.velocities(met, np.full(FLAT, land), np.full(FLAT, cosine))
    assert np.all(np.isfinite(found))
    assert np.all(found > 0.0)
    assert np.all(found < 0.5 * max(friction, 0.02))


@given(st.floats(0.05, 1.0), st.floats(1.05, 3.0), st.sampled_from(["O3", "HNO3", "SA", "SO2"]))
def test_more_turbulence_more_deposition(friction: float, more: float, name: str) -> None:
    weak, strong = (velocity(name, weather(u, -50.0, 293.0), LAND, SUN) for u in (friction, friction * more))
    assert weak < strong


@given(st.floats(1.0, 1000.0), st.sampled_from(["HNO3", "O3"]))
def test_stable_air_holds_deposition_back(length: float, name: str) -> None:
    assert velocity(name, weather(0.3, length, 293.0), LAND, SUN) < velocity(
        name, weather(0.3, -length, 293.0), LAND, SUN
    )


@given(
    st.sampled_from(["stomata", "cuticle", "in_canopy", "ground_so2", "ground_o3", "exposed_so2", "exposed_o3"]),
    st.floats(1.0, 100.0),
    st.floats(0.01, 1e6),
    st.floats(0.0, 1.0),
)
def test_velocity_falls_with_every_resistance(name: str, factor: float, henry: float, reactivity: float) -> None:
    one = np.ones((1, 1, 1))
    crops = surfaces("summer")["agricultural"]
    arguments = (50.0 * one, henry * one, reactivity * one, *summer_weather(500.0, 293.15))
    more = resistance.surface(replace(crops, **{name: factor * getattr(crops, name)}), *arguments)
    assert more.item() >= resistance.surface(crops, *arguments).item() * (1.0 - 1e-12)


@given(st.floats(0.01, 1e6), st.floats(1.0, 1e3))
def test_soluble_gases_deposit_faster(henry: float, factor: float) -> None:
    one = np.ones((1, 1, 1))
    for kind in surfaces("summer").values():
        low, high = (
            resistance.surface(kind, 50.0 * one, h * one, 0.1 * one, *summer_weather(300.0, 290.0)).item()
            for h in (henry, factor * henry)
        )
        assert high <= low * (1.0 + 1e-12)


def test_aerodynamic_resistance_in_neutral_air() -> None:
    found = resistance.aerodynamic(10.0, np.array(0.1), np.array(0.4), np.array(1e6))
    assert found == pytest.approx(np.log(100.0) / (0.4 * 0.4), rel=1e-3)


@pytest.mark.parametrize(
    ("name", "over_land", "over_sea"),
    [
        ("O3", 0.5, 0.05),
        ("SO2", 0.5, 0.5),
        ("NO2", 0.2, 0.01),
        ("PAN", 0.2, 0.01),
        ("SA", 0.1, 0.1),
        ("HCHO", 0.3, 0.3),
    ],
)
def test_constant_scheme_has_the_velocities_of_the_test_problem(name: str, over_land: float, over_sea: float) -> None:
    assert velocity(name, DAY, LAND, SUN, scheme="constant") == pytest.approx(over_land)
    assert velocity(name, DAY, LAND, NO_SUN, scheme="constant") == pytest.approx(0.25 * over_land)
    assert velocity(name, DAY, SEA, SUN, scheme="constant") == pytest.approx(over_sea)


def test_constant_scheme_deposits_what_the_test_problem_deposits() -> None:
    names = [entry.name for entry in depositing_species().values()]
    deposited = set(by_name(names, scheme="constant").species)
    for name in ("SO2", "H2O2", "NO2", "O3", "PAN", "MAPAN", "SA", "NITRAT", "R2OOH", "RCO3H", "HCHO", "CH3CHO", "MEK"):
        assert name in deposited
    assert len([name for name in deposited if name.endswith("O2H") or name in ("ISNO3H", "ISNIRH", "CH2CHR")]) == 12
    assert len(deposited) == 25
    assert "HNO3" not in deposited, "it becomes particles there, by a reaction"


def test_given_velocities_hold_always_and_everywhere() -> None:
    for met, land, sun in ((DAY, LAND, SUN), (NIGHT, SEA, NO_SUN)):
        assert velocity("O3", met, land, sun, given={"O3": 0.007}) == pytest.approx(0.7)
        assert velocity("TRACER", met, land, sun, given={"TRACER": 0.001}, scheme="none") == pytest.approx(0.1)


def test_species_that_deposit() -> None:
    mechanism = ["NO", "O3", "CO", "no2", "TRACER", "MPAN"]
    assert by_name(mechanism).species == ("O3", "no2", "MPAN")
    assert by_name(mechanism, given={"O3": 0.0, "CO": 0.001}).species == ("CO", "no2", "MPAN")
    assert by_name(mechanism, scheme="none").species == ()
    assert by_name(["NO"]).velocities(DAY, LAND, SUN).shape == (0, *FLAT)
    assert by_name(mechanism).provenance["O3"].startswith("resistance")


@pytest.mark.parametrize(
    ("month", "latitude", "expected"),
    [(8, 50.0, "summer"), (1, 50.0, "late_autumn"), (4, 50.0, "spring"), (10, 50.0, "autumn"), (1, -27.0, "summer")],
)
def test_season(month: int, latitude: float, expected: str) -> None:
    assert season(month, latitude) == expected


def test_tables_are_whole() -> None:
    for of_season in SEASONS:
        kinds = surfaces(of_season)
        assert sum(kind.share for name, kind in kinds.items() if name != "water") == pytest.approx(1.0)
    for entry in depositing_species().values():
        assert entry.source
        assert entry.particle == (entry.mass == 0.0)


def test_names_are_unambiguous() -> None:
    table = tomllib.loads((files("airshed.models.air") / "data" / "deposition" / "species.toml").read_text())
    names = [name.casefold() for key, row in table.items() for name in (key, *row.get("alias", ()))]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("scheme", ["resistance", "constant"])
@pytest.mark.parametrize("window", [Window(0, 9, 3, 8), Window(8, 9, 0, 13), Window(4, 5, 6, 7)], ids=str)
def test_the_velocities_of_a_part_are_the_wholes_cut(scheme: str, window: Window) -> None:
    random = np.random.default_rng(9)
    grid = Grid.regular((0.0, 13.0), (45.0, 54.0), 1.0, [20.0, 50.0])
    fields = {name: random.random(shape) for name, shape in ((each.name, each.shape(grid)) for each in of_use("state"))}
    fields["obukhov_length"] = 100.0 * (fields["obukhov_length"] - 0.5)
    fields["surface_temperature"] = 270.0 + 30.0 * fields["surface_temperature"]
    met, land, sun = MetState(**fields), random.random((9, 13)), random.random((9, 13)) - 0.3
    scheme_of = by_name(["O3", "NO2", "HNO3", "SO2"], scheme=scheme)
    part = scheme_of.velocities(met.part(window), *(np.ascontiguousarray(window.of(each)) for each in (land, sun)))
    assert part.tobytes() == window.of(scheme_of.velocities(met, land, sun)).tobytes()
