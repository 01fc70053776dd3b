"""Places the emission of whole countries: proxies on the fine grid, then conservatively onto the grid of the case."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from airshed.core.data import conversion, numbers
from airshed.core.errors import DataError
from airshed.core.files import plain_file
from airshed.grid import Grid
from airshed.grid.coverage import FineWindow, box_around, coverage
from airshed.grid.places import in_degrees
from airshed.io.netcdf import load_netcdf
from airshed.io.tables import MISSING
from airshed.models.air.emissions.countries import Country
from airshed.models.air.emissions.places import read_cities, read_fuels, read_plants
from airshed.models.air.emissions.proxies import MARGIN, PLANTS, CountryFields, MethaneGrid, normalised

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

_MOST_METHANE = 1.0
"""[mol m-2 s-1]: a thousand times what the strongest landfills and mines emit from a cell."""


@dataclass(frozen=True)
class Footprint:
    """A country on the fine grid: its window, and its own and any country's part of each cell [1], (nlat, nlon)."""

    window: FineWindow
    share: Array
    land: Array


@dataclass(frozen=True)
class Placed:
    """The proxies of one country.

    whole        sum of each proxy over the whole country on the fine grid, one but for round-off
    field        the proxy on the grid of the case, (lat, lon), cut at its edge
    substitutes  the proxy taken in place of one that is empty in this country
    """

    whole: dict[tuple[str, str], float]
    field: dict[tuple[str, str], Array]
    substitutes: dict[str, str]


def footprints(countries: Mapping[str, Country], grid: Grid) -> dict[str, Footprint]:
    """The countries that have land inside the grid, on windows that hold all of their land."""
    found = {}
    for iso2, country in countries.items():
        if any(grid.meets(*box_around(polygon)) for polygon in country.polygons):
            window = FineWindow.around(country.polygons, MARGIN)
            share = coverage(country.polygons, window)
            if window.regridder(grid)(share).any():
                near = [each for other in countries.values() for each in other.polygons if window.meets(each)]
                found[iso2] = Footprint(window, share, coverage(near, window))
    return found


class Placer:
    """Knows cities, plants, fuels and methane, and turns them into proxies of a country on the grid of the case."""

    def __init__(
        self, folder: Path, countries: Iterable[str], pollutants: Sequence[str], grid: Grid, known: Collection[str]
    ) -> None:
        """Read the places of some countries; raises DataError, also for a country that is none of the ``known``."""
        names = tuple(countries)
        self._pollutants, self._grid = tuple(pollutants), grid
        self._fuels = read_fuels(folder / "fuel_factors.csv", self._pollutants)
        self._cities = read_cities(folder / "cities.csv", names, known)
        self._plants = read_plants(folder / "power_plants.csv", names, self._fuels, known)
        self._methane = read_methane(folder / "edgar_methane_2012.nc")

    def place(self, country: str, footprint: Footprint, proxies: Iterable[str]) -> Placed:
        """The named proxies of a country by (proxy, pollutant); only power plants differ by pollutant."""
        fields = CountryFields(
            footprint.window,
            footprint.share,
            footprint.land,
            self._cities[country],
            tuple(self._plants[country]),
            self._methane,
        )
        regrid = footprint.window.regridder(self._grid)
        placed = Placed({}, {}, {})
        for name in proxies:
            for index, pollutant in enumerate(self._pollutants):
                if index == 0 or name == PLANTS:
                    factors = {fuel: by_pollutant[pollutant] for fuel, by_pollutant in self._fuels.items()}
                    weights, taken = normalised(fields, name, factors)
                    whole, field = float(weights.sum()), regrid(weights)
                placed.whole[name, pollutant], placed.field[name, pollutant] = whole, field
                if taken != name:
                    placed.substitutes[name] = taken
        return placed


def read_methane(path: Path) -> MethaneGrid:
    """Read the methane flux [mol m-2 s-1] on its longitude-latitude grid; raises DataError."""
    plain_file(path, MISSING)
    file = load_netcdf(path)
    if "methane_flux" not in file or set(file["methane_flux"].dims) != {"lat", "lon"}:
        raise DataError(f"{path} has no variable methane_flux on lat and lon; get a fresh copy of the file")
    flux = file["methane_flux"].transpose("lat", "lon")
    lat, lon = (_uniform(path, axis, flux) for axis in ("lat", "lon"))
    change = conversion(flux.attrs, "mol m-2 s-1", f"{path}: methane_flux")
    grid = MethaneGrid(lon, lat, change.factor * numbers(flux.values, f"{path}: its methane_flux") + change.offset)
    wrong = ~((grid.flux >= 0.0) & (grid.flux <= _MOST_METHANE))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        place = f"lat {grid.lat[row]:g}, lon {grid.lon[column]:g}"
        raise DataError(
            f"{path}: methane_flux is {grid.flux[row, column]:g} at {place}; it must lie within 0 and "
            f"{_MOST_METHANE:g} mol m-2 s-1"
        )
    return grid


def _uniform(path: Path, axis: str, flux: "xr.DataArray") -> Array:
    """Return the coordinate of an axis whose points lie equally far apart [degrees]; raises DataError."""
    if axis not in flux.coords or flux.sizes[axis] < 2:
        raise DataError(f"{path}: methane_flux needs a coordinate {axis} of two or more values")
    places = in_degrees(axis, flux[axis].values, flux[axis].attrs, f"{path}: methane_flux")
    steps = np.diff(places)
    if np.any(np.abs(steps - steps[0]) > 0.01 * np.abs(steps[0])):
        raise DataError(f"{path}: the points of {axis} do not lie equally far apart; get a fresh copy of the file")
    return places
