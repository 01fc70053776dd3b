"""Where the mechanism of a case lies that `--set` names."""

from os.path import relpath
from pathlib import Path
from typing import Any

from airshed.core.errors import CaseError
from airshed.core.text import nearest


def place_mechanism(chemistry: dict[str, Any], base: Path) -> None:
    """Make a reaction file of `--set` relative to the case: it goes from the present folder, else from the case's.

    Raises CaseError where it is in neither.
    """
    name = chemistry["mechanism"]
    if not isinstance(name, str) or not (Path(name).suffix or len(Path(name).parts) > 1):
        return
    here = Path.cwd()
    if _exists(here / name):
        chemistry["mechanism"] = relpath((here / name).resolve(), base)
    elif not _exists(base / name):
        beside = [path.name for folder in (here, base) for path in (folder / name).parent.glob("*")]
        match = nearest(Path(name).name, beside)
        raise CaseError(
            f"--set chemistry.mechanism={name}: there is no such file in the present folder {here}, nor in that of the "
            f"case, {base}" + (f"; did you mean {match}?" if match else "")
        )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file system takes
        return False
