"""Pairs as xarray datasets: one row for each pair, and the layout of paired data that MELODIES-MONET reads.

References
----------
MELODIES-MONET documentation, "Adding New Datasets", https://melodies-monet.readthedocs.io
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from airshed.evaluate.pairing import Pairs
from airshed.observations.observation import Observations

if TYPE_CHECKING:
    import xarray as xr

Array = npt.NDArray[np.float64]


def pair_dataset(pairs: Pairs) -> "xr.Dataset":
    """Return all pairs in one dimension ``pair``, with the values of each run along the dimension ``run``."""
    import xarray as xr

    of = pairs.observations
    words = {name: ("pair", getattr(of, name).astype(str).astype(object)) for name in ("station", "species", "unit")}
    numbers = {"longitude": (of.lon, "degrees_east"), "latitude": (of.lat, "degrees_north")}
    return xr.Dataset(
        {
            **words,
            **{name: ("pair", values, {"units": unit}) for name, (values, unit) in numbers.items()},
            "begin": ("pair", _moments(pairs, of.begin), {"long_name": "beginning of the observed interval, UTC"}),
            "end": ("pair", _moments(pairs, of.end), {"long_name": "end of the observed interval, UTC"}),
            "observed": ("pair", of.value, {"comment": "in the unit of each pair"}),
            "modelled": (("run", "pair"), pairs.modelled, {"comment": "in the unit of each pair"}),
            "least": (("run", "pair"), pairs.low, {"long_name": "least value of the cell and its neighbours"}),
            "greatest": (("run", "pair"), pairs.high, {"long_name": "greatest value of the cell and its neighbours"}),
        },
        {"run": list(pairs.runs)},
    )


def monet_datasets(pairs: Pairs, run: int) -> "Iterator[tuple[str, xr.Dataset]]":
    """Yield the paired data of one run for each averaging period, with a suffix for the file name, "" for the first.

    Dimensions are ``time`` (beginning of the observed interval, UTC) and ``x`` (stations). The observed values have
    the name of the species, the modelled values that name with ``_new``, as MELODIES-MONET renames alike variables.
    """
    of = pairs.observations
    periods, counts = np.unique(np.round(of.end - of.begin), return_counts=True)
    for place, period in enumerate(periods[np.argsort(-counts, kind="stable")].tolist()):
        rows = np.flatnonzero(np.round(of.end - of.begin) == period)
        yield f"_{period / 3600.0:g}h" if place else "", _monet_dataset(pairs, run, rows, period)


def _monet_dataset(pairs: Pairs, run: int, rows: npt.NDArray[np.intp], period: float) -> "xr.Dataset":
    import xarray as xr

    of = pairs.observations
    times, at_time = np.unique(of.begin[rows], return_inverse=True)
    sites, first, at_site = np.unique(of.station[rows], return_index=True, return_inverse=True)
    variables: dict[str, tuple[tuple[str, str], Array, dict[str, str]]] = {}
    for species in dict.fromkeys(of.species[rows].tolist()):
        mine = of.species[rows] == species
        for name, values, what in (
            (species, of.value, "observed"),
            (f"{species}_new", pairs.modelled[run], f"modelled by {pairs.runs[run]}"),
        ):
            table = np.full((times.size, sites.size), np.nan)
            table[at_time[mine], at_site[mine]] = values[rows][mine]
            variables[name] = (("time", "x"), table, {"units": pairs.units[species], "long_name": f"{species}, {what}"})
    coordinates = {
        "time": ("time", _moments(pairs, times), {"long_name": "beginning of the observed interval, UTC"}),
        "x": np.arange(sites.size),
        "siteid": ("x", sites.astype(object)),
        **_places(of, rows[first]),
    }
    about = {"title": f"Pairs of {pairs.runs[run]} with observations", "source": "Airshed"}
    return xr.Dataset(variables, coordinates, {**about, "averaging_period": f"{period:g} s"})


def _places(of: Observations, rows: npt.NDArray[np.intp]) -> dict[str, tuple[str, Array, dict[str, str]]]:
    return {
        "longitude": ("x", of.lon[rows], {"units": "degrees_east"}),
        "latitude": ("x", of.lat[rows], {"units": "degrees_north"}),
    }


def _moments(pairs: Pairs, seconds: Array) -> "npt.NDArray[np.datetime64]":
    """Return times [s] of a window as UTC."""
    return np.asarray(pairs.start.astype("datetime64[ns]") + np.round(seconds * 1e3).astype("timedelta64[ms]"))
