"""The finished west-europe day is a plausible day of summer ozone, and its budgets close.

Each statement is a function of the day, so that a test can show its failure on a manipulated day.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr

from airshed import Case, Simulation
from airshed.core.files import resource

Array = npt.NDArray[np.float64]

CITIES = {"Ruhr": (7.0, 51.45), "Paris": (2.35, 48.86), "Randstad": (4.45, 51.95), "Milan": (9.19, 45.46)}
AFTERNOON, NIGHT = range(12, 17), [*range(7), *range(19, 24)]  # UTC
TOWN, COUNTRY = 0.45, (0.6, 1.2)  # degrees of latitude from a city's middle
MOLAR_MASS = {"O3": 48.00e-3, "NO2": 46.01e-3}
RARE = 1e3
"""Moles below which the amount of a species (an oxygen atom) is round-off of its gross production and loss."""


@dataclass(frozen=True)
class Day:
    """Hourly values at the ground (25, lat, lon) [ug/m3], the least mixing ratio of each species, and the budget."""

    ozone: Array
    nitrogen_dioxide: Array
    land: Array
    lon: Array
    lat: Array
    least: Array
    budget: xr.Dataset


@pytest.fixture(scope="module")
def day() -> Iterator[Day]:
    case = Case.load(resource("cases") / "west-europe", ["run.threads=1"])  # other tests run at the same time
    with Simulation(case) as simulation:
        model, hours, least = simulation.model, [], np.full(len(simulation.model.network.names), np.inf)
        for hour in range(25):
            simulation.run(until=f"{hour} h")
            density = simulation["air_density"][0].values
            hours.append({name: simulation[name][0].values * density * mass for name, mass in MOLAR_MASS.items()})
            least = np.minimum(least, model.mixing_ratios().min(axis=(1, 2, 3)))
        grid = model.grid
        ozone, nitrogen_dioxide = (1e9 * np.array([each[name] for each in hours]) for name in MOLAR_MASS)
        yield Day(ozone, nitrogen_dioxide, model.parts.land, grid.x, grid.y, least, simulation.budget())


def distance(day: Day, name: str) -> Array:
    """Return the distance of the cells from a city [degrees of latitude]."""
    lon, lat = CITIES[name]
    east = (day.lon - lon)[None, :] * np.cos(np.radians(lat))
    return np.asarray(np.hypot(east, (day.lat - lat)[:, None]))


def town_cell(day: Day, name: str) -> tuple[int, int]:
    """Return the cell of a city with the highest mean NO2."""
    mean = np.where(distance(day, name) <= TOWN, day.nitrogen_dioxide.mean(axis=0), -1.0)
    row, column = np.unravel_index(int(mean.argmax()), mean.shape)
    return int(row), int(column)


def afternoon_exceeds_night(day: Day) -> bool:
    """Return whether ozone over land is higher in the afternoon in 99 of 100 cells, and by 10 ug/m3 on average."""
    rise = (day.ozone[AFTERNOON].mean(axis=0) - day.ozone[NIGHT].mean(axis=0))[day.land > 0.5]
    return bool(np.mean(rise > 0.0) >= 0.99 and rise.mean() > 10.0)


def peaks_at(day: Day, name: str) -> bool:
    """Return whether the day's mean NO2 peaks in a town, compared with its surroundings and with all land cells."""
    mean, away, land = day.nitrogen_dioxide.mean(axis=0), distance(day, name), day.land > 0.5
    country = mean[(away > COUNTRY[0]) & (away <= COUNTRY[1]) & land]
    town = mean[town_cell(day, name)]
    return bool(town > 1.3 * np.median(country) and np.mean(mean[land] < town) > 0.9)


def titrated_at(day: Day, name: str) -> bool:
    """Return whether ozone is lower where NO2 is higher, around a town at night and in it from hour to hour.

    In the worst hour of the night at least two fifths of the afternoon's ozone must be gone.
    """
    ozone, dioxide = day.ozone[NIGHT].mean(axis=0), day.nitrogen_dioxide[NIGHT].mean(axis=0)
    region, cell = (distance(day, name) <= COUNTRY[1]) & (day.land > 0.5), (slice(None), *town_cell(day, name))
    in_space = np.corrcoef(ozone[region], dioxide[region])[0, 1]
    in_time = np.corrcoef(day.ozone[cell], day.nitrogen_dioxide[cell])[0, 1]
    left = day.ozone[cell][NIGHT].min() / day.ozone[cell][AFTERNOON].mean()
    return bool(in_space < -0.6 and in_time < -0.5 and left < 0.6)


def values_are_usual(day: Day) -> bool:
    """Return whether O3 and NO2 at the ground are within 0 to 250 ug/m3, with ozone above 60 and NO2 above 20."""
    inside = all(np.all((field >= 0.0) & (field <= 250.0)) for field in (day.ozone, day.nitrogen_dioxide))
    return bool(inside and day.ozone.max() > 60.0 and day.nitrogen_dioxide.max() > 20.0)


