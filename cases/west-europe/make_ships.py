"""Make emissions/ships.nc: ships at sea, which the national totals of an inventory leave out.

    python cases/west-europe/make_ships.py

540 Gg of NOx a year in the North Sea and the western Baltic (Aulinger et al. 2016, Atmos. Chem. Phys. 16, 739-758, for
2011; the abstract gives "nitrogen", here NOx in mass of NO2), taken as those of the Greater North Sea. Spread
evenly over its 750 000 km2 (OSPAR region II) and over the hours of the year; 95 % of it NO. The area is
quoted from memory. SO2 is a tenth of the 123 Gg of that year, as fuel there has had at most 0.1 % sulphur since 2015
and had 1 % before.
"""

from pathlib import Path

import numpy as np
import xarray as xr

from airshed.grid import Grid
from airshed.models.air.landcover import land_fraction

AREA = 750e9
"""[m2]"""
YEAR = 365.25 * 86400.0
NOX, SO2 = 540e9 / 46.0055, 12.3e9 / 64.064
"""[mol per year]"""


def ships(grid: Grid) -> xr.Dataset:
    """Return the flux [mol m-2 s-1] of each cell: that of the sea times the share of sea."""
    sea = 1.0 - land_fraction(grid)
    amounts = {"NO": 0.95 * NOX, "NO2": 0.05 * NOX, "SO2": SO2}
    return xr.Dataset(
        {
            name: (("lat", "lon"), (amount / YEAR / AREA * sea).astype(np.float32), {"units": "mol m-2 s-1"})
            for name, amount in amounts.items()
        },
        {"lat": ("lat", grid.lat, {"units": "degrees_north"}), "lon": ("lon", grid.lon, {"units": "degrees_east"})},
        {"title": "Ships in the North Sea and the Channel, after Aulinger et al. 2016"},
    )


if __name__ == "__main__":
    west_europe = Grid.regular(lon=(0, 10), lat=(45, 55), spacing=0.25, layers=[20])
    packed = {name: {"zlib": True} for name in ("NO", "NO2", "SO2")}
    ships(west_europe).to_netcdf(Path(__file__).parent / "emissions" / "ships.nc", encoding=packed)
