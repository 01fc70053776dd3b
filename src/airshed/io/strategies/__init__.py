"""Strategies for writing output and restarts from several ranks, with the same content, selected at run time.

gather   the root collects and writes                      one netCDF file (classic, or compressed netCDF-4)
files    each rank writes private files                    a folder of netCDF-4 files with a manifest
mpiio    all ranks write one file by collective MPI-IO     one netCDF file (classic)
pnetcdf  the same by the library PnetCDF                   one netCDF file (classic)
netcdf4  the same by parallel netCDF-4 and HDF5            one netCDF-4 file
zarr     each rank writes shards                           a Zarr store
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from airshed.io.strategies.choice import AUTO, COMPRESSING, Strategy, check_there, choose, probe_output
from airshed.io.strategies.files import PrivateRecords, gather_store
from airshed.io.strategies.in_place import SharedFile
from airshed.io.strategies.journal import Store
from airshed.io.strategies.library import ParallelRecords, PnetcdfFile
from airshed.io.strategies.store import OutputTarget, kind_of
from airshed.io.strategies.zarr_store import Shards

_STORES: Final[dict[str, Callable[[OutputTarget], Store]]] = {
    "gather": gather_store,
    "files": PrivateRecords,
    "mpiio": SharedFile,
    "pnetcdf": PnetcdfFile,
    "netcdf4": ParallelRecords,
    "zarr": Shards,
}


def open_store(strategy: Strategy, place: OutputTarget) -> tuple[Strategy, Store, Mapping[str, float]]:
    """Return a strategy, its store, and for "auto" the time [s] of a probe by each strategy.

    Raises OutputError if this machine lacks a library for it.
    """
    measured: Mapping[str, float] = {}
    if strategy.name == AUTO:
        probe = partial(probe_output, place, _STORES)
        name, measured = choose(place.channel, place.records, _candidates(place), probe)
        strategy = replace(strategy, name=name)
    with place.channel.together():
        check_there(strategy)
    return strategy, _STORES[strategy.name](place), measured


def _candidates(place: OutputTarget) -> list[str]:
    """Return the candidates of "auto": for a resumed run the strategies that can continue its records."""
    names = [name for name in _STORES if place.compression == "none" or name in COMPRESSING]
    found = place.channel.on_root(lambda: kind_of(place.records))
    # with another compression none can continue them; the check of the records raises that error
    return [name for name in names if found in (None, _STORES[name](place).kind)] or names
