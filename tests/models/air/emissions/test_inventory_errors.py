"""Errors in the folder of an inventory: each message names the file, the line and the remedy."""

import gzip
import os

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.core.errors import AirshedError, DataError
from airshed.core.files import resource
from airshed.grid import Grid
from airshed.io.tables import read_table
from airshed.models.air.assembly import assemble
from airshed.models.air.emissions import InventorySettings, build_inventory
from airshed.models.air.emissions.sectors import SECTORS
from airshed.models.air.emissions.totals import read_totals, years_of

GRID = Grid.regular((2.0, 8.0), (49.0, 52.0), 1.0, [100.0, 1000.0])
START = np.datetime64("2022-08-31T00:00:00")

FILES = ("cities.csv", "countries.csv", "countries.topo.json", "edgar_methane_2012.nc", "fuel_factors.csv",
         "height_profiles.csv", "hour_profiles.csv", "month_profiles.csv", "national_totals.csv", "power_plants.csv",
         "sector_proxies.csv", "species_split.csv", "weekday_profiles.csv")  # fmt: skip


@pytest.fixture
def folder(tmp_path, small_inventory):
    return small_inventory(tmp_path / "inventory")


@pytest.fixture
def build(species):
    def build(folder, **settings):
        return build_inventory(InventorySettings(folder, **settings), GRID, START, species)

    return build


