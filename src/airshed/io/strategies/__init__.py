"""Ways to write output and restarts from several ranks, all with the same content, chosen at run time.

gather   the root collects and writes                      one netCDF-4 file
files    each rank writes private files                    a folder of netCDF-4 files with a manifest
mpiio    all ranks write one file by collective MPI-IO     one netCDF file (CDF-5)
pnetcdf  the same by the library PnetCDF                   one netCDF file (CDF-5)
netcdf4  the same by parallel netCDF-4 and HDF5            one netCDF-4 file
zarr     each rank writes shards                           a Zarr store
"""

from collections.abc import Callable
from typing import Final

from airshed.core.errors import OutputError
from airshed.io.strategies.files import PrivateRecords
from airshed.io.strategies.gather import GatheredRecords
from airshed.io.strategies.names import Strategy, missing
from airshed.io.strategies.store import Place, Store

_STORES: Final[dict[str, Callable[[Place], Store]]] = {"gather": GatheredRecords, "files": PrivateRecords}


def open_store(strategy: Strategy | str, place: Place) -> tuple[Strategy, Store]:
    """Return the strategy and what writes by it; raises OutputError where this machine lacks a library for it."""
    chosen = Strategy.parse(strategy) if isinstance(strategy, str) else strategy
    with place.channel.together():
        reason = missing(chosen.name)
        if reason is not None:
            raise OutputError(f"the strategy {chosen.name!r} is not there: {reason}")
    return chosen, _STORES[chosen.name](place)
