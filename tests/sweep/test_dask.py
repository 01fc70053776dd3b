"""A sweep on a Dask cluster of this machine."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import xarray as xr

pytestmark = [
    pytest.mark.standard,
    pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed"),
    pytest.mark.filterwarnings("default"),  # warnings of another project
]

SWEEP = [
    "tracer-rotation", "--set", "grid.spacing=2 deg", "--set", "time.length=2 h", "--vary", "time.step=auto,10 h,5 min",
    "--retries", "0", "-q",
]  # fmt: skip


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Yield the address of a scheduler with two workers."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


def sweep(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-P", "-m", "airshed", "sweep", *SWEEP, "--output", str(folder), *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_dask_gives_the_dataset_and_the_failures_of_this_machine(scheduler: str, tmp_path: Path) -> None:
    there, here = sweep(tmp_path / "dask", "--scheduler", scheduler), sweep(tmp_path / "local")
    assert (there.returncode, here.returncode) == (1, 1), there.stderr + here.stderr
    message = "airshed: member 0001 (time.step=10 h) failed: time.step = '10 h' is too long for the wind"
    assert message in there.stderr
    assert message in here.stderr
    xr.testing.assert_identical(
        xr.open_zarr(tmp_path / "dask" / "sweep.zarr").load(), xr.open_zarr(tmp_path / "local" / "sweep.zarr").load()
    )


def test_a_scheduler_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airshed.sweep.runner._SCHEDULER_TIMEOUT", 0.1)
    from airshed.core.errors import AirshedError
    from airshed.sweep.runner import dask_executor

    with (
        pytest.raises(AirshedError, match=r"there is no Dask scheduler at tcp://127\.0\.0\.1:9 "),
        dask_executor("tcp://127.0.0.1:9"),
    ):
        pass
