"""Every strategy, on any number of ranks, leaves the same content, and a run can continue the files of another one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import netCDF4
import numpy as np
import pytest
import xarray as xr
from tests.started import python

from airshed.core.errors import OutputError
from airshed.io.folder import RunFolder
from airshed.io.results import merge, open_run
from airshed.io.strategies.choice import COMPRESSING, Strategy, missing
from airshed.parallel.communicator import SingleRank

from . import ranks_run
from .team import MPIEXEC, SCRIPT, Team

THERE = [name for name in ("gather", "files", "mpiio", "zarr") if missing(name) is None]
OPENMPI = {
    **os.environ,
    "MPI4PY_MPIABI": "openmpi",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def run(ranks, folder, *options, **more):
    """Run the toy model on ranks that are started for it."""
    line = [MPIEXEC, "-n", str(ranks), python(), SCRIPT, str(folder), *options]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, env={**os.environ, **more})


@pytest.fixture(scope="module")
def team():
    """Return the ranks of all runs that lose none; socket names are short, and so is that of their folder."""
    with TemporaryDirectory() as folder:
        together = Team(Path(folder))
        yield together
        together.disband()


@pytest.fixture(scope="module")
def run_to_the_end(team):
    """Return a function that runs the toy model; one rank needs no separate Python."""

    def run(ranks, folder, *options):
        if ranks == 1:
            ranks_run.main([str(folder), *options], SingleRank())
        else:
            done = team.run(ranks, folder, *options)
            assert done.returncode == 0, done.stderr

    return run


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, run_to_the_end):
    """Return the folder of a run by "gather" on one rank."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    run_to_the_end(1, folder)
    return folder


@pytest.fixture(scope="module")
def of_intervals(tmp_path_factory, run_to_the_end):
    """Return the folder of such a run whose records have time bounds."""
    folder = tmp_path_factory.mktemp("of_intervals") / "run"
    run_to_the_end(1, folder, "--statistic", "mean")
    with open_run(folder) as result:
        assert result["time_bnds"].dims == ("time", "bnds")
        assert result.sizes["time"] == ranks_run.HOURS
    return folder


def assert_equal(folder, undisturbed):
    with open_run(folder) as found, open_run(undisturbed) as expected:
        found.load(), expected.load()
        assert found.identical(expected)
        assert [found[name].dtype for name in found] == [expected[name].dtype for name in expected]
        assert {name: found[name].dims for name in found} == {name: expected[name].dims for name in expected}


@pytest.mark.parametrize(("ranks", "mode"), [(1, "sync"), (2, "async"), (4, "sync")])
def test_all_strategies_leave_the_same_content(tmp_path, run_to_the_end, undisturbed, ranks, mode):
    run_to_the_end(ranks, tmp_path, "--strategy", ",".join(f"{name}:{mode}" for name in THERE))
    for name in THERE:
        assert_equal(tmp_path / f"{name}-{mode}", undisturbed)


@pytest.mark.parametrize("ranks", [1, 3])
def test_all_strategies_write_the_same_bounds_of_time(tmp_path, run_to_the_end, of_intervals, ranks):
    strategies = ",".join(f"{name}:sync" for name in THERE)
    run_to_the_end(ranks, tmp_path, "--strategy", strategies, "--statistic", "mean", "--hours", "5")
    run_to_the_end(ranks, tmp_path, "--strategy", strategies, "--statistic", "mean", "--resume")
    for name in THERE:
        assert_equal(tmp_path / f"{name}-sync", of_intervals)


@pytest.mark.parametrize("careless", [False, True])
def test_slow_copies_on_two_ranks_hold_the_state_as_it_was(tmp_path, run_to_the_end, undisturbed, careless):
    """The control is a model that overwrites the originals without waiting for the copies."""
    options = ["--careless"] if careless else []
    strategies = ("gather:async", "mpiio:async")
    run_to_the_end(2, tmp_path, "--slow", "--strategy", ",".join(strategies), *options)
    for strategy in strategies:
        with open_run(tmp_path / strategy.replace(":", "-")) as found, open_run(undisturbed) as expected:
            assert found.load().identical(expected.load()) != careless


def test_the_comparison_sees_a_single_bit(tmp_path, run_to_the_end, undisturbed):
    run_to_the_end(1, tmp_path / "run", "--strategy", "mpiio")
    with netCDF4.Dataset(tmp_path / "run" / "output.nc", "a") as file:
        file["O3"][3, 2, 1, 1] = np.nextafter(np.float32(file["O3"][3, 2, 1, 1]), np.float32(1.0))
    with pytest.raises(AssertionError):
        assert_equal(tmp_path / "run", undisturbed)


@pytest.mark.parametrize(
    "name", [each if each == "mpiio" else pytest.param(each, marks=pytest.mark.thorough) for each in THERE]
)
def test_a_rank_is_killed_and_other_ranks_go_on(tmp_path, run_to_the_end, undisturbed, name):
    """All ranks end with the killed one; the files count as unfinished; another number of ranks continues."""
    first, then = {"gather": (2, 3), "files": (3, 2), "mpiio": (4, 2)}.get(name, (2, 1))
    killed = run(first, tmp_path / "run", "--strategy", f"{name}:async", "--kill", "18", "--victim", str(first - 1))
    assert killed.returncode != 0
    with pytest.raises(OutputError, match="unfinished"):
        open_run(tmp_path / "run")
    run_to_the_end(then, tmp_path / "run", "--strategy", f"{name}:async", "--resume")
    assert_equal(tmp_path / "run", undisturbed)


