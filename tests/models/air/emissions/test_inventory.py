import csv
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from airshed.core.errors import CaseError, DataError
from airshed.core.files import resource
from airshed.grid import Grid
from airshed.models.air.emissions import InventorySettings, build_inventory, builder
from airshed.models.air.species_map import Compound, EmissionMap

SHIPPED = resource("cases/west-europe/emissions")

START = np.datetime64("2022-08-31T00:00:00")
WEST_EUROPE = Grid.regular((0.0, 10.0), (45.0, 55.0), 0.25)
BENELUX = Grid.regular((2.0, 8.0), (49.0, 52.0), 0.5, [20.0, 100.0, 400.0, 1000.0, 3000.0])
MEMO = ("N_Natural", "O_AviCruise", "P_IntShipping", "z_Memo")


@pytest.fixture(scope="module")
def inventory(species):
    return build_inventory(InventorySettings(SHIPPED), WEST_EUROPE, START, species)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, small_inventory):
    return small_inventory(tmp_path_factory.mktemp("inventory") / "small")


@pytest.fixture(scope="module")
def small(folder, species):
    return build_inventory(InventorySettings(folder), BENELUX, START, species)


def totals_of_the_file():
    """National totals without memo items [Gg/a], read apart from the code under test."""
    totals = defaultdict(float)
    with (SHIPPED / "national_totals.csv").open() as file:
        for row in csv.DictReader(file):
            if row["year"] == "2022" and row["sector"] not in MEMO:
                totals[row["iso2"], row["pollutant"]] += float(row["value"])
    return totals


def worst_deviation(rows, field):
    expected = totals_of_the_file()
    return max(abs(getattr(row, field) / expected[row.country, row.pollutant] - 1.0) for row in rows)


def kilograms(inventory, species, sector=None):
    return sum(r.kilograms_per_day for r in inventory.summary() if r.species == species and sector in (None, r.sector))


def test_each_countrys_total_is_reproduced_before_clipping(inventory):
    rows = inventory.country_totals()
    assert {row.country for row in rows} == {"AT", "BE", "CH", "DE", "DK", "FR", "GB", "IT", "LI", "LU", "NL"}
    assert worst_deviation(rows, "reported") < 1e-9
    assert worst_deviation(rows, "distributed") < 1e-6
    assert all(row.in_domain <= row.distributed * (1.0 + 1e-12) for row in rows)


def test_on_a_grid_that_holds_a_whole_country_all_of_it_arrives(small):
    rows = small.country_totals()
    assert {row.country for row in rows} == {"BE", "LU"}
    assert worst_deviation(rows, "in_domain") < 1e-6


def test_a_perturbed_proxy_does_not_reproduce_the_total(folder, species, monkeypatch):
    def perturbed(fields, name, factors, exact=builder.normalised):
        weights, taken = exact(fields, name, factors)
        return weights * (1.0 + 1e-5 * (name == "population")), taken

    monkeypatch.setattr(builder, "normalised", perturbed)
    rows = build_inventory(InventorySettings(folder), BENELUX, START, species).country_totals()
    assert worst_deviation(rows, "distributed") > 1e-6
    assert worst_deviation(rows, "in_domain") > 1e-6


def test_known_totals_and_what_is_left_out(inventory):
    rows = {(row.country, row.pollutant): row for row in inventory.country_totals()}
    assert rows["DE", "NOx"].reported == pytest.approx(942.0, abs=0.1)
    assert rows["IT", "SOx"].left_out > 900.0  # Etna
    assert rows["NL", "NOx"].in_domain == pytest.approx(rows["NL", "NOx"].reported, rel=1e-6)
    assert 0.1 < rows["GB", "NOx"].in_domain / rows["GB", "NOx"].reported < 0.2
    assert any("N_Natural, O_AviCruise, P_IntShipping" in note for note in inventory.notes())
    assert any("LI has no plants: population instead" in note for note in inventory.notes())


def test_the_rate_over_a_day_is_what_the_summary_says(inventory):
    moles = 3600.0 * sum(inventory.rate(3600.0 * hour).sum(axis=(1, 2, 3)) for hour in range(24))
    by_species = defaultdict(float)
    for row in inventory.summary(86400.0):
        by_species[row.species] += row.moles
    assert tuple(by_species) == inventory.species
    assert np.allclose(moles, list(by_species.values()), rtol=1e-12)
    half = sum(row.moles for row in inventory.summary(43200.0)) / sum(by_species.values())
    quarter_hour = sum(row.moles for row in inventory.summary(900.0))
    assert 0.4 < half < 0.6
    assert quarter_hour == pytest.approx(900.0 * inventory.rate(0.0).sum(), rel=1e-12)


