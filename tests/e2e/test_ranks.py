"""The installed command on several ranks: equal content by every strategy, and behaviour in case of failures."""

import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from airshed import open_run
from airshed.core.atomic import is_part
from airshed.core.errors import OutputError
from airshed.kernels.backends.cpu.kernel import WIDTH
from airshed.parallel.decomposition import Decomposition

from .conftest import PROGRAM, airshed, airshed_here, budgets, command, dying, environment

PIP = ("gather", "files", "mpiio", "zarr")
LIBRARIES = ("pnetcdf", "netcdf4", "pnetcdf", "netcdf4")
NAMES = ("first", "second", "third", "fourth")
RUHR = (
    "grid.area.lon=[5.5, 8]", "grid.area.lat=[50.5, 52]", "time.length=40 min", "time.spinup=20 min", "time.step=60 s",
    "restart.every=10 min",
)  # fmt: skip
"""Six rows of ten columns, in packs, of which the last one has two columns."""


def tile_of(rank: int) -> str:
    """Return the ends of the tile of one of two ranks, as in the names of its files."""
    rows, blocks = (tile := Decomposition.of(6, 10, WIDTH, 2).tile(rank)).rows, tile.blocks
    columns = (min(end * WIDTH, 10) for end in blocks)
    return "-".join(map(str, [*rows, *columns]))


OF_THE_SECOND_RANK = f"records/second/000002.{tile_of(1)}"

pytestmark = pytest.mark.skipif(
    not PROGRAM.with_name("mpiexec").exists(), reason="mpiexec of the wheel mpich is not installed"
)


def settings(mode: str, strategies: Sequence[str] = PIP, restarts: str = "gather") -> list[str]:
    """Return the overrides of a case that writes the same results once by each strategy."""
    same = 'fields=["O3", "NO2", "surface_pressure"], every="10 min"'
    tables = [f'{{name="{n}", {same}, strategy="{s}:{mode}"}}' for n, s in zip(NAMES, strategies, strict=True)]
    ground = '{name="ground", fields="all", every="20 min", levels="ground", compression="zlib"}'
    return [*RUHR, f"output=[{', '.join([*tables, ground])}]", f'restart.strategy="{restarts}:{mode}"']


def run(
    folder: Path, *arguments: str, mode: str = "async", restarts: str = "gather", die: str = ""
) -> subprocess.CompletedProcess[str]:
    overrides = settings(mode, restarts=restarts)
    return airshed("run", "west-europe", "--output", folder, *arguments, overrides=overrides, die=die)


