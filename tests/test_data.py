"""Every data file that is shipped has its source and licence told in a DATA.md beside it or above it."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OWN = {"DATA.md", "case.toml", "world-atlas-LICENSE.txt"}


def shipped() -> list[Path]:
    """Return the data files under version control, or all of them where there is no version control."""
    answer = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = [Path(name) for name in answer.stdout.split("\0") if name]
    files = names or [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
    in_cases = [path for path in files if path.parts[0] == "cases"]
    in_packages = [path for path in files if path.parts[:2] == ("src", "airshed") and "data" in path.parts]
    return sorted(path for path in in_cases + in_packages if path.name not in OWN)


def told(path: Path) -> bool:
    """Say whether a file is named in the nearest DATA.md."""
    folder = next((folder for folder in path.parents if (ROOT / folder / "DATA.md").is_file()), None)
    return folder is not None and path.name in (ROOT / folder / "DATA.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", shipped(), ids=str)
def test_its_source_is_told(path: Path) -> None:
    assert told(path)


def test_a_file_without_a_source_is_found() -> None:
    assert not told(Path("cases/west-europe/emissions/nobody_knows.csv"))
    assert not told(Path("src/airshed/nowhere/data/table.csv"))


def test_there_are_data() -> None:
    assert {path.suffix for path in shipped()} >= {".csv", ".nc", ".toml", ".gz"}
