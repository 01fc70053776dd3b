"""A killed gradient resumes with the same bits; damaged commits and those of other problems are rejected."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.started import python

import airshed
from airshed.core.errors import CaseError
from airshed.formula.tree import Binary, Number
from airshed.inverse import CostOfFunction, Options, gradient, sensitivity
from airshed.inverse.checkpoints.commits import fingerprints
from airshed.inverse.gradient import Watcher
from airshed.io.archive import load_arrays, save_arrays

from .small import IN_TIME, RECEPTOR, small

PROGRAM = Path(__file__).with_name("killed_gradients.py")


@pytest.mark.thorough
def test_a_gradient_killed_anywhere_resumes_with_the_same_bits(tmp_path: Path) -> None:
    done = subprocess.run([python(), PROGRAM, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    for each in json.loads(done.stdout):
        assert each["wrong"] == [], each
        assert not each["left"]
        part, where = each["where"].split()
        assert [line.partition(" in the ")[0] for line in each["told"]] == ["resuming from a commit"], each
        begun, at = each["begins"]
        assert (begun, at > 0.0) != ("forward", False), each  # and not from the start
        if part in ("forward", "backward"):
            assert begun == part, each
            assert float(where) - 0.3 <= at, each


GRIDDED = {"gridded": [{"files": ["gridded.nc"], "partial": True}]}


def write_gridded(folder: Path, rate: float) -> None:
    """Write emission of the area into the file of GRIDDED."""
    coordinates = {"lat": ("lat", [50.25, 50.75]), "lon": ("lon", [7.25, 7.75])}
    rates = (("lat", "lon"), rate * np.ones((2, 2)), {"units": "mol s-1"})
    xr.Dataset({"NO": rates}, coordinates).to_netcdf(folder / "gridded.nc")


class StoppedError(Exception):
    """Simulated kill."""


class NoticeRecorder(Watcher):
    """Watcher that stores notices."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_notice(self, line: str) -> None:
        self.lines.append(line)


def stopping(part: str, where: float) -> Callable[[str, float], None]:
    def progress(now: str, done: float) -> None:
        if now == part and done >= where:
            raise StoppedError

    return progress


