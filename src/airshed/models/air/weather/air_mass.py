"""The air mass over the whole area, as the humidity near the ground tells it, for data that has no temperature."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.models.air.weather import atmosphere, temperature
from airshed.models.air.weather.columns import above_ground

Array = NDArray[np.float64]


def humidity_plane(dataset: xr.Dataset, sources: Sequence[int]) -> Array:
    """Return the large-scale sea-level temperature [K] that the humidity near the ground tells, of all times.

    dataset  ERA5 as ``read_era5`` reads it, around the whole grid; 0 everywhere where it has no humidity or pressure
    sources  the places in the data of the instants that count, each once
    """
    lat, lon = (np.asarray(dataset[name].values, dtype=np.float64) for name in ("latitude", "longitude"))
    estimates = np.zeros((lat.size, lon.size))
    if "q" not in dataset or not {"sp", "lnsp"} & set(dataset):
        return estimates
    places = list(dict.fromkeys(sources))
    for place in places:
        pressure = surface_pressure(dataset, place)
        near_ground = atmosphere.mole_fraction(np.maximum(_lowest_humidity(dataset, place, pressure), 1e-7))
        estimates += temperature.temperature_of_humidity(near_ground, pressure) / len(places)
    return temperature.fit_plane(estimates, lat, lon)


def _at(dataset: xr.Dataset, name: str, place: int) -> xr.DataArray:
    field = dataset[name]
    return field.isel(time=place) if "time" in field.dims else field


def surface_pressure(dataset: xr.Dataset, place: int) -> Array:
    """Return the surface pressure [Pa] of an instant."""
    if "sp" in dataset:
        return np.asarray(_at(dataset, "sp", place).values, dtype=np.float64)
    return np.exp(np.asarray(_at(dataset, "lnsp", place).values, dtype=np.float64))


def _lowest_humidity(dataset: xr.Dataset, place: int, pressure: Array) -> Array:
    """Return the specific humidity of the lowest level above ground."""
    humidity = _at(dataset, "q", place)
    if dataset.attrs["level_kind"] == "model":
        # single precision, as the columns are kept: archives hold no more
        return np.asarray(humidity.isel(level=0).values.astype(np.float32), dtype=np.float64)
    values = np.asarray(humidity.values.astype(np.float32), dtype=np.float64)
    levels = np.asarray(dataset["level"].values, dtype=np.float64)[:, None, None]
    return np.asarray(above_ground(np.broadcast_to(levels, values.shape), pressure, values)[0])
