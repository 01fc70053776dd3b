"""Provide the pages of the live server for `make live`: built with node, or taken from a wheel where node is missing.

    python web/pages.py [WHEEL]

Present pages are used. Without node the pages come from a wheel or another installation of Airshed, which must have
the version of this checkout. If none is there, `make web` installs node from a package. One line reports the action.

    WHEEL  file or https address of a release; by default the newest wheel in dist/
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.request import urlopen

ROOT: Final = Path(__file__).resolve().parents[1]
INSIDE: Final = "airshed/serve/web/"
OLDEST_NODE: Final = (20, 19)
_FIND: Final = "import airshed.core.version as v; print(v.__version__, v.__file__)"


def has_node(root: Path = ROOT) -> bool:
    """Return whether a recent node is installed, or the package that `make web` installs."""
    if (root / ".venv-node" / ".complete").is_file():
        return True
    if shutil.which("npm") is None or (node := shutil.which("node")) is None:
        return False
    text = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    parts = text.removeprefix("v").split(".")
    return (
        len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit() and (int(parts[0]), int(parts[1])) >= OLDEST_NODE
    )


def wheels(root: Path, version: str) -> Iterator[Path]:
    """Yield the wheels of this version in dist/, the newest first."""
    found = (root / "dist").glob(f"airshed-{version}-*.whl")
    yield from sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def unpack(wheel: Path, pages: Path) -> None:
    """Copy the pages of a wheel; raises ValueError for a file that has none."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(INSIDE) and not name.endswith("/")]
        if f"{INSIDE}index.html" not in names:
            raise ValueError(f"{wheel} contains no pages of the live server")
        with tempfile.TemporaryDirectory(dir=pages.parent) as scratch:
            archive.extractall(scratch, names)
            _replace(Path(scratch) / INSIDE, pages)


def _replace(found: Path, pages: Path) -> None:
    """Copy pages; index.html comes last, so that an interrupted copy is repeated."""
    shutil.rmtree(pages / "assets", ignore_errors=True)
    shutil.copytree(found / "assets", pages / "assets")
    shutil.copy(found / "index.html", pages / "index.html")


def installed(version: str, python: str = "python3") -> Path | None:
    """Return the pages of an Airshed of this version that another Python has installed."""
    if shutil.which(python) is None:
        return None
    done = subprocess.run([python, "-I", "-c", _FIND], capture_output=True, text=True, check=False)
    there, _, file = done.stdout.strip().partition(" ")
    pages = Path(file).parents[1] / "serve" / "web" if there == version else None
    return pages if pages is not None and (pages / "index.html").is_file() else None


def take(root: Path, version: str, given: str | None, say: Callable[[str], None]) -> bool:
    """Take pages that were built elsewhere; return whether there were any."""
    pages = root / "src" / "airshed" / "serve" / "web"
    with tempfile.TemporaryDirectory() as scratch:
        source = _fetched(given, Path(scratch)) if given else next(wheels(root, version), None)
        if source is not None:
            if given and f"airshed-{version}-" not in Path(given).name:
                raise ValueError(f"{given} is no wheel of Airshed {version}, the version of this checkout")
            say(
                f"The pages of the live server are taken from {given or source.relative_to(root)} (node is not needed)."
            )
            unpack(source, pages)
            return True
    other = installed(version)
    if other is not None and other.resolve() != pages.resolve():
        say(f"The pages of the live server are copied from {other} (node is not installed).")
        _replace(other, pages)
        return True
    return False


def _fetched(given: str, scratch: Path) -> Path:
    if not given.startswith("https://"):
        return Path(given)
    target = scratch / "wheel"
    with urlopen(given, timeout=60) as answer, target.open("wb") as file:
        shutil.copyfileobj(answer, file)
    return target


def main(root: Path = ROOT, given: str | None = None, say: Callable[[str], None] = print) -> int:
    """Provide the pages; return the status of the program."""
    version = (root / "src/airshed/core/version.py").read_text(encoding="utf-8").split('"')[-2]
    make = ["make", "--no-print-directory", "-C", str(root)]
    present = (root / "src/airshed/serve/web/index.html").is_file()
    if given is None and has_node(root):
        if subprocess.run([*make, "--question", "web"], capture_output=True, check=False).returncode == 0:
            return 0
        say("The pages of the live server are built with node (half a minute, after each change of web/) ...")
        return subprocess.run([*make, "web"], check=False).returncode
    if given is None and present:
        return 0
    if take(root, version, given, say):
        return 0
    say("The pages of the live server are built; node is missing and is installed first (two minutes, once) ...")
    return subprocess.run([*make, "web"], check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(given=sys.argv[1] if sys.argv[1:] else None))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        sys.exit(f"web/pages.py: {error}")