def edit(path, old, new):
    """Replace the first ``old`` in a text file; it must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} has no {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(folder, build, name):
    (folder / name).unlink()
    with pytest.raises(DataError, match=name.replace(".", r"\.") + " does not exist"):
        build(folder)


FAULTS = [
    ("national_totals.csv", "BE,2022,A_PublicPower,NOx,Gg,", "BE,2022,A_PublicPower,NOx,Gg,-", "line 2: value is -"),
    ("national_totals.csv", "BE,2022,A_PublicPower,NOx,Gg,", "BE,2022,A_PublicPower,NOx,Gg,nan", "line 2: value 'nan8"),
    ("national_totals.csv", "BE,2022,A_PublicPower,NOx,Gg,", "BE,2022,A_PublicPower,NOx,kt,", "unit is 'kt'"),
    ("national_totals.csv", "A_PublicPower", "A_PublicPowr", "did you mean A_PublicPower"),
    ("national_totals.csv", "BE,2022,B_Industry,NOx", "BE,2022,A_PublicPower,NOx", "occurs twice"),
    ("national_totals.csv", "pollutant,unit", "species,unit", "lacks the column pollutant"),
    ("sector_proxies.csv", "E_Solvents,population,1", "E_Solvents,population,0.9", "shares of E_Solvents sum to 0.9"),
    ("sector_proxies.csv", "E_Solvents,population,1", "E_Solvents,people,1", "proxy 'people' is unknown"),
    ("sector_proxies.csv", "E_Solvents,population,1\n", "", "sector 'E_Solvents' is unknown"),
    ("species_split.csv", "CO,CO,1,", "CO,CO,0.5,", "mass shares of CO sum to 0.5"),
    ("species_split.csv", "CO,CO,1,28.010", "CO,CO,1,0", "molar_mass_g_mol is 0"),
    ("countries.csv", "Europe/Brussels", "Europe/Brüssel", "time zone 'Europe/Brüssel' is unknown"),
    ("countries.csv", "Europe/Brussels,Belgium", "Europe/Brussels,Belgia", "no polygon 'Belgia'"),
    ("fuel_factors.csv", "Coal,209", "Coal,-209", "line 2: NOx_g_gj is -209"),
    ("fuel_factors.csv", "Gas,", "Gaz,", "fuel 'Gas' is unknown"),
    ("fuel_factors.csv", "0.38,0.45", "0,0.45", "efficiency is 0, but must be at least 0.01"),
    ("power_plants.csv", ",420,", ",-420,", "capacity_mw is -420"),
    ("fuel_factors.csv", "Gas,89,0.281,2.6,39,1", "Gas,89,0.281,2.6,39,inf", "line 3: NH3_g_gj 'inf' is not a number"),
    ("fuel_factors.csv", "Gas,89", "Gas,1e308", "line 3: NOx_g_gj is 1e308, but must be at most"),
    ("fuel_factors.csv", "Gas,89", "Gas,much", "line 3: NOx_g_gj 'much' is not a number"),
    ("power_plants.csv", ",420,", ",1e308,", "capacity_mw is 1e308, but must be at most"),
    ("cities.csv", "BE,Zwijndrecht", "BX,Zwijndrecht", "iso2 'BX' is unknown; known are BE, LU"),
    (
        "national_totals.csv",
        "BE,2022,B_Industry,NOx",
        "BEX,2022,B_Industry,NOx",
        "iso2 'BEX' is not in countries.csv; did you mean BE",
    ),
    ("national_totals.csv", "BE,2022,B_Industry,NOx", "BE,2O22,B_Industry,NOx", "line 3: year '2O22' is not a year"),
    (
        "national_totals.csv",
        "BE,2022,B_Industry,NOx",
        "BE,2022,B_Industry,NOX",
        "pollutant 'NOX' is unknown; did you m",
    ),
    (
        "national_totals.csv",
        "BE,2022,A_PublicPower,NOx,Gg,",
        "BE,2022,A_PublicPower,NOx,Gg,99999999999",
        "must be at most 1e[+]08",
    ),
    ("national_totals.csv", "iso2,year", "iso2,iso2", "lacks the column year"),
    ("cities.csv", "name,latitude", "name,name,latitude", "the column 'name' occurs twice"),
    ("cities.csv", "BE,Zwijndrecht", 'BE,"Zwijndrecht', "not a table row"),
    ("countries.csv", "BE,BEL", "BEX,BEL", "iso2 'BEX' is not a code of two capital letters"),
    ("countries.csv", "BE,BEL", "BX,BEL", "iso2 'BE' is not in countries.csv; known are BX, LU"),
    ("countries.csv", "Belgium", "Luxembourg", "Luxembourg occurs twice"),
    ("sector_proxies.csv", "E_Solvents,population,1", ",population,1", "sector is empty"),
    ("month_profiles.csv", "1.2,1.15", "-1.2,1.15", "line 2: Jan is -1.2"),
    ("month_profiles.csv", "1.2,1.15", "1e308,1.15", "line 2: Jan is 1e308, but must be at most"),
    ("species_split.csv", "CO,CO,1,28.010", "CO,CO,1,1e308", "molar_mass_g_mol is 1e308"),
    ("countries.topo.json", '"Topology"', '"Map"', "not TopoJSON"),
]


@pytest.mark.parametrize(("file", "old", "new", "message"), FAULTS)
def test_a_faulty_file(folder, build, file, old, new, message):
    edit(folder / file, old, new)
    with pytest.raises(AirshedError, match=message) as caught:
        build(folder)
    assert len(str(caught.value).splitlines()) <= 2
    assert ".csv" in str(caught.value) or ".json" in str(caught.value)


def test_a_truncated_methane_grid(folder, build):
    path = folder / "edgar_methane_2012.nc"
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(DataError, match=r"edgar_methane_2012.nc is truncated or damaged"):
        build(folder)


def test_bytes_that_are_no_text(folder, build):
    (folder / "cities.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"cities.csv cannot be read as text: line 1"):
        build(folder)


def test_a_year_without_totals(folder, build):
    with pytest.raises(DataError, match=r"no totals of 1999; set emissions.year to one of: 2020, 2022"):
        build(folder, year=1999)


def test_a_table_of_one_year_has_priority_and_extends_the_years(folder, build):
    head, *lines = (folder / "national_totals.csv").read_text(encoding="utf-8").splitlines()
    older = [line.replace(",2022,", ",1999,") for line in lines if ",2022," in line]
    text = "\n".join([head, *older]) + "\n"
    (folder / "national_totals_1999.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "national_totals_draft.csv").write_text("not of a year")
    assert years_of(folder) == (1999, 2020, 2022)
    old, new = (build(folder, year=year).country_totals() for year in (1999, 2022))
    assert [row.reported for row in old] == [row.reported for row in new]
    with pytest.raises(DataError, match=r"no totals of 2001; set emissions.year to one of: 1999, 2020, 2022"):
        build(folder, year=2001)
    (folder / "national_totals_1999.csv.gz").write_bytes(b"\x1f\x8b\x08broken")
    with pytest.raises(DataError, match=r"national_totals_1999.csv.gz cannot be decompressed .*; get a fresh copy"):
        build(folder, year=1999)


def test_shipped_totals_are_those_that_countries_report(shipped, build):
    """NOx of Czechia [Gg]: 2019 173.8, 2005 305.4, 1990 756.4 (EMEP/CEIP 2025), without memo items."""
    assert years_of(shipped) == tuple(range(1990, 2023))
    known = {"sectors": SECTORS, "countries": codes(shipped), "pollutants": ("NOx",)}
    for year, expected in ((2019, 173.8), (2005, 305.4), (1990, 756.4), (2020, 158.9)):
        totals = read_totals(shipped, InventorySettings(shipped, year), **known).emitted
        assert sum(value for key, value in totals.items() if key[0] == "CZ") == pytest.approx(expected, abs=0.1), year


def codes(folder):
    return [row.text("iso2") for row in read_table(folder / "countries.csv", ("iso2",))]


def a_run_of(simulated: int, **emissions):
    return assemble(
        airshed.Case.from_dict({
            "grid": {"area": {"lon": [5, 7], "lat": [50, 52]}, "spacing": "1 deg", "layers": ["100 m", "1000 m"]},
            "time": {"start": f"{simulated}-06-01T00:00:00Z", "length": "1 h"}, "chemistry": {"mechanism": "emep"},
            "boundary": {"profiles": "clean-air"}, "meteorology": {"kind": "uniform"},
            "emissions": {"inventory": str(resource("cases/west-europe/emissions")), **emissions},
        })
    )  # fmt: skip


def test_a_run_in_a_year_without_totals_uses_the_nearest_year_and_reports_it():
    (inventory,) = a_run_of(2025).sources
    assert inventory.notices()[0] == "no totals of 2025: those of 2022, the nearest year, are used"
    (inventory,) = a_run_of(2005).sources
    assert not any("nearest" in note for note in inventory.notes())
    with pytest.raises(DataError, match=r"no totals of 2025; set emissions.year to one of: 1990, 1991, .*, 2022"):
        a_run_of(2022, year=2025)


def test_a_pollutant_without_totals(folder, build):
    totals = folder / "national_totals.csv"
    totals.write_text("".join(line for line in totals.read_text().splitlines(keepends=True) if ",CO," not in line))
    with pytest.raises(DataError, match="of 2022 has no totals of CO"):
        build(folder)


def test_countries_in_the_area_that_report_less_are_told(folder, build):
    totals = folder / "national_totals.csv"
    whole = "".join(line for line in totals.read_text().splitlines(keepends=True) if ",2020," not in line)
    for old, new, notice in (
        ("\nBE,2022", "\nBE,2032", "BE has 64 totals only for other years (NOx of A_PublicPower of 2032, line 2)"),
        ("BE,2022,A_PublicPower,NOx", "BE,2021,A_PublicPower,NOx", "BE has a total only for other years (NOx of A_Pub"),
        (",NOx,Gg", ",PM10,Gg", "BE has no totals of NOx"),
    ):
        lines = [line.replace(old.strip(), new.strip()) if line[:2] == "BE" else line for line in whole.splitlines()]
        totals.write_text("\n".join(lines) + "\n")
        assert any(notice in text for text in build(folder).notices()), notice
    totals.write_text(whole)
    assert build(folder).notices() == []


def test_what_is_no_file_is_refused(folder, build):
    (folder / "cities.csv").unlink()
    os.mkfifo(folder / "cities.csv")
    with pytest.raises(DataError, match=r"cities.csv is a pipe or a device"):
        build(folder)


def test_a_spoilt_methane_grid(folder, build):
    path = folder / "edgar_methane_2012.nc"
    sound = xr.load_dataset(path)
    sound["methane_flux"].attrs["units"] = "mmol m-2 s-1"
    small = sound.assign(methane_flux=1000.0 * sound["methane_flux"].assign_attrs(sound["methane_flux"].attrs))
    small["methane_flux"].attrs = sound["methane_flux"].attrs
    for spoilt, words in (
        (sound.assign(methane_flux=1e9 * sound["methane_flux"]), "must be between 0 and 1 mol m-2 s-1"),
        (sound.assign_coords(lat=np.square(np.arange(sound.lat.size) / 20.0)), "the points of lat are not equidistant"),
        (sound.rename(methane_flux="flux"), "no variable methane_flux"),
        (sound.drop_vars("lon"), "needs a coordinate lon"),
    ):
        spoilt.to_netcdf(path)
        with pytest.raises(DataError, match=rf"edgar_methane_2012.nc.*{words}"):
            build(folder)
    small.to_netcdf(path)
    assert build(folder).rate(0.0).sum() > 0.0


def test_the_untouched_folder_is_fine(folder, build):
    assert build(folder).rate(0.0).sum() > 0.0