def messages(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines of standard error, except the notice that ranks share cores."""
    return [line for line in done.stderr.splitlines() if "would be faster" not in line]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run on one rank and one thread."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    line = ("run", "west-europe", "-q", "--output", folder, "--threads", "1")
    assert airshed_here(*line, overrides=settings("sync")).returncode == 0
    return folder


def difference(folder: Path, alone: Path) -> list[str]:
    """Return the differences of a finished run from the one on one rank: content of results, and budgets."""
    wrong = [] if budgets(folder) == budgets(alone) else ["budgets"]
    for name in (*NAMES, "ground"):
        with open_run(folder, name) as found, open_run(alone, "ground" if name == "ground" else "first") as expected:
            if not found.load().identical(expected.load()):
                wrong.append(name)
    return wrong


def test_two_ranks_write_the_files_of_one(tmp_path: Path, alone: Path) -> None:
    """All strategies write in one run; their merged files are equal byte by byte."""
    folder = tmp_path / "run"
    done = run(folder, "-n", "2", "--threads", "1", mode="sync")
    assert (done.returncode, messages(done)) == (0, [])
    assert "mean of 2 ranks" in (folder / "summary.txt").read_text()
    assert [found.name for name in NAMES for found in folder.glob(f"{name}.*")] == [
        "first.nc", "second.files", "third.nc", "fourth.zarr",
    ]  # fmt: skip
    assert difference(folder, alone) == []
    again = run(folder, "-n", "2", "--resume", mode="sync")
    assert (again.returncode, messages(again)) == (
        0, [f"airshed: the run in {folder} is finished; there is nothing to resume"],
    )  # fmt: skip
    assert airshed_here("merge", folder).returncode == 0
    assert (folder / "second.nc").read_bytes() == (folder / "fourth.nc").read_bytes()
    assert (folder / "first.nc").read_bytes() == (alone / "first.nc").read_bytes()
    assert difference(folder, alone) == []
    assert (folder / "ground.nc").read_bytes() == (alone / "ground.nc").read_bytes()


@pytest.mark.thorough
def test_the_parallel_libraries_write_the_same(tmp_path: Path, alone: Path) -> None:
    """This runs with OpenMPI, whose packages contain these libraries."""
    openmpi = {"MPI4PY_MPIABI": "openmpi"}
    if shutil.which("mpiexec.openmpi") is None:
        pytest.skip("OpenMPI is not installed: apt install openmpi-bin")
    overrides = settings("async", LIBRARIES, "netcdf4")
    line = command("run", "west-europe", "-n", "2", "--output", tmp_path / "run", overrides=overrides)
    done = subprocess.run(line, capture_output=True, text=True, env=environment(**openmpi), check=False, timeout=200)
    if "is not there" in done.stderr:
        pytest.skip(done.stderr)
    assert (done.returncode, messages(done)) == (0, [])
    assert difference(tmp_path / "run", alone) == []


def test_the_comparison_sees_a_single_bit(tmp_path: Path, alone: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(alone, folder)
    assert difference(folder, alone) == []
    with netCDF4.Dataset(folder / "third.nc", "a") as file:
        file["O3"][3, 2, 1, 1] = np.nextafter(file["O3"][3, 2, 1, 1], np.float32(1.0))
    assert difference(folder, alone) == ["third"]


@pytest.mark.thorough
def test_a_killed_rank_is_named_and_three_ranks_resume(tmp_path: Path, alone: Path) -> None:
    folder = tmp_path / "run"
    killed = run(folder, "-n", "2", restarts="files", die=f"after {OF_THE_SECOND_RANK} 1")
    assert killed.returncode == 128 + signal.SIGKILL
    assert [line.partition(",")[0] for line in messages(killed)] == ["airshed: error: rank 1 was lost by SIGKILL"]
    with pytest.raises(OutputError, match="unfinished"):
        open_run(folder, "first")
    resumed = run(folder, "-n", "3", "--resume", restarts="files")
    assert resumed.returncode == 0, resumed.stderr
    assert [line for line in messages(resumed) if "resumed at" not in line] == []
    assert difference(folder, alone) == []


@pytest.mark.thorough
def test_stopped_ranks_leave_valid_files_and_one_rank_resumes(tmp_path: Path, alone: Path) -> None:
    folder = tmp_path / "run"
    line = command("run", "west-europe", "--output", folder, "-n", "2", overrides=settings("sync", restarts="mpiio"))
    first = f"records/second/000001.{tile_of(0)}"
    pausing = environment(**dying(f"pause {first} 1"))
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=pausing) as process:
        wait_for(folder / f"{first}.npz", process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors == f"airshed: stopped at 2022-08-31 00:10 UTC; {folder} holds valid files, and --resume continues\n"
    for name in NAMES:
        with open_run(folder, name) as found, open_run(alone, "first") as expected:
            assert found.attrs["airshed_run"] == "interrupted"
            assert found.load().drop_attrs().identical(expected.isel(time=slice(2)).load().drop_attrs())
    again = ("run", "west-europe", "-q", "--resume", "--output", folder, "--threads", "2")
    assert airshed_here(*again, overrides=settings("sync", restarts="mpiio")).returncode == 0
    assert difference(folder, alone) == []


def wait_for(path: Path, process: "subprocess.Popen[str]") -> None:
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("overrides", "part"),
    [
        (["chemistry.mechanism=emepp"], "did you mean"),
        (
            ["grid.area.lat=[50.5, 51]", "grid.area.lon=[5.5, 6.5]"],
            f"2 ranks cannot share 2 rows of 1 pack of {WIDTH} columns; take 1 rank",
        ),
    ],
    ids=["mechanism", "ranks"],
)
def test_an_error_on_all_ranks_is_reported_once(tmp_path: Path, overrides: list[str], part: str) -> None:
    folder = tmp_path / "runs" / "run"
    refused = airshed("run", "west-europe", "-n", "2", "--output", folder, overrides=[*settings("async"), *overrides])
    assert (refused.returncode, refused.stdout, len(messages(refused))) == (2, "", 1)
    assert part in refused.stderr
    assert not folder.parent.exists()


def test_an_unwritable_folder_is_reported_as_on_one_rank(tmp_path: Path) -> None:
    """The first rank alone tries to write, and the others do not wait for it."""
    (tmp_path / "file").touch()
    refused = airshed("run", "west-europe", "-n", "2", "--output", tmp_path / "file" / "run")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert messages(refused) == [
        f"airshed: error: cannot write {tmp_path / 'file' / 'run'}: part of that path is a file, not a folder; "
        "choose another folder"
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("small_disk", ["32m"], indirect=True)
def test_a_full_disk_is_reported_once_and_the_run_resumes_when_there_is_space(small_disk: Path, alone: Path) -> None:
    filler, folder = small_disk / "filler", small_disk / "run"
    filler.write_bytes(bytes(26 << 20))
    full = run(folder, "-n", "2", restarts="files")
    assert (full.returncode, full.stdout, len(messages(full))) == (2, "", 1), full.stderr
    assert f"cannot write {folder}" in full.stderr
    assert "the disk is full" in full.stderr
    assert not [path for path in folder.rglob("*") if is_part(path)]
    filler.unlink()
    resumed = run(folder, "-n", "2", "--resume", restarts="files")
    assert resumed.returncode == 0, resumed.stderr
    assert difference(folder, alone) == []
