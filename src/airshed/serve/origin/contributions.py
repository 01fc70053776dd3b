"""Contributions of sources as documents, from the Dataset of the sensitivities of a receptor."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.inverse.receptors.dataset import INVENTORY
from airshed.inverse.receptors.results import rows_of
from airshed.models.air.emissions.sectors import sector_in_words
from airshed.serve.protocol.origin import OriginHour, OriginRow

if TYPE_CHECKING:
    import xarray as xr

_LEAST: Final = 1e-5
"""Smallest contribution that is listed, relative to the largest one."""

_DEPOSITION: Final = {
    "relative_dry_deposition_conductance": "dry deposition", "relative_wet_deposition_rate": "wet deposition",
    "relative_sea_surface_velocity": "uptake by the sea",
}  # fmt: skip
_AIR: Final[Mapping[str, tuple[Any, str]]] = {
    "air at the beginning": ("initial", "initial air"), "air above": ("top", "air above the model"),
}  # fmt: skip
_SIDES: Final = "air at the sides"


def origin_rows(found: "xr.Dataset") -> list[OriginRow]:
    """Return the contributions of all sources, the largest first; lateral boundaries by side."""
    rows = [*_emission(found), *_sides(found), *_deposition(found)]
    least = _LEAST * max((abs(row.value) for row in rows), default=0.0)
    return sorted((row for row in rows if abs(row.value) > least), key=lambda row: -abs(row.value))


def explained(found: "xr.Dataset") -> float:
    """Return the sum of the contributions of emission and of the air that enters [mol/mol]."""
    return float(found["contribution"].sum())


def origin_maps(found: "xr.Dataset") -> dict[str, Array]:
    """Return maps of the contribution of emission [mol/mol] by pollutant, the largest first.

    Species of the inventory are joined to the pollutant that countries report.
    """
    maps: dict[str, Array] = {}
    for name, pollutant, each in zip(
        found["species"].values.tolist(), found["pollutant"].values.tolist(), found["emission_contribution"].values,
        strict=True,
    ):  # fmt: skip
        if each.any():
            key = pollutant or name
            maps[key] = maps.get(key, np.zeros_like(each)) + each
    return dict(sorted(maps.items(), key=lambda item: -float(np.abs(item[1]).sum())))


def origin_hours(found: "xr.Dataset") -> list[OriginHour]:
    """Return the contribution of the emission of each hour, the first hour first."""
    start = np.datetime64(str(found.attrs["start"]))
    end = start + np.timedelta64(round(1e3 * float(found.attrs["receptor_time"][-1])), "ms")
    values = found["hour_contribution"].sum("species").values
    times = found["hour"].values.astype("datetime64[ms]")
    return [
        OriginHour(hours=float((end - time) / np.timedelta64(1, "h")), time=f"{time}Z", value=float(value))
        for time, value in zip(times, values, strict=True)
    ]


def _emission(found: "xr.Dataset") -> Iterator[OriginRow]:
    """Yield the contributions of emission, of the initial air and of the air above."""
    for row in rows_of(found):
        source, country, sector, species = (str(row[key]) for key in ("source", "country", "sector", "species"))
        kind, text = _AIR.get(source, ("emission", source))
        if source != _SIDES:
            scale = "/".join(filter(None, (country, sector, species))) if source == INVENTORY else ""
            yield OriginRow(
                kind=kind, source=text, country=country, sector=sector,
                sector_text=sector_in_words(sector) if sector else "", pollutant=species, value=float(row["value"]),
                scale=scale,
            )  # fmt: skip


def _sides(found: "xr.Dataset") -> Iterator[OriginRow]:
    sides, names = found["side"].values.tolist(), found["species"].values.tolist()
    for name, values in zip(names, found["side_contribution"].values.tolist(), strict=True):
        for side, value in zip(sides, values, strict=True):
            yield OriginRow(kind="side", source=side, pollutant=name, value=value)


def _deposition(found: "xr.Dataset") -> Iterator[OriginRow]:
    for variable, text in _DEPOSITION.items():
        if variable in found:
            field = found[variable]
            along = str(field.dims[0])
            totals = field.sum([dim for dim in field.dims if dim != along])
            for name, value in zip(found[along].values.tolist(), totals.values.tolist(), strict=True):
                yield OriginRow(kind="deposition", source=text, pollutant=name, value=value)
