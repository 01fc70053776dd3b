"""A run that is resumed has the input files that it began with, or its results say that it has not."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.laws.cases import MECHANISM, small_case
from typer.testing import CliRunner

import airshed
from airshed.case.toml import write_toml
from airshed.cli.program import app
from airshed.core.errors import AirshedError, CaseError
from airshed.io import run_state
from airshed.io.run_state import read_state

SPECIES_MAP = (
    '[emissions]\nnone = "others"\n[boundary]\nO3 = { O3 = 1.0 }\nzero = "others"\n[deposition]\nnone = "others"\n'
)
PROFILE = "pressure [Pa],O3\n100000,0.04\n20000,0.08\n"
FILES = ("small.kpp", "rest.kpp", "small.species.toml", "profile.csv", "initial.nc", "gridded.nc", "sea_surface.py")


def grid_of(case: airshed.Case) -> dict[str, np.ndarray[Any, Any]]:
    grid = case.make_grid()
    return {"lat": grid.y, "lon": grid.x}


def make(folder: Path, **sections: Any) -> airshed.Case:
    """Return the small case with a file of every kind that a small case can have."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "chemistry": {"mechanism": "small.kpp"}, "boundary": {"profiles": "profile.csv", "values": {}},
        "initial": {"file": "initial.nc"}, "emissions": {"gridded": ["gridded.nc"], "point": []},
        "time": {"length": "1 h"}, "restart": {"every": "10 min"}, "output": [{"every": "10 min"}],
    }  # fmt: skip
    case = small_case(folder, **{**files, **sections})
    head, _, equations = MECHANISM.partition("#EQUATIONS")
    (folder / "small.kpp").write_text(f"{head}\n#INCLUDE rest.kpp\n")
    (folder / "rest.kpp").write_text(f"#EQUATIONS{equations}")
    (folder / "small.species.toml").write_text(SPECIES_MAP)
    (folder / "profile.csv").write_text(PROFILE)
    places = grid_of(case)
    shape = len(places["lat"]), len(places["lon"])
    initial = {"NO2": (("lat", "lon"), np.full(shape, 2e-9), {"units": "mol mol-1"})}
    xr.Dataset(initial, places).to_netcdf(folder / "initial.nc")
    flux = {"NO": (("lat", "lon"), np.full(shape, 1e-9), {"units": "mol m-2 s-1"})}
    xr.Dataset(flux, places).to_netcdf(folder / "gridded.nc")
    return case


