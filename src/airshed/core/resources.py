"""Finds the files that Airshed ships: mechanisms, cases, maps.

In a checkout they lie at its root; in an installed wheel they travel inside the package (see ``pyproject.toml``).
"""

from pathlib import Path

from airshed.core.errors import DataError

_PACKAGE = Path(__file__).resolve().parents[1]
_ROOTS = (_PACKAGE.parents[1], _PACKAGE / "shipped")


def resource(name: str) -> Path:
    """Return the path of a shipped folder or file, such as ``mechanisms`` or ``cases/west-europe``.

    Raises DataError when this installation does not have it.
    """
    for root in _ROOTS:
        path = root / name
        if path.exists():
            return path
    raise DataError(f"this installation of Airshed has no {name!r}; install it again from a complete checkout or wheel")
