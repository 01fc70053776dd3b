"""Settings of air that scenarios change, in plain words."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from airshed.core.files import resource
from airshed.io.tables import read_table
from airshed.models.air.case import Case
from airshed.models.air.emissions.gridded import SHIPPED_TABLES
from airshed.models.air.emissions.sectors import SECTORS, sector_in_words
from airshed.runtime.registry import Lever

POLLUTANTS: Final = MappingProxyType(
    {
        "NOx": "Nitrogen oxides",
        "SOx": "Sulphur oxides",
        "NMVOC": "Volatile organic compounds",
        "CO": "Carbon monoxide",
        "NH3": "Ammonia",
        "PM2_5": "Fine particles",
        "PM10": "Particles",
        "BC": "Soot",
        "CH4": "Methane",
        "NO": "Nitrogen monoxide",
        "NO2": "Nitrogen dioxide",
        "SO2": "Sulphur dioxide",
        "O3": "Ozone",
        "HNO3": "Nitric acid",
        "PAN": "Peroxyacetyl nitrate",
        "HCHO": "Formaldehyde",
    }
)
"""Names of pollutants by the codes of inventories and mechanisms."""

_ENTERS: Final = ("O3", "NO2", "CO", "CH4", "SO2", "HNO3", "PAN", "HCHO")
"""Species whose concentration at the lateral boundary a scenario may change."""

_FULL: Final = MappingProxyType({"Bosnia and Herz.": "Bosnia and Herzegovina", "Macedonia": "North Macedonia"})


def levers_of(case: Case, codes: Sequence[str], species: Sequence[str]) -> dict[str, Lever]:
    """Return the levers of a case; `codes` are the keys of ``emissions.scale`` that have an effect."""
    countries = _countries(_folder(case)) if codes else {}
    entering = {name: ("species", POLLUTANTS[name]) for name in _ENTERS if name in species}
    levers = {
        "emissions.scale": Lever(
            "{}", {code: _words(code, countries) for code in codes}, "Emissions are multiplied from then on."
        ),
        "boundary.scale": Lever("{} from outside the area", entering, "Air that the wind carries into the area."),
        "emissions.biogenic": Lever("Isoprene from trees", hint="Trees emit isoprene on warm, bright days."),
        "photolysis.cloud": Lever("Shade of clouds", hint="Clouds dim the light that drives the chemistry."),
        "transport.advection": Lever("Wind", hint="Without wind the air stays where it is."),
        "transport.diffusion": Lever("Turbulent mixing", hint="Without mixing the layers do not exchange air."),
    }
    return {path: lever for path, lever in levers.items() if lever.keys or "{}" not in lever.text}


def _words(code: str, countries: Mapping[str, str]) -> tuple[str, str]:
    """Return the kind and the words of a key of ``emissions.scale``."""
    if code in SECTORS:
        return "sector", SECTORS[code]
    if code in countries:
        return "country", countries[code]
    if code in POLLUTANTS:
        return "pollutant", POLLUTANTS[code]
    return "sector" if "_" in code else "pollutant", sector_in_words(code)


def _folder(case: Case) -> Path:
    return resource(SHIPPED_TABLES) if case.emissions.inventory is None else case.path(case.emissions.inventory)


@lru_cache(8)
def _countries(folder: Path) -> dict[str, str]:
    """Return the names of the countries of an inventory by code; the first polygon of a country has its name."""
    table = folder / "countries.csv"
    if not table.is_file():
        return {}
    found: dict[str, str] = {}
    for row in read_table(table, ("iso2", "polygon")):
        name = row.text("polygon")
        found.setdefault(row.text("iso2"), _FULL.get(name, name))
    return found