def test_a_year_of_rates_is_the_countries_total(folder, species):
    start = np.datetime64("2022-01-01T00:00:00")
    year = build_inventory(InventorySettings(folder), BENELUX, start, species)
    reported = sum(row.reported for row in year.country_totals() if row.pollutant == "NOx")
    moles = sum(row.moles for row in year.summary(365 * 86400.0) if row.species in ("NO", "NO2"))
    # the clock change moves an hour of the night: not exactly a year of local days
    assert moles * 46.0055e-9 == pytest.approx(reported, rel=1e-3)


def test_magnitudes_of_a_late_summer_wednesday(inventory):
    nitrogen = kilograms(inventory, "NO") + kilograms(inventory, "NO2")
    assert 3.0e6 < nitrogen < 5.0e6  # as NO2
    assert 0.3 < kilograms(inventory, "NO", "F_RoadTransport") / kilograms(inventory, "NO") < 0.6
    assert kilograms(inventory, "NO2") / nitrogen == pytest.approx(0.05)
    assert 8e6 < kilograms(inventory, "CO") < 13e6


def test_the_great_cities_stand_out(inventory):
    rate = inventory.rate(7 * 3600.0)
    nitrogen = rate[inventory.species.index("NO")].sum(axis=0) / WEST_EUROPE.cell_area
    median = np.median(nitrogen[nitrogen > 0.0])
    places = {
        "Paris": (2.35, 48.86),
        "Ruhr": (7.1, 51.5),
        "Rotterdam": (4.48, 51.92),
        "Milan": (9.19, 45.47),
        "Antwerp": (4.4, 51.22),
        "Frankfurt": (8.68, 50.11),
    }
    for lon, lat in places.values():
        row, column = int((lat - 45.0) / 0.25), int(lon / 0.25)
        assert nitrogen[row - 1 : row + 2, column - 1 : column + 2].max() > 8.0 * median


def test_constant_within_an_hour_and_read_only(inventory):
    first = inventory.rate(3600.0)
    assert inventory.rate(7199.9) is first
    later = inventory.rate(7200.0)
    assert not np.array_equal(first, later)
    assert np.array_equal(inventory.rate(3600.0), first)
    assert inventory.rate(-86400.0).min() >= 0.0
    with pytest.raises(ValueError, match="read-only"):
        later[0, 0, 0, 0] = 1.0
    assert first.shape == (11, inventory.levels, 40, 40)
    assert WEST_EUROPE.layer_faces[inventory.levels - 1] < 1106.0 <= WEST_EUROPE.layer_faces[inventory.levels]


def test_a_start_within_an_hour_counts_from_there(folder, species):
    whole = build_inventory(InventorySettings(folder), BENELUX, START, species)
    late = build_inventory(InventorySettings(folder), BENELUX, START + np.timedelta64(30, "m"), species)
    assert np.array_equal(late.rate(1799.0), whole.rate(0.0))
    assert np.array_equal(late.rate(1800.0), whole.rate(3600.0))
    amounts = [
        {(row.species, row.sector): row.moles for row in each.summary(length)}
        for each, length in ((late, 3600.0), (whole, 5400.0), (whole, 1800.0))
    ]
    assert amounts[0] == pytest.approx({key: amounts[1][key] - amounts[2][key] for key in amounts[1]}, rel=1e-12)


def test_the_same_bits_twice(folder, small, species):
    again = build_inventory(InventorySettings(folder), BENELUX, START, reversed(species))
    assert again.species == small.species
    assert np.array_equal(again.rate(0.0), small.rate(0.0))


def test_factors_scale_what_they_name(folder, small, species):
    factors = {"NOx": 0.5, "F_RoadTransport": 0.25, "LU/E_Solvents": 0.0}
    scaled = build_inventory(InventorySettings(folder, scale=factors), BENELUX, START, species)

    def ratio(species, sector):
        return kilograms(scaled, species, sector) / kilograms(small, species, sector)

    assert ratio("NO", "B_Industry") == pytest.approx(0.5)
    assert ratio("NO", "F_RoadTransport") == pytest.approx(0.125)
    assert ratio("CO", "F_RoadTransport") == pytest.approx(0.25)
    assert ratio("CO", "B_Industry") == pytest.approx(1.0)
    assert 0.8 < ratio("OXYL", "E_Solvents") < 1.0
    for row in scaled.country_totals():
        assert row.distributed < row.reported or row.pollutant == "SOx"


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ({"NOx": -0.1}, "factor of NOx is -0.1"),
        ({"NOx": float("nan")}, "factor of NOx is nan"),
        ({"F_RoadTransprt": 0.5}, "did you mean F_RoadTransport"),
        ({"BE/NOX": 0.5}, "'NOX' is not a pollutant, sector or country; did you mean NOx"),
    ],
)
def test_bad_factors_are_refused(folder, species, scale, message):
    with pytest.raises(CaseError, match=message):
        build_inventory(InventorySettings(folder, scale=scale), BENELUX, START, species)


