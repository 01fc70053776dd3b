"""Rates of wet deposition against values worked out by hand, published ones, and limits."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.models.air.processes import wet_deposition as wet
from airshed.models.air.processes.wet_deposition import Scavenging, scavenged_species
from airshed.models.air.species_map.parts import depositing_species

FACES = np.array([0.0, 200.0, 1000.0, 2000.0, 4000.0])
CELLS = (4, 1, 1)
MM_PER_HOUR = 1.0 / 3600.0
DENSITY = np.full(CELLS, 40.0)


def column(*values: float) -> np.ndarray:
    return np.array(values, float).reshape(-1, 1, 1)


def surface(value: float) -> np.ndarray:
    return np.array([[value]])


def by_name(names: list[str], **settings: object) -> Scavenging:
    """Numbers of species that go into rain as the substances of their own names."""
    return Scavenging(names, {name: name for name in names}, **settings)  # type: ignore[arg-type]


def rates(names: list[str], rain_below: float, rain_in: float = 0.0, temperature: float = 288.0, **settings: object):
    deposition = by_name(names, **settings)
    fields = (np.full((1, 1, 1), value) for value in (rain_below, rain_in, temperature))
    return dict(zip(deposition.species, deposition.rate(*fields)[:, 0, 0, 0], strict=True))


def test_rates_in_rain_of_one_millimetre_an_hour_by_hand() -> None:
    """W P / (rho_w h_s), of HNO3 0.5e6 (1/3600) / (1000 1000); A P E / V_dr of sulphate 5.2 0.02 / 5 / 3600."""
    below = rates(["HNO3", "SO2", "HCHO", "SA"], MM_PER_HOUR)
    assert below["HNO3"] == pytest.approx(1.3889e-4, rel=1e-4)
    assert below["SO2"] == pytest.approx(4.1667e-5, rel=1e-4)
    assert below["HCHO"] == pytest.approx(8.3333e-6, rel=1e-4)
    assert below["SA"] == pytest.approx(5.7778e-6, rel=1e-4)
    inside = rates(["HNO3", "SA"], 0.0, MM_PER_HOUR)
    assert inside["HNO3"] == pytest.approx(3.8889e-4, rel=1e-4)
    assert inside["SA"] == pytest.approx(2.7778e-4, rel=1e-4)


def test_published_effective_henry_constants() -> None:
    """At 298 K; SO2: 1.23 (1 + 1300 + 8.58) at pH 5 and 1.23 (1 + 13 + 8.6e-4) at pH 3, as in figure 7.6 of [P]."""
    at_298 = np.full((1, 1, 1), 298.0)
    for ph, value in ((5.0, 1610.0), (3.0, 17.2)):
        assert by_name(["SO2"], scheme="henry", ph=ph).henry("SO2", at_298).item() == pytest.approx(value, rel=3e-3)
    constants = {"NH3": 62.0 * (1.0 + 1.7e4), "H2O2": 1e5, "HNO3": 2.1e5 * (1.0 + 15.4e5), "HCHO": 3.2e3}
    for name, value in constants.items():
        assert by_name([name], scheme="henry").henry(name, at_298).item() == pytest.approx(value, rel=1e-6)


def test_acidity_holds_acids_back_and_helps_bases() -> None:
    for name, helped in (("SO2", False), ("HONO", False), ("NH3", True)):
        sour, neutral = (
            by_name([name], scheme="henry", ph=ph).henry(name, np.full((1, 1, 1), 288.0)).item() for ph in (4.0, 6.0)
        )
        assert (sour > neutral) is helped


def test_a_hand_made_equilibrium_ratio() -> None:
    """1 mol/(l atm) at 273.15 K: R T is 22.414 l atm/mol."""
    assert wet.equilibrium_ratio(np.asarray(1.0), np.asarray(273.15)) == pytest.approx(22.414, rel=1e-4)


def test_henrys_law_limits_what_dissolves_poorly_alone() -> None:
    limited = rates(["SO2", "HNO3", "HCHO", "SA"], MM_PER_HOUR, scheme="henry")
    assert limited["HNO3"] == pytest.approx(1.3889e-4, rel=1e-4), "the transfer to the drops alone"
    assert limited["SA"] == rates(["SA"], MM_PER_HOUR)["SA"]
    henry = by_name(["HCHO"], scheme="henry").henry("HCHO", np.full((1, 1, 1), 288.0)).item()
    by_hand = henry * 0.082057 * 288.0 / 1e6 * MM_PER_HOUR
    assert limited["HCHO"] == pytest.approx(by_hand, rel=1e-4)
    assert limited["HCHO"] < limited["HNO3"]


@given(st.floats(230.0, 310.0), st.floats(0.5, 30.0))
def test_cold_rain_takes_more(temperature: float, colder: float) -> None:
    names = ["SO2", "HCHO", "CH3O2H"]
    warm, cold = (rates(names, MM_PER_HOUR, temperature=t, scheme="henry") for t in (temperature, temperature - colder))
    assert all(cold[name] >= warm[name] for name in names)


def test_given_coefficients_have_their_exponent() -> None:
    """1e-4 1/s in 2 mm/h: 1e-4 2^0.79 = 1.7291e-4."""
    found = rates(["HNO3", "SO2"], 2.0 * MM_PER_HOUR, coefficients={"HNO3": 1e-4, "SO2": 0.0})
    assert found == {"HNO3": pytest.approx(1.7291e-4, rel=1e-4)}


def test_no_rain_takes_nothing() -> None:
    names = [entry.name for entry in scavenged_species().values()]
    for scheme in ("ratios", "henry"):
        assert set(rates(names, 0.0, scheme=scheme, coefficients={"SA": 1e-4}).values()) == {0.0}
    assert rates(["HNO3"], 0.0, 0.0)["HNO3"] != rates(["HNO3"], 0.0, 1e-4)["HNO3"]


@given(st.floats(0.0, 0.03), st.floats(0.0, 0.03), st.floats(220.0, 320.0), st.sampled_from(["ratios", "henry"]))
def test_rates_are_positive_and_slower_than_a_fall_through_a_layer(
    below: float, inside: float, temperature: float, scheme: str
) -> None:
    names = list({entry.name: None for entry in scavenged_species().values()})
    found = np.array(list(rates(names, below, inside, temperature, scheme=scheme).values()))
    assert np.all(np.isfinite(found))
    assert np.all(found >= 0.0)
    assert np.all(found <= 1.4 * (below + inside) * (1.0 + 1e-12))


def test_rain_without_cloud_begins_at_its_origin() -> None:
    rain = wet.rain_without_cloud(surface(2.0), FACES, 1500.0)
    assert rain[:, 0, 0].tolist() == [2.0, 2.0, 1.0, 0.0]
    assert not wet.rain_without_cloud(surface(2.0), FACES, 0.0).any()
    assert not wet.rain_without_cloud(surface(-1.0), FACES, 1e4).any(), "round-off of the data below 0 is no rain"


def test_rain_forms_in_proportion_to_cloud_water_by_hand() -> None:
    """Half the water per area in a layer of 1000 m, half in one of 2000 m with half the mixing ratio."""
    cloud = column(0.0, 0.0, 2e-4, 1e-4)
    below, inside = wet.rain_in_layers(surface(1.0), cloud, DENSITY, FACES, 3000.0)
    np.testing.assert_allclose(inside[:, 0, 0], [0.0, 0.0, 1.0, 0.5], rtol=1e-15)
    np.testing.assert_allclose(below[:, 0, 0], [1.0, 1.0, 0.0, 0.0], rtol=1e-15)


def test_between_two_clouds_falls_the_rain_of_the_upper_one() -> None:
    below, inside = wet.rain_in_layers(surface(1.0), column(0.0, 3e-4, 0.0, 1e-4), DENSITY, FACES, 0.0)
    water = 3e-4 * 800.0, 1e-4 * 2000.0
    assert below[2, 0, 0] == pytest.approx(water[1] / sum(water), rel=1e-14)
    assert inside[1, 0, 0] == 1.0
    assert inside[2, 0, 0] == below[3, 0, 0] == 0.0


def test_rain_from_a_column_without_cloud_has_its_origin() -> None:
    thin = np.full(CELLS, 0.5 * wet.LEAST_CLOUD_WATER)
    below, inside = wet.rain_in_layers(surface(1.0), thin, DENSITY, FACES, 1000.0)
    assert below[:, 0, 0].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert not inside.any()


@given(st.lists(st.floats(0.0, 2e-3), min_size=4, max_size=4), st.floats(0.0, 0.02), st.floats(0.0, 5000.0))
def test_rain_grows_downward_to_all_of_it(water: list[float], precipitation: float, origin: float) -> None:
    cloud = column(*water)
    below, inside = wet.rain_in_layers(surface(precipitation), cloud, DENSITY, FACES, origin)
    rain = below + inside
    assert np.all(np.diff(rain, axis=0) <= 0.0)
    assert np.all(below * inside == 0.0)
    if cloud.max() >= wet.LEAST_CLOUD_WATER or origin >= FACES[1]:
        assert rain[0, 0, 0] == precipitation


def test_columns_do_not_see_one_another() -> None:
    random = np.random.default_rng(3)
    cloud = random.random((4, 5, 6)) * 1e-3 * (random.random((4, 5, 6)) > 0.5)
    rain, density = random.random((5, 6)), 30.0 + 10.0 * random.random((4, 5, 6))
    whole = wet.rain_in_layers(rain, cloud, density, FACES, 2000.0)
    part = wet.rain_in_layers(rain[1:3, 2:4], cloud[:, 1:3, 2:4], density[:, 1:3, 2:4], FACES, 2000.0)
    for of_whole, of_part in zip(whole, part, strict=True):
        assert of_whole[:, 1:3, 2:4].tobytes() == of_part.tobytes()


def test_a_species_goes_into_rain_as_the_substance_that_it_deposits_as() -> None:
    deposition = Scavenging(["N2O5", "FORM", "CO", "X"], {"N2O5": "N2O5", "FORM": "HCHO", "X": "SO4"})
    assert deposition.species == ("N2O5", "FORM", "X")
    assert deposition.provenance["N2O5"].startswith("ratios: as HNO3, E")
    assert deposition.below.tolist() == [0.5, 0.03, 5.2 * 0.02 / 5.0]
    assert by_name(["FORM", "SO2"]).species == ("FORM", "SO2"), "by their own names without a map"
    assert by_name(["GLYOX"]).species == ()
    assert by_name(["GLYOX"], scheme="henry").species == ("GLYOX",)
    assert by_name(["SO2", "O3"], scheme="none", coefficients={"O3": 1e-6}).species == ("O3",)


def test_a_mechanism_without_any_has_no_rates() -> None:
    nothing = by_name(["O3", "CO"])
    assert nothing.rate(*np.ones((3, 2, 1, 1))).shape == (0, 2, 1, 1)


def test_the_table_speaks_of_substances_of_the_deposition_table() -> None:
    for name, entry in scavenged_species().items():
        assert name in depositing_species(), f"{name} would never be found"
        assert entry.particle == depositing_species()[name].particle
        assert entry.particle or entry.henry[0] > 0.0
        assert entry.in_cloud >= entry.below_cloud
        assert entry.particle == (entry.efficiency > 0.0)


def test_the_table_of_the_document_is_true() -> None:
    text = (Path(__file__).parents[4] / "docs" / "reference" / "processes.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.count("|") == 7 and "e6" in line]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(rows) == 5
    substances = ("HNO3", "SO2", "HCHO", "CH3O2H", "SA")
    for (*_, below, inside), name in zip(rows, substances, strict=True):
        assert 3600.0 * rates([name], MM_PER_HOUR)[name] == pytest.approx(float(below), rel=0.02)
        assert 3600.0 * rates([name], 0.0, MM_PER_HOUR)[name] == pytest.approx(float(inside), rel=0.02)