def begin(case: airshed.Case, run: Path, until: str = "20 min", **options: Any) -> None:
    with airshed.Simulation(case, output=run, **options) as simulation:
        simulation.run(until=until)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a case, and a run of it that was left after 20 minutes."""
    folder = tmp_path_factory.mktemp("begun")
    begin(make(folder / "case"), folder / "run")
    return folder


@pytest.fixture
def copied(begun: Path, tmp_path: Path) -> Path:
    """A copy of it: equal content in another place."""
    shutil.copytree(begun, tmp_path / "copy")
    return tmp_path / "copy"


def again(folder: Path) -> airshed.Case:
    """Return the case of a folder, whatever its files hold."""
    keep = {path: path.read_bytes() for path in (folder / "case").iterdir()}
    case = make(folder / "case")
    for path, content in keep.items():
        path.write_bytes(content)
    return case


def touched(path: Path) -> None:
    """Change the content of a file, of netCDF within its values."""
    content = bytearray(path.read_bytes())
    if path.suffix == ".nc":
        content[content.index(np.float64(2e-9 if path.stem == "initial" else 1e-9).tobytes())] ^= 1
    else:
        content += b"\n"
    path.write_bytes(bytes(content))


def entries(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_refused_with_its_name(copied: Path, name: str) -> None:
    touched(copied / "case" / name)
    before = entries(copied / "run")
    with pytest.raises(CaseError, match=rf"has read other files: {name} has changed; .*--accept-changed-inputs"):
        begin(again(copied), copied / "run", resume=True)
    assert entries(copied / "run") == before


def test_a_copy_with_equal_content_goes_on(copied: Path, begun: Path) -> None:
    begin(again(copied), copied / "run", "1 h", resume=True)
    with airshed.open_run(copied / "run") as run:
        assert run.attrs["history"].count("\n") == 0
        assert run.sizes["time"] == 7


def test_a_side_file_that_is_new_is_refused(copied: Path) -> None:
    (copied / "case" / "small.rates.toml").write_text("")
    with pytest.raises(CaseError, match=r"small\.rates\.toml is new"):
        begin(again(copied), copied / "run", resume=True)


def test_a_side_file_that_is_gone_is_refused(copied: Path) -> None:
    case = again(copied)
    (copied / "case" / "small.species.toml").unlink()
    with pytest.raises(AirshedError, match=r"small\.species\.toml is missing|species map"):
        begin(case, copied / "run", resume=True)


@pytest.mark.parametrize("strategy", ["gather:async", "files:async", "zarr:sync"])
def test_results_say_that_inputs_were_changed(tmp_path: Path, strategy: str) -> None:
    records = {"output": [{"every": "10 min", "strategy": strategy}]}
    begin(make(tmp_path / "case", **records), tmp_path / "run")
    for name, until in (("rest.kpp", "30 min"), ("profile.csv", "40 min")):
        touched(tmp_path / "case" / name)
        case = make(tmp_path / "case", **records)
        touched(tmp_path / "case" / name)
        with airshed.Simulation(case, output=tmp_path / "run", resume=True, accept_changed_inputs=True) as simulation:
            assert any(notice.startswith("inputs differ after") and name in notice for notice in simulation.notices)
            simulation.run(until=until)
    begin(case, tmp_path / "run", "1 h", resume=True)  # its files are those of the newest restart
    with airshed.open_run(tmp_path / "run") as run:
        lines = run.attrs["history"].splitlines()[1:]
        assert run.sizes["time"] == 7
        assert np.isfinite(run["O3"]).all()
    assert lines[0] == "resumed at 20 min with other inputs: rest.kpp has changed"
    assert "profile.csv has changed" in lines[1]
    assert "rest.kpp has changed" in lines[1]  # which is as it was at first


def test_the_program_refuses_and_accepts(tmp_path: Path) -> None:
    case = make(tmp_path / "case")
    (tmp_path / "case" / "case.toml").write_text(write_toml(case.to_dict()))
    begin(airshed.load_case(tmp_path / "case").allowing_code(), tmp_path / "run")
    touched(tmp_path / "case" / "rest.kpp")
    command = ["run", str(tmp_path / "case"), "--allow-code", "-q", "--output", str(tmp_path / "run"), "--resume"]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2
    assert "rest.kpp has changed" in refused.stderr
    done = CliRunner().invoke(app, [*command, "--accept-changed-inputs"])
    assert done.exit_code == 0
    assert "inputs differ after 0.333333 h: rest.kpp has changed" in done.stderr


def test_every_file_of_the_case_that_is_opened_is_noted(tmp_path: Path) -> None:
    case = make(tmp_path / "case")
    with OpenedFiles(tmp_path / "case") as opened:
        begin(case, tmp_path / "run", "1 h")
    state = read_state(tmp_path / "run")
    assert state is not None
    noted = {name for name in state.inputs if not name.startswith("airshed:")}
    assert opened <= noted
    assert {*FILES, "overturning.py"} == noted


HOOKS: list[Callable[[str], object]] = []


@pytest.fixture(scope="module", autouse=True)
def hooked() -> None:
    """Report files that Python opens; a hook stays until the process ends."""
    sys.addaudithook(
        lambda event, given: (
            [h(os.fspath(given[0])) for h in HOOKS]
            if event == "open" and isinstance(given[0], str | os.PathLike)
            else None
        )
    )


class OpenedFiles:
    """Collects the names of the files in a folder that are opened in a block."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.found = folder, set[str]()

    def __enter__(self) -> set[str]:
        HOOKS.append(self._see)
        return self.found

    def __exit__(self, *error: object) -> None:
        HOOKS.remove(self._see)

    def _see(self, name: str) -> None:
        path = Path(name)
        if path.is_relative_to(self.folder) and "__pycache__" not in path.parts:
            self.found.add(str(path.relative_to(self.folder)))


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(run_state, "WHOLE", 100)
    return


def test_of_large_files_samples_and_the_time_of_change_count(tmp_path: Path, small_limit: None) -> None:
    path = tmp_path / "weather.nc"
    path.write_bytes(bytes(200_000))
    marks = run_state.Inputs([path], tmp_path).marks()
    assert run_state.Inputs(base=tmp_path).changed(marks) == []
    shutil.move(path, tmp_path / "moved.nc")
    shutil.move(tmp_path / "moved.nc", path)
    assert run_state.Inputs(base=tmp_path).changed(marks) == []
    time = path.stat().st_mtime_ns
    with path.open("r+b") as file:
        file.seek(100_000)
        file.write(b"1")
    os.utime(path, ns=(time, time))
    assert run_state.Inputs(base=tmp_path).changed(marks) == ["weather.nc has changed"]


def test_files_beside_the_case_may_move_with_it(tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place / "case").mkdir(parents=True)
        (tmp_path / place / "weather.nc").write_bytes(b"wind")
    marks = run_state.Inputs([tmp_path / "one" / "case" / ".." / "weather.nc"], tmp_path / "one" / "case").marks()
    (tmp_path / "one" / "weather.nc").unlink()
    moved = run_state.Inputs([tmp_path / "two" / "weather.nc"], tmp_path / "two" / "case")
    assert moved.differences(marks) == []
    (tmp_path / "two" / "weather.nc").write_bytes(b"rain")
    assert len(moved.differences(marks)) == 2