def test_ammonia_is_emitted_where_the_mechanism_has_it(folder, small, species):
    assert "NH3" not in small.species
    with_ammonia = build_inventory(InventorySettings(folder), BENELUX, START, (*species, "NH3"))
    assert kilograms(with_ammonia, "NH3", "K_AgriLivestock") > 0.0


def test_another_mechanism_needs_another_split(folder, species, tmp_path):
    with pytest.raises(CaseError, match=r"no species for the emitted SA \(of SOx\), OXYL \(of NMVOC\)"):
        build_inventory(InventorySettings(folder), BENELUX, START, set(species) - {"SA", "OXYL"})
    smoke = EmissionMap({"CO": {"tracer": 2.0}}, others=True)
    built = build_inventory(InventorySettings(folder), BENELUX, START, ("tracer",), smoke)
    assert built.species == ("tracer",)
    (whole,) = {row.pollutant for row in built.country_totals()}
    assert whole == "CO", "a pollutant that maps to no species is not gridded"
    plain = build_inventory(InventorySettings(folder, pollutants=("CO",)), BENELUX, START, ("CO",))
    np.testing.assert_array_equal(built.rate(0.0), 2.0 * plain.rate(0.0))
    with pytest.raises(CaseError, match=r"the mechanism lacks the emitted species tracer"):
        build_inventory(InventorySettings(folder), BENELUX, START, ("CO",), smoke)


def test_a_split_of_the_map_replaces_that_of_the_inventory(folder, species):
    same = EmissionMap.same(species)
    dirty = replace(same, split={"NOx": (Compound("NO", 0.5, 0.046), Compound("NO2", 0.5, 0.046))})
    built = build_inventory(InventorySettings(folder), BENELUX, START, species, dirty)
    assert kilograms(built, "NO") == pytest.approx(kilograms(built, "NO2"))
    with pytest.raises(CaseError, match=r"species_split.csv does not give the compounds of PM; .* \[split\]"):
        build_inventory(InventorySettings(folder, pollutants=("PM",)), BENELUX, START, species)
    half = replace(same, split={"CO": (Compound("CO", 0.5, 0.028),)})
    with pytest.raises(DataError, match=r"the species map: the mass shares of CO sum to 0.5"):
        build_inventory(InventorySettings(folder), BENELUX, START, species, half)


def test_natural_emission_can_be_kept(folder, small, species):
    settings = InventorySettings(folder, leave_out=("O_AviCruise", "P_IntShipping"))
    natural = build_inventory(settings, BENELUX, START, species)
    assert kilograms(natural, "OXYL", "N_Natural") > 0.0 == kilograms(small, "OXYL", "N_Natural")


def test_a_country_without_totals_is_named(small_inventory, tmp_path, species):
    copy = small_inventory(tmp_path / "inventory")
    totals = copy / "national_totals.csv"
    totals.write_text(
        "".join(line for line in totals.read_text().splitlines(keepends=True) if not line.startswith("LU"))
    )
    inventory = build_inventory(InventorySettings(copy), BENELUX, START, species)
    assert "no totals of 2022, so no emission: LU" in inventory.notes()
    assert inventory.notices() == ["no totals of 2022, so no emission: LU"]
    assert {row.country for row in inventory.country_totals()} == {"BE"}


def test_a_grid_in_the_ocean_is_refused(folder, species):
    with pytest.raises(CaseError, match=r"no country of the inventory .* has land inside the grid"):
        build_inventory(InventorySettings(folder), Grid.regular((-40.0, -38.0), (30.0, 32.0), 1.0), START, species)


@pytest.mark.standard
def test_a_simulated_year_brings_the_annual_total_whatever_year_the_table_is_of(small_inventory, species, tmp_path):
    """Totals of 2022 in 2024, a leap year with other weekdays, are those of 2022."""
    settings = InventorySettings(small_inventory(tmp_path / "inventory"), year=2022)
    grid = Grid.regular(lon=(2, 7), lat=(49, 52), spacing=1.0)
    totals = []
    for year in (2022, 2023, 2024):
        days = 366 if year == 2024 else 365
        inventory = build_inventory(settings, grid, np.datetime64(f"{year}-01-01T00:00"), species)
        rows = inventory.summary(days * 86400.0)
        totals.append(sum(row.moles for row in rows if row.species in ("NO", "NO2")))
    nox = [row for row in inventory.country_totals() if row.pollutant == "NOx"]
    assert totals == pytest.approx([sum(row.in_domain for row in nox) * 1e6 / 46.0055e-3] * 3, rel=1e-4)
    assert totals == pytest.approx([totals[0]] * 3, rel=1e-12)
