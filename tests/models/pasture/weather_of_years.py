"""Weather of some years at a station: waves, and random rain with a seed."""

import numpy as np

from airshed.models.pasture.weather.station import UNITS, Column, Station


def station(
    days: int = 730, seed: int = 1, first: str = "2001-01-01", humidity: str = "vapour_pressure_deficit"
) -> Station:
    """Return the weather of a station in the subtropics: wet summers, frosts in winter."""
    random, dates = np.random.default_rng(seed), np.datetime64(first, "D") + np.arange(days)
    season = np.cos(2.0 * np.pi * (np.arange(days) - 15.0) / 365.25)
    rainy = random.random(days) < 0.2 + 0.1 * season
    low = 12.0 + 8.0 * season + random.normal(0.0, 3.0, days)
    columns = {
        "rain": np.round(np.where(rainy, random.gamma(0.7, 14.0, days), 0.0), 1),
        "pan_evaporation": np.round(5.0 + 2.5 * season + random.uniform(-1.0, 1.0, days), 1),
        "radiation": np.round(20.0 + 6.0 * season - 6.0 * rainy, 1),
        "max_temperature": np.round(low + 13.0, 1),
        "min_temperature": np.round(low, 1),
        humidity: np.round(15.0 + 6.0 * season - 8.0 * rainy, 1),
    }
    made = {name: Column(values, UNITS[name], name) for name, values in columns.items()}
    return Station("Nowhere", "made up", -25.0, 150.0, dates, made)


def met_file(weather: Station) -> str:
    """Return the weather as the text of a .met file."""
    labels = {
        "maxt": "max_temperature", "mint": "min_temperature", "rain": "rain", "pan": "pan_evaporation",
        "radn": "radiation", "vpd": "vapour_pressure_deficit",
    }  # fmt: skip
    years = weather.dates.astype("datetime64[Y]")
    of_year = (weather.dates - years.astype("datetime64[D]")).astype(int) + 1
    rows = zip(years.astype(int) + 1970, of_year, *(weather[name] for name in labels.values()), strict=True)
    head = [
        "[nowhere.met.weather]", "latitude = -25.0 (decimal degrees)", "longitude = 150.0 (decimal degrees)",
        f"year day {' '.join(labels)}", "() () (oC) (oC) (mm) (mm) (MJ/m2) (hPa)",
    ]  # fmt: skip
    return "\n".join([*head, *(" ".join(map(str, row)) for row in rows)]) + "\n"