def test_a_state_that_was_lost_is_found(tmp_path, run_to_the_end, undisturbed):
    run(2, tmp_path / "run", "--strategy", "files", "--kill", "18")
    run_to_the_end(1, tmp_path / "run", "--strategy", "files", "--resume", "--forget")
    with pytest.raises(AssertionError):
        assert_equal(tmp_path / "run", undisturbed)


@pytest.mark.parametrize("name", ["gather", "files", "mpiio", "zarr"])
def test_an_error_of_one_rank_is_raised_on_all_and_leaves_what_was_written(
    tmp_path, team, run_to_the_end, undisturbed, name
):
    failed = team.run(
        2, tmp_path / "run", "--strategy", f"{name}:async", "--limit-at", "17", "--restarts", "gather:async"
    )
    assert failed.returncode != 0
    told = sorted(line for line in failed.stderr.splitlines() if line.startswith("rank "))
    assert [line.split(":")[:2] for line in told] == [["rank 0", " OutputError"], ["rank 1", " OutputError"]]
    assert "cannot write" in told[0]
    assert "Traceback" not in failed.stderr
    run_to_the_end(2, tmp_path / "run", "--strategy", f"{name}:async", "--restarts", "gather:async", "--resume")
    assert_equal(tmp_path / "run", undisturbed)


def test_a_stopped_run_is_shorter_and_goes_on(tmp_path, run_to_the_end, undisturbed):
    for name in THERE:
        run_to_the_end(1, tmp_path / name, "--strategy", name, "--hours", "5")
        with open_run(tmp_path / name) as found, open_run(undisturbed) as expected:
            assert found.attrs.pop("airshed_run") == "interrupted"
            assert found.attrs == {key: value for key, value in expected.attrs.items() if key != "airshed_run"}
            assert found.load().drop_attrs().identical(expected.isel(time=slice(6)).load().drop_attrs())
        run_to_the_end(1, tmp_path / name, "--strategy", name, "--resume")
        assert_equal(tmp_path / name, undisturbed)


@pytest.mark.parametrize("name", ["files", "zarr"])
def test_merging_gives_the_file_that_the_root_would_have_compressed(tmp_path, run_to_the_end, name):
    run_to_the_end(1, tmp_path / "compressed", "--compression", "zlib")
    run_to_the_end(3, tmp_path / "run", "--strategy", name)
    assert merge(tmp_path / "run") == [tmp_path / "run" / "output.nc"]
    assert (tmp_path / "run" / "output.nc").read_bytes() == (tmp_path / "compressed" / "output.nc").read_bytes()
    assert not (tmp_path / "run" / f"output.{name}").exists()
    assert merge(tmp_path / "run") == []


def test_merging_waits_for_the_end_of_a_run(tmp_path):
    with pytest.raises(OutputError, match="holds no run of Airshed; give the folder of a finished run"):
        merge(tmp_path)
    with RunFolder(tmp_path / "run", "[time]\n") as run:
        run.add_output("output")
        with pytest.raises(OutputError, match=r"a run is writing to .*; wait for its end"):
            merge(tmp_path / "run")
    with pytest.raises(OutputError, match="holds no finished result output; complete the run"):
        merge(tmp_path / "run")
    with pytest.raises(OutputError, match=r"has no result outptu; it has output$"):
        merge(tmp_path / "run", "outptu")


def shard_of(store):
    return next(path for path in sorted((store / "O3" / "c").rglob("*")) if path.is_file())


def spoil_manifest(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"].pop()
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "spoil", "told"),
    [
        ("zarr", lambda store: shard_of(store).unlink(), r"is damaged \(O3/c/0/0/0/0 is missing\); make it again"),
        ("zarr", lambda store: shard_of(store).write_bytes(b"x" * 4000), r"is damaged \(.*\); make it again"),
        ("files", spoil_manifest, r"is damaged \(its files do not make up the whole\); make it again"),
        ("files", lambda folder: (folder.parent / "output.nc").touch(), r"output.nc is damaged or is not a netCDF"),
    ],
)
def test_a_damaged_result_is_neither_merged_nor_removed(tmp_path, run_to_the_end, name, spoil, told):
    run_to_the_end(2, tmp_path, "--strategy", name, "--hours", "2")
    spoil(tmp_path / f"output.{name}")
    with pytest.raises(OutputError, match=told):
        merge(tmp_path)
    assert (tmp_path / f"output.{name}").exists()


