"""Mechanisms of the installed package musica: their files and initial conditions."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Final

from airshed.core.errors import DataError, MechanismError
from airshed.core.files import note_input
from airshed.mechanism.location import Location, nearest
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.openatmos.rates import NUMBER, RADIUS
from airshed.mechanism.openatmos.units import (
    concentration_from_molar,
    rate_from_molar,
)

# Initial conditions: lines ``CONC.O3,2e-6`` in a file initial_conditions.csv.


_ORDERS: Final = {"molecules/cm3/s": 0, "1/s": 1, "cm3/molecules/s": 2, "cm6/molecules2/s": 3}


@dataclass(frozen=True)
class Conditions:
    """Content of such a file, in the units of a network.

    initial      species -> [molecules cm-3]
    parameters   parameter -> value [molecules, cm3, s]
    environment  TEMP [K], PRESS [Pa], M [molecules cm-3], if given
    unknown      names in the file that are absent in the mechanism
    """

    initial: dict[str, float] = field(default_factory=dict)
    parameters: dict[str, float] = field(default_factory=dict)
    environment: dict[str, float] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


def read_conditions(path: Path, network: ReactionNetwork) -> Conditions:
    """Return the conditions for a network that was read from the mechanism in the same folder.

    The file gives CONC [mol m-3], EMIS [mol m-3 s-1], PHOTO and LOSS [1/s], and USER [mol, m3, s]. SURF has radius [m]
    and number [1/m3] in two columns; ENV has temperature [K], pressure [Pa], air_density [mol m-3].

    Raises DataError with the line.
    """
    found, unknown = Conditions(), []
    species = {each.name: each.name for each in network.species + network.fixed} | dict(network.renamed)
    units = {each.name: each.unit for each in network.parameters}
    for location, name, values in _lines(path):
        kind, _, rest = name.partition(".")
        if kind == "CONC" and rest in species:
            found.initial[species[rest]] = concentration_from_molar(values[0])
        elif kind == "ENV" and rest in _AIR:
            key, factor = _AIR[rest]
            found.environment[key] = factor * values[0]
        elif kind == "SURF" and f"{name}.{RADIUS}" in units:
            if len(values) < 2:
                raise DataError(f"{location}: {name} needs two numbers, the radius [m] and the number [1/m3]")
            found.parameters.update({f"{name}.{RADIUS}": values[0], f"{name}.{NUMBER}": values[1]})
        elif name in units:
            found.parameters[name] = rate_from_molar(values[0], _ORDERS.get(units[name], 1))
        else:
            unknown.append(name)
    return Conditions(found.initial, found.parameters, found.environment, tuple(unknown))


_AIR: Final = {
    "temperature": ("TEMP", 1.0),
    "pressure": ("PRESS", 1.0),
    "air_density": ("M", concentration_from_molar(1.0)),
}


def _lines(path: Path) -> Iterator[tuple[Location, str, list[float]]]:
    try:
        text = note_input(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    for number, row in enumerate(csv.reader(text.splitlines()), start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        location = Location(str(path), number)
        try:
            values = [float(cell) for cell in cells[1:] if cell]
        except ValueError:
            raise DataError(f"{location}: expected a name and a number or two, not {','.join(cells)[:60]!r}") from None
        if not values or not all(map(isfinite, values)):
            raise DataError(f"{location}: {cells[0][:60]!r} has no number")
        yield location, cells[0], values


# Files of the package.


_FILES: Final = {
    "analytical": "v1/analytical/config.json",
    "analytical_camp": "v0/analytical/config.json",
    "cam_cloud_chemistry": "v1/cam_cloud_chemistry/config.json",
    "carbon_bond": "v0/carbon_bond_5/config.json",
    "chapman": "v1/chapman/config.json",
    "chapman_camp": "v0/chapman/config.json",
    "full_configuration": "v1/full_configuration/full_configuration.json",
    "miem_nox": "v1/miem_nox/mechanism.json",
    "robertson": "v0/robertson/config.json",
    "surface": "v0/surface/config.json",
    "t1s2": "v1/ts1/t1s2.json",
    "ts1": "v1/ts1/ts1.json",
    "ts1_camp": "v0/TS1/config.json",
    "ts4": "v1/ts4/ts4.json",
}

NO_MUSICA: Final = "the package musica, which is not installed: pip install musica"
"""Name of the requirement in errors and skipped tests."""

CONDITIONS: Final = "initial_conditions.csv"
"""File with conditions in the folder of a mechanism, see :mod:`airshed.mechanism.openatmos.package`."""


def musica_package() -> dict[str, Path] | None:
    """Return name -> file of the mechanisms in the installed package musica, or None if it is not installed.

    Among them are chapman (5 species), carbon_bond (67, Camp JSON), ts1 (209), t1s2 (213) and ts4 (125).
    """
    found = find_spec("musica")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / "configs"
    return {name: folder / file for name, file in _FILES.items() if (folder / file).is_file()}


def has_musica() -> bool:
    """Return whether the package musica is installed."""
    return find_spec("musica") is not None


def musica_file(name: str) -> Path:
    """Return the file of a mechanism in the package musica.

    Raises MechanismError if the package is not installed, or has no mechanism of this name.
    """
    files, shown = musica_package(), name[:80]
    if files is None:
        raise MechanismError(f"{shown!r} needs {NO_MUSICA}")
    if name not in files:
        known = ", ".join(files)
        raise MechanismError(f"the package musica has no mechanism {shown!r} (it has {known}){nearest(shown, files)}")
    return files[name]
