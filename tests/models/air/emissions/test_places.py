import numpy as np
import pytest

from airshed.core.errors import DataError
from airshed.core.files import resource
from airshed.grid.coverage import FineWindow
from airshed.models.air.emissions.countries import Cities, Plant, deduplicate, read_cities, read_fuels, read_plants
from airshed.models.air.emissions.proxies import CITY_DENSITY, spread

SHIPPED = resource("cases/west-europe/emissions")


def plant(name, lon=6.6, lat=51.0, capacity=None, fuel="Unknown", source="EPRTR"):
    return Plant(name, lon, lat, capacity, fuel, source)


COAL = plant("Neurath Coal Power Plant Germany", 6.6121, 51.0379, 2205.0, "Coal", "GEODB")


def test_a_register_entry_at_a_listed_plant_is_the_same_plant():
    assert deduplicate([plant("RWE Power AG", 6.6165, 51.0391), COAL]) == [COAL]
    far = plant("RWE Power AG", 6.75, 51.0391)
    assert deduplicate([far, COAL]) == [far, COAL]


def test_a_distinctive_name_joins_further_apart_and_a_common_word_does_not():
    assert deduplicate([COAL, plant("Kraftwerk Neurath", 6.75, 51.05)]) == [COAL]
    common = [plant(f"Kraftwerk {name}", 6.6, 51.0 + 0.03 * i) for i, name in enumerate(("Alpha", "Bravo", "Delta"))]
    more = [plant(f"Kraftwerk {name}", 8.0, 51.0 + 0.03 * i) for i, name in enumerate(("Gamma", "Kappa", "Omega"))]
    assert deduplicate([*common, *more]) == [*common, *more]


def test_two_units_of_one_site_stay_unless_fuel_and_capacity_agree():
    second = plant("Neurath BOA", 6.6130, 51.0379, 1100.0, "Coal", "GEODB")
    gas = plant("Neurath GT", 6.6121, 51.0379, 2205.0, "Gas", "GEODB")
    twin = plant("Neurath again", 6.6121, 51.0379, 2200.0, "Coal", "GEODB")
    assert deduplicate([COAL, second, gas]) == [COAL, second, gas]
    assert deduplicate([COAL, twin]) == [COAL]


def test_the_shipped_registers_overlap_and_are_joined():
    fuels = read_fuels(SHIPPED / "fuel_factors.csv", ["NOx"])
    plants = read_plants(SHIPPED / "power_plants.csv", ["DE", "NL"], fuels)
    rows = sum(line.startswith("DE,") for line in (SHIPPED / "power_plants.csv").read_text().splitlines())
    assert len(plants["DE"]) < 0.6 * rows
    neurath = [p for p in plants["DE"] if "Neurath" in p.name]
    assert sum(p.capacity for p in neurath) == 4405.0  # two stations, none of the register's two repetitions
    assert [p.name for p in plants["NL"] if "Maasvlakte" in p.name and p.capacity is None] == []


def test_fuels_weigh_by_what_a_megawatt_emits():
    fuels = read_fuels(SHIPPED / "fuel_factors.csv", ["NOx", "SOx"])
    assert fuels["Coal"]["SOx"] > 1000.0 * fuels["Gas"]["SOx"]
    assert fuels["Coal"]["NOx"] == pytest.approx(209.0 * 0.45 / 0.38)


def test_a_plant_without_a_fuel_needs_the_factors_of_an_unknown_one(tmp_path):
    path = tmp_path / "power_plants.csv"
    path.write_text("iso2,name,longitude,latitude,capacity_mw,fuel,source\nBE,Doel,4.3,51.3,,,EPRTR\n")
    assert read_plants(path, ["BE"], {"Unknown": {}})["BE"][0].fuel == "Unknown"
    with pytest.raises(DataError, match=r"line 2: fuel is empty, and fuel_factors.csv has no 'Unknown'"):
        read_plants(path, ["BE"], {"Coal": {}})


def test_districts_of_a_city_are_not_counted_again(tmp_path):
    path = tmp_path / "cities.csv"
    path.write_text(
        "iso2,name,latitude,longitude,population\n"
        "FR,Paris,48.853,2.349,2138551\nFR,Paris 15 Vaugirard,48.840,2.300,229713\nFR,Versailles,48.804,2.134,85416\n"
        "BE,Antwerp,51.220,4.400,529247\n"
    )
    cities = read_cities(path, ["FR", "DE"])
    assert cities["FR"].population.tolist() == [2138551.0, 85416.0]
    assert cities["DE"].population.size == 0


def test_a_city_keeps_its_people_on_the_land_and_widens_with_their_number():
    window = FineWindow(0, 1000, 60, 60)
    sea = np.ones((60, 60))
    sea[:, 31:] = 0.0
    cities = Cities(np.array([1.52, 0.81]), np.array([51.52, 50.5]), np.array([1.0e6, 2.0e4]))
    field = spread(cities, window, sea)
    assert field.sum() == pytest.approx(1.02e6, rel=1e-12)
    assert field[:, 31:].max() == 0.0
    inland = spread(Cities(np.array([1.51]), np.array([51.51]), np.array([4.0e6])), window, np.ones((60, 60)))
    density = inland / (window.area * 1e-6)
    assert density.max() == pytest.approx(CITY_DENSITY, rel=0.1)
    small = spread(Cities(np.array([1.525]), np.array([51.525]), np.array([2.0e4])), window, np.ones((60, 60)))
    assert (inland > 0.0).sum() > 100 > (small > 1.0).sum()


def test_a_city_without_land_on_the_map_stays_where_it_is():
    cities = Cities(np.array([0.52, 9.0]), np.array([50.52, 50.0]), np.array([5e3, 7e3]))
    field = spread(cities, FineWindow(0, 1000, 60, 60), np.zeros((60, 60)))
    assert field[10, 10] == 5e3
    assert field.sum() == 5e3  # the other one is outside the window


def test_larger_cities_or_else_the_largest():
    cities = Cities(np.zeros(3), np.zeros(3), np.array([1e6, 5e5, 1e4]))
    assert cities.larger_than(4e5).population.tolist() == [1e6, 5e5]
    assert cities.larger_than(5e6).population.tolist() == [1e6]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("FR,Paris,48.8,2.3,-5", "line 2: population is -5, but must be at least 0"),
        ("FR,Paris,48.8,2.3,many", "line 2: population 'many' is not a number"),
        ("FR,Paris,98.8,2.3,5", "line 2: latitude is 98.8, but must be at most 90"),
        ("FR,Paris,nan,2.3,5", "line 2: latitude 'nan' is not a number"),
        ("FR,Paris,48.8,2.3", "line 2: 4 cells, but 5 columns"),
    ],
)
def test_a_faulty_city_is_refused_with_its_line(tmp_path, line, message):
    path = tmp_path / "cities.csv"
    path.write_text(f"iso2,name,latitude,longitude,population\n{line}\n")
    with pytest.raises(DataError, match=message) as caught:
        read_cities(path, ["FR"])
    assert "cities.csv" in str(caught.value)