def test_private_files_and_stores_are_read_by_plain_xarray(tmp_path, run_to_the_end, undisturbed):
    run_to_the_end(2, tmp_path, "--strategy", "files,zarr,mpiio")
    with xr.open_dataset(undisturbed / "output.nc") as expected:
        for path in ("mpiio/output.nc", "zarr/output.zarr"):
            with xr.open_dataset(tmp_path / path, engine="zarr" if path.endswith("zarr") else None) as found:
                assert found.load().identical(expected.load())
        with xr.open_dataset(tmp_path / "files" / "output.files" / "part-00000.nc") as part:
            assert part.load().equals(expected.sel(lat=part["lat"], lon=part["lon"]).load())


@pytest.mark.parametrize("key", [np.s_[3], np.s_[2:5, :, ::2], np.s_[:, 1, 4, ::-1], np.s_[:, :, [7, 2], [0, 5]]])
def test_private_files_are_read_by_any_index(tmp_path_factory, run_to_the_end, undisturbed, key):
    folder = tmp_path_factory.getbasetemp() / "indexed"
    if not folder.exists():
        run_to_the_end(4, folder, "--strategy", "files")
    with open_run(folder) as found, open_run(undisturbed) as expected:
        assert found["O3"][key].identical(expected["O3"][key])


def test_auto_measures_and_keeps_its_choice(tmp_path, run_to_the_end, undisturbed):
    run_to_the_end(2, tmp_path / "run", "--strategy", "auto", "--hours", "4")
    taken = (tmp_path / "run" / "records" / "output" / "strategy").read_text()
    assert taken in THERE
    run_to_the_end(2, tmp_path / "run", "--strategy", "auto", "--resume")
    assert_equal(tmp_path / "run", undisturbed)


def test_auto_takes_one_that_can_compress_where_that_is_asked_for(tmp_path, run_to_the_end):
    run_to_the_end(1, tmp_path, "--strategy", "auto", "--compression", "zlib", "--hours", "1")
    assert (tmp_path / "records" / "output" / "strategy").read_text() in COMPRESSING


def run_by_openmpi(ranks, name, folder, *options):
    """Run the toy model by OpenMPI, whose packages provide the parallel libraries."""
    if shutil.which("mpiexec.openmpi") is None:
        pytest.skip("OpenMPI is not installed: apt install openmpi-bin")
    ask = f"from airshed.io.strategies.choice import missing; print(missing({name.partition(':')[0]!r}) or '')"
    asked = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, env=OPENMPI)
    if asked.returncode or asked.stdout.strip():
        pytest.skip(asked.stdout.strip() or asked.stderr)
    line = ["mpiexec.openmpi", "-n", str(ranks), sys.executable, str(SCRIPT), str(folder), "--strategy", name, *options]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, env=OPENMPI)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["pnetcdf", "netcdf4"])
def test_the_parallel_libraries_leave_the_same_content_after_a_kill(tmp_path, undisturbed, name):
    """Three ranks write, and two ranks resume."""
    for ranks, options in ((3, ["--kill", "18"]), (2, ["--resume"])):
        done = run_by_openmpi(ranks, f"{name}:async", tmp_path / "run", *options)
    assert done.returncode == 0, done.stderr
    assert_equal(tmp_path / "run", undisturbed)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["pnetcdf", "netcdf4"])
def test_the_parallel_libraries_write_the_same_bounds_of_time(tmp_path, of_intervals, name):
    for options in (["--hours", "5"], ["--resume"]):
        done = run_by_openmpi(3, f"{name}:sync", tmp_path / "run", "--statistic", "mean", *options)
        assert done.returncode == 0, done.stderr
    assert_equal(tmp_path / "run", of_intervals)


@pytest.mark.thorough
def test_a_record_that_one_rank_cannot_read_ends_all(tmp_path):
    """The last row, which the second of two ranks holds, is missing; the first rank must not wait forever."""
    assert run_by_openmpi(2, "netcdf4", tmp_path / "run", "--hours", "3").returncode == 0
    record = tmp_path / "run" / "records" / "output" / "000001.nc"
    with xr.open_dataset(record) as whole:
        cut = whole.isel(lat=slice(-1)).load()
    cut.to_netcdf(record)
    failed = run_by_openmpi(2, "netcdf4", tmp_path / "run", "--resume")
    told = sorted(line for line in failed.stderr.splitlines() if line.startswith("rank "))
    assert [line.partition(" is damaged")[0] for line in told] == [f"rank {n}: OutputError: {record}" for n in (0, 1)]
    assert failed.returncode != 0


def test_a_library_that_is_missing_is_named(tmp_path):
    environment = {"AIRSHED_PNETCDF": str(tmp_path / "nowhere.so")}
    failed = run(2, tmp_path / "run", "--strategy", "pnetcdf", **environment)
    assert 'strategy "pnetcdf" is not available' in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.parametrize(("text", "name", "later"), [("zarr", "zarr", False), ("files:async", "files", True)])
def test_a_strategy_has_a_text(text, name, later):
    assert Strategy.parse(text) == Strategy(name, later)
    assert Strategy.parse(str(Strategy.parse(text))) == Strategy.parse(text)


@pytest.mark.parametrize(("text", "part"), [("fils", "did you mean files"), ("files:soon", "not 'soon'"), ("", "no")])
def test_a_strategy_that_is_none_is_refused(text, part):
    with pytest.raises(OutputError, match=part):
        Strategy.parse(text)
