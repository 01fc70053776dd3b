"""The mechanisms that the package musica brings, read from where it is installed: they are not part of Airshed."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from airshed.core.errors import MechanismError
from airshed.mechanism.location import nearest

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
"""What is needed, in the words of errors and skipped tests."""

CONDITIONS: Final = "initial_conditions.csv"
"""The file beside a mechanism that has conditions for it, see :mod:`airshed.mechanism.openatmos.conditions`."""


def musica_package() -> dict[str, Path] | None:
    """Return name -> file of the mechanisms in the installed package musica, or None where it is not installed.

    Among them chapman (5 species), carbon_bond (67, Camp JSON), ts1 (209), t1s2 (213) and ts4 (125).
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

    Raises MechanismError where the package is not installed, or has no mechanism of this name.
    """
    files, shown = musica_package(), name[:80]
    if files is None:
        raise MechanismError(f"{shown!r} needs {NO_MUSICA}")
    if name not in files:
        known = ", ".join(files)
        raise MechanismError(f"the package musica has no mechanism {shown!r} (it has {known}){nearest(shown, files)}")
    return files[name]