def nothing_is_negative(day: Day) -> bool:
    """Return whether no mixing ratio of any species in any cell is negative at any full hour."""
    return bool(np.all(day.least >= 0.0))


def budgets_close(day: Day) -> bool:
    """Return whether the terms of the budgets explain the change to 1e-10 of the initial and exchanged amounts."""
    budget = day.budget.sel(species=day.budget["throughput"] > RARE)
    balance = budget["inflow"] - budget["outflow"] + budget["emitted"] - budget["deposited"]
    rest = budget["change"] - (balance + budget["chemistry"] + budget["clipped"])
    return bool((np.abs(rest) <= 1e-10 * budget["throughput"]).all())


def drift_is_small(day: Day) -> bool:
    """Return whether the iteration error is less than 0.5 % of the emitted nitrogen and sulphur."""
    families = day.budget.sel(species=["nitrogen", "sulphur"])
    return bool((np.abs(families["drift"]) < 5e-3 * families["emitted"]).all())


def deposition_counts(day: Day) -> bool:
    """Return whether the ground takes up 1 to 10 % of the ozone that enters."""
    ozone = day.budget.sel(species="O3")
    return bool(0.01 < float(ozone["deposited"] / ozone["inflow"]) < 0.1)


@pytest.mark.thorough
def test_ozone_over_land_is_higher_in_the_afternoon_than_at_night(day: Day) -> None:
    assert afternoon_exceeds_night(day)
    assert not afternoon_exceeds_night(replace(day, ozone=np.roll(day.ozone, 12, axis=0)))
    assert not afternoon_exceeds_night(replace(day, ozone=np.broadcast_to(day.ozone.mean(axis=0), day.ozone.shape)))


@pytest.mark.thorough
@pytest.mark.parametrize("name", CITIES)
def test_nitrogen_dioxide_peaks_over_the_towns(day: Day, name: str) -> None:
    assert peaks_at(day, name)
    country = np.median(day.nitrogen_dioxide, axis=(1, 2), keepdims=True)
    silent = np.where(distance(day, name) <= COUNTRY[0], country, day.nitrogen_dioxide)  # a town without emission
    assert not peaks_at(replace(day, nitrogen_dioxide=silent), name)
    assert not peaks_at(replace(day, nitrogen_dioxide=np.full_like(day.nitrogen_dioxide, 1.0)), name)


@pytest.mark.thorough
@pytest.mark.parametrize("name", CITIES)
def test_ozone_is_titrated_in_the_towns_at_night(day: Day, name: str) -> None:
    assert titrated_at(day, name)
    assert not titrated_at(replace(day, ozone=day.ozone.swapaxes(1, 2)), name)
    assert not titrated_at(replace(day, ozone=np.roll(day.ozone, 12, axis=0)), name)
    untitrated = np.maximum.accumulate(day.ozone, axis=0)  # ozone without titration and deposition at night
    assert not titrated_at(replace(day, ozone=untitrated), name)


@pytest.mark.thorough
def test_hourly_values_are_usual(day: Day) -> None:
    assert values_are_usual(day)
    assert not values_are_usual(replace(day, ozone=4.0 * day.ozone))
    assert not values_are_usual(replace(day, nitrogen_dioxide=day.nitrogen_dioxide - 1.0))
    assert not values_are_usual(replace(day, nitrogen_dioxide=0.1 * day.nitrogen_dioxide))
    assert not values_are_usual(replace(day, ozone=np.full_like(day.ozone, np.nan)))


@pytest.mark.thorough
def test_no_mixing_ratio_is_negative(day: Day) -> None:
    assert nothing_is_negative(day)
    assert not nothing_is_negative(replace(day, least=np.append(day.least, -1e-30)))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("term", "factor"), [("inflow", 1.0 + 1e-9), ("deposited", 0.0), ("emitted", 0.0), ("chemistry", 1.001)]
)
def test_budgets_of_species_and_families_close(day: Day, term: str, factor: float) -> None:
    assert {"nitrogen", "sulphur"} <= set(day.budget["species"].values)
    assert budgets_close(day)
    assert not budgets_close(replace(day, budget=day.budget.assign({term: factor * day.budget[term]})))


@pytest.mark.thorough
def test_the_iteration_loses_no_nitrogen_and_no_sulphur(day: Day) -> None:
    assert drift_is_small(day)
    budget = day.budget.assign(drift=day.budget["drift"] - 0.01 * day.budget["emitted"])
    assert not drift_is_small(replace(day, budget=budget))


@pytest.mark.thorough
def test_deposition_takes_its_share_of_the_ozone(day: Day) -> None:
    assert deposition_counts(day)
    assert not deposition_counts(replace(day, budget=day.budget.assign(deposited=0.0 * day.budget["deposited"])))