def case(folder: Path, **more: Any) -> Any:
    return small(folder, receptor=IN_TIME, adjoint={"commit": "0 s"}, **more)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the commits of a gradient that was stopped in the middle of the backward pass."""
    folder = tmp_path_factory.mktemp("stopped")
    with pytest.raises(StoppedError):
        sensitivity(
            case(folder), RECEPTOR, options=Options(resume=folder / "commits"), progress=stopping("backward", 0.5)
        )
    return folder


@pytest.fixture
def commits(stopped: Path, tmp_path: Path) -> Path:
    """Return a copy of these commits."""
    return Path(shutil.copytree(stopped / "commits", tmp_path / "commits"))


@pytest.fixture(scope="module")
def whole(stopped: Path) -> xr.Dataset:
    return sensitivity(case(stopped), RECEPTOR)


def resumed(stopped: Path, commits: Path) -> tuple[xr.Dataset, list[str]]:
    told = NoticeRecorder()
    return sensitivity(case(stopped), RECEPTOR, options=Options(resume=commits, watcher=told)), told.lines


def manifests(commits: Path) -> list[Path]:
    return sorted(commits.rglob("manifest.*"), key=lambda path: int(path.name.split(".")[1]))


def spoilt(commits: Path) -> Iterator[Path]:
    """Return the files that only the last commit has."""
    before, last = ({*load_arrays(path)[1]["files"].values()} for path in manifests(commits))
    yield from (commits / "rank-000000" / name for name in sorted(last - before))


def test_a_stopped_gradient_resumes_with_the_same_bits(stopped: Path, commits: Path, whole: xr.Dataset) -> None:
    found, (line,) = resumed(stopped, commits)
    assert xr.Dataset.identical(found, whole)
    assert line.startswith("resuming from a commit in the backward pass, with ")


@pytest.mark.parametrize("what", ["a file", "the manifest", "a file that is gone"])
def test_a_damaged_commit_is_skipped_with_a_notice(stopped: Path, commits: Path, whole: xr.Dataset, what: str) -> None:
    path = manifests(commits)[-1] if what == "the manifest" else next(spoilt(commits))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + bytes([content[len(content) // 2] ^ 1]) + content[-9:])
    if what == "a file that is gone":
        path.unlink()
    found, lines = resumed(stopped, commits)
    assert xr.Dataset.identical(found, whole)
    assert re.search(rf"{re.escape(path.name)}.*; an earlier commit is used", lines[0])
    assert lines[1].startswith("resuming from a commit in the backward pass, with ")


def test_without_a_complete_commit_it_restarts_with_a_notice(stopped: Path, commits: Path, whole: xr.Dataset) -> None:
    for path in manifests(commits):
        path.write_bytes(b"")
    found, lines = resumed(stopped, commits)
    assert xr.Dataset.identical(found, whole)
    assert lines[-1] == f"no commit in {commits} is complete; the gradient restarts"


def test_the_comparison_detects_a_lost_adjoint(stopped: Path, commits: Path, whole: xr.Dataset) -> None:
    """Negative control: one adjoint of both commits is zero, in files with correct checksums."""
    for path in (commits / "rank-000000").glob("adjoints.*"):
        arrays, metadata = load_arrays(path)
        arrays["transport+column+cells.older"][...] = 0.0
        save_arrays(path, arrays, metadata)
    found, _ = resumed(stopped, commits)
    assert {name for name in whole.variables if not found[name].identical(whole[name])} >= {"initial", "emission"}


@pytest.mark.parametrize(
    ("settings", "receptor", "told"),
    [
        ({"meteorology": {"kind": "uniform", "eastward": "4 m/s"}}, {}, r"meteorology\.eastward was '5 m/s', now is"),
        ({}, {"lon": 7.25}, r"receptor\.lon was \[7.45, 7.45\], now is \[7.25, 7.25\]"),
        ({}, {"time": "30 min"}, r"receptor\.time was \['1 h', '1 h'\], now is \['30 min', '30 min'\]"),
    ],
)
def test_another_case_or_receptor_is_refused(
    stopped: Path, commits: Path, settings: dict[str, Any], receptor: dict[str, Any], told: str
) -> None:
    with pytest.raises(CaseError, match=f"{told}.*; undo the change, or start again without --resume"):
        sensitivity(case(stopped, **settings), {**RECEPTOR, **receptor}, options=Options(resume=commits))
    assert len(manifests(commits)) == 2


def test_another_initial_state_is_refused(stopped: Path, commits: Path) -> None:
    with airshed.Simulation(case(stopped)) as simulation:
        initial = xr.Dataset({"NO2": 1.01 * simulation["NO2"]})
    with pytest.raises(CaseError, match="its initial mixing ratios or its weather differ; undo the change"):
        sensitivity(case(stopped), RECEPTOR, initial=initial, options=Options(resume=commits))


@pytest.mark.parametrize(
    ("file", "before", "after", "told"),
    [
        pytest.param(
            "small.kpp",
            "2e-15",
            "2.1e-15",
            "its mechanism differs",
            marks=(pytest.mark.thorough, pytest.mark.compiles),
        ),
        ("sea_surface.py", "number(1.0", "number(1.1", "its processes differ"),
        ("gridded.nc", "1.0", "2.0", "its emission at the start differs"),
    ],
)
def test_another_file_of_the_same_name_is_refused(
    tmp_path: Path, file: str, before: str, after: str, told: str
) -> None:
    def made() -> Any:
        return case(tmp_path, emissions=GRIDDED)

    write_gridded(tmp_path, 1.0)
    asked: dict[str, Any] = {"options": Options(resume=tmp_path / "commits")}
    with pytest.raises(StoppedError):
        sensitivity(made(), RECEPTOR, **asked, progress=stopping("backward", 0.5))
    again = made()  # writes the files
    if file == "gridded.nc":
        write_gridded(tmp_path, 2.0)
    else:
        text = (tmp_path / file).read_text(encoding="utf-8")
        (tmp_path / file).write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(CaseError, match=f"{told}; undo the change"):
        sensitivity(again, RECEPTOR, **asked)
    assert len(manifests(tmp_path / "commits")) == 2


def test_fingerprints_of_other_mechanisms_differ(tmp_path: Path) -> None:
    with airshed.Simulation(case(tmp_path)) as simulation:
        parts = simulation.model.parts
        before, first = fingerprints(simulation.model), parts.network.reactions[0]
        faster = replace(first, rate=Binary("*", Number(1.1), first.rate))
        parts.network = replace(parts.network, reactions=(faster, *parts.network.reactions[1:]))
        after = fingerprints(simulation.model)
    assert {words for words, each in before.items() if after[words] != each} == {"its mechanism differs"}


@pytest.mark.parametrize(("asked", "weight"), [("NO2", 1.0), ("O3", 2.0)])
def test_another_cost_of_the_same_times_is_refused(tmp_path: Path, asked: str, weight: float) -> None:
    def cost(name: str, factor: float) -> CostOfFunction:
        return CostOfFunction(1800.0, [name], lambda q: (factor * float(q[name].sum()), {name: factor + 0.0 * q[name]}))

    options = Options(resume=tmp_path / "commits")
    with pytest.raises(StoppedError):
        gradient(case(tmp_path), cost("O3", 1.0), options=options, progress=stopping("backward", 0.5))
    with pytest.raises(CaseError, match="cannot resume with another cost"):
        gradient(case(tmp_path), cost(asked, weight), options=options)
    assert gradient(case(tmp_path), cost("O3", 1.0), options=options).steps > 0
    assert not (tmp_path / "commits").exists()


def test_nothing_is_written_before_the_first_commit_is_due(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        sensitivity(
            small(tmp_path), RECEPTOR, options=Options(resume=tmp_path / "commits"), progress=stopping("backward", 0.9)
        )
    assert not (tmp_path / "commits").exists()
