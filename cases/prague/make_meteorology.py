"""Make the semi-synthetic weather of this case from ERA5's surface fields: pressure, 10-m wind, 2-m temperature.

    python cases/prague/make_meteorology.py FOLDER      the folder with era5_sfc_europe_1deg_24x7h.nc

The fields above the surface follow from balance assumptions, not from observations:

    z(p) = T / L (1 - (p / msl)^(R L / g))    hydrostatic, with the lapse rate L = 6.5 K/km of the standard atmosphere;
                                              the ground is at sea level everywhere
    T: mean of T2m over 9 x 9 degrees; msl: over 5 x 5 degrees, as mountains and their effect on msl would cause wind
    w_g(p) = i g / f (dz/dx + i dz/dy)        w = u + i v; geostrophic on each level; its shear is the thermal
                                              wind (Holton & Hakim 2013, An Introduction to Dynamic Meteorology, ch. 3)
    w(p) = w_g(p) + (w10 - w_g(msl)) exp(-(1 + i) (z - 10 m) / D)      spiral of Ekman 1905, D = 400 m

At 10 m the wind is that of ERA5; far above it is geostrophic.
"""

import sys
from pathlib import Path

import numpy as np
import xarray as xr

LAPSE, GRAVITY, GAS, EARTH, TURN = 6.5e-3, 9.80665, 287.05, 6.371e6, 7.2921e-5
DEPTH = 400.0  # m
LEVELS = [1030, 1020, 1010, 1000, 990, 980, 970, 955, 940, 920, 900, 875, 850, 800, 750, 700, 600, 500, 400, 300, 250]
AREA = {"lon": slice(6.0, 24.0), "lat": slice(44.0, 56.0)}
TIMES = slice("2026-03-26T19:00", "2026-03-28T15:00")
HERE = Path(__file__).parent


def balanced(surface: xr.Dataset) -> xr.Dataset:
    """Return the fields as ERA5 has them on levels of pressure [hPa]."""
    p = xr.DataArray(LEVELS, dims="pressure_level", coords={"pressure_level": LEVELS}, attrs={"units": "hPa"})
    surface = surface.assign(msl=_smooth(surface.msl, 5))
    ratio = (100.0 * p / surface.msl) ** (GAS * LAPSE / GRAVITY)
    warmth = _smooth(surface.t2m, 9)
    z = warmth / LAPSE * (1.0 - ratio)
    above = _geostrophic(z)
    below = GAS * warmth / (GRAVITY * surface.msl) * _geostrophic(surface.msl)  # dz = R T / (g p) dp
    spiral = np.exp(-(1.0 + 1j) * (z.clip(min=10.0) - 10.0) / DEPTH)
    wind = above + (surface.u10 + 1j * surface.v10 - below) * spiral
    fields = {
        "u": (wind.real, "m s**-1"), "v": (wind.imag, "m s**-1"), "t": (warmth * ratio, "K"),
        "sp": (surface.msl, "Pa"), "t2m": (surface.t2m, "K"), "u10": (surface.u10, "m s**-1"),
        "v10": (surface.v10, "m s**-1"),
    }  # fmt: skip
    return xr.Dataset({name: field.astype("f4").assign_attrs(units=unit) for name, (field, unit) in fields.items()})


def _smooth(field: xr.DataArray, points: int) -> xr.DataArray:
    """Return the running mean over a number of points in both directions; their spacing is one degree."""
    return field.rolling(lat=points, lon=points, center=True, min_periods=1).mean()


def _geostrophic(z: xr.DataArray) -> xr.DataArray:
    """The wind u + i v [m/s] that balances the slope of a surface of equal pressure at heights z [m]."""
    latitude, degree = np.radians(z.lat), EARTH * np.radians(1.0)
    slope = z.differentiate("lon") / np.cos(latitude) + 1j * z.differentiate("lat")
    return 1j * GRAVITY / (2.0 * TURN * np.sin(latitude)) * slope / degree


def main(folder: Path) -> None:
    """Write meteorology/weather.nc in the folder of this file."""
    surface = xr.open_dataset(folder / "era5_sfc_europe_1deg_24x7h.nc").load()
    surface = surface.rename(longitude="lon", latitude="lat").sortby("lat").sel(time=TIMES)
    made = balanced(surface).sel(AREA).transpose("time", "pressure_level", "lat", "lon")
    made = made.rename(lon="longitude", lat="latitude")
    made.attrs = {"title": "Semi-synthetic weather: balance assumed above ERA5's surface; see DATA.md"}
    packed = {name: {"zlib": True, "complevel": 4, "shuffle": True} for name in made.data_vars}
    made.to_netcdf(HERE / "meteorology" / "weather.nc", encoding=packed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
