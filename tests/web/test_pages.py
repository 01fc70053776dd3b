"""`make live` without node: the pages come from a wheel or another installation, and one line reports it."""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from tests.web.conftest import ROOT

VERSION = "0.1.0"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages", ROOT / "web" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout without pages, on a machine without node, npm and another Python."""
    (tmp_path / "src/airshed/core").mkdir(parents=True)
    (tmp_path / "src/airshed/core/version.py").write_text(f'__version__ = "{VERSION}"\n')
    (tmp_path / "src/airshed/serve/web").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/make").write_text(f"#!/bin/sh\necho made >> {tmp_path}/made\n")
    (tmp_path / "bin/make").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def wheel(folder: Path, version: str = VERSION, *, pages: bool = True) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"airshed-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("airshed/__init__.py", "")
        if pages:
            archive.writestr("airshed/serve/web/index.html", "<!doctype html>")
            archive.writestr("airshed/serve/web/assets/index-1.js", "1")
    return path


def test_a_wheel_in_dist_brings_the_pages(script: ModuleType, checkout: Path) -> None:
    wheel(checkout / "dist")
    wheel(checkout / "dist", "9.9.9")
    said: list[str] = []
    assert script.main(checkout, say=said.append) == 0
    assert (checkout / "src/airshed/serve/web/assets/index-1.js").read_text() == "1"
    assert said == [
        f"The pages of the live server are taken from dist/airshed-{VERSION}-py3-none-any.whl (node is not needed)."
    ]
    assert script.main(checkout, say=said.append) == 0  # they are present
    assert len(said) == 1
    assert not (checkout / "made").exists()


def test_a_release_is_named(script: ModuleType, checkout: Path) -> None:
    other = wheel(checkout / "downloads")
    assert script.main(checkout, str(other), [].append) == 0
    assert (checkout / "src/airshed/serve/web/index.html").is_file()
    with pytest.raises(ValueError, match=f"no wheel of Airshed {VERSION}"):
        script.main(checkout, str(wheel(checkout / "downloads", "9.9.9")), [].append)
    with pytest.raises(ValueError, match="contains no pages"):
        script.main(checkout, str(wheel(checkout / "empty", pages=False)), [].append)


def test_another_installation_brings_the_pages(script: ModuleType, checkout: Path) -> None:
    there = checkout / "site" / "airshed" / "serve" / "web"
    (there / "assets").mkdir(parents=True)
    (there / "index.html").write_text("installed")
    python = checkout / "bin" / "python3"
    python.write_text(f"#!/bin/sh\necho {VERSION} {checkout}/site/airshed/core/version.py\n")
    python.chmod(0o755)
    said: list[str] = []
    assert script.main(checkout, say=said.append) == 0
    assert (checkout / "src/airshed/serve/web/index.html").read_text() == "installed"
    assert "copied from" in said[0]


def test_without_any_pages_node_is_installed_with_a_message(script: ModuleType, checkout: Path) -> None:
    said: list[str] = []
    assert script.main(checkout, say=said.append) == 0
    assert (checkout / "made").read_text() == "made\n"
    assert "node is missing" in said[0]


@pytest.mark.parametrize(
    ("version", "recent"), [("v20.19.0", True), ("v22.1.0", True), ("v18.20.1", False), ("", False)]
)
def test_an_old_node_is_none(script: ModuleType, checkout: Path, version: str, recent: bool) -> None:
    for name in ("node", "npm"):
        (checkout / "bin" / name).write_text(f"#!/bin/sh\necho {version}\n")
        (checkout / "bin" / name).chmod(0o755)
    assert script.has_node(checkout) is recent


def test_make_live_asks_for_the_pages_and_serves(tmp_path: Path) -> None:
    """The recipe, without running it."""
    done = subprocess.run(
        ["make", "-n", "live", "WHEEL=x.whl", f"PYTHON={sys.executable}"], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ}, check=False,
    )  # fmt: skip
    assert "web/pages.py x.whl" in done.stdout, done.stderr
    assert "npm" not in done.stdout
