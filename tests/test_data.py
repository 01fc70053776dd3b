"""The source and licence of every shipped data file are in a DATA.md in its folder or above."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OWN = {"DATA.md", "case.toml", "world-atlas-LICENSE.txt"}


def shipped() -> list[Path]:
    """Return the data files under version control, or all data files without version control."""
    answer = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = [Path(name) for name in answer.stdout.split("\0") if name]
    files = names or [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
    in_cases = [path for path in files if path.parts[0] == "cases"]
    in_packages = [path for path in files if path.parts[:2] == ("src", "airshed") and "data" in path.parts]
    return sorted(path for path in in_cases + in_packages if path.name not in OWN)


def is_named(path: Path) -> bool:
    """Return whether a file is named in the nearest DATA.md."""
    folder = next((folder for folder in path.parents if (ROOT / folder / "DATA.md").is_file()), None)
    return folder is not None and path.name in (ROOT / folder / "DATA.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", shipped(), ids=str)
def test_its_source_is_named(path: Path) -> None:
    assert is_named(path)


def test_a_file_without_a_source_is_found() -> None:
    assert not is_named(Path("cases/west-europe/emissions/unknown.csv"))
    assert not is_named(Path("src/airshed/nowhere/data/table.csv"))


def test_there_are_data() -> None:
    assert {path.suffix for path in shipped()} >= {".csv", ".nc", ".toml", ".gz"}
