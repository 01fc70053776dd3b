"""One file written by several ranks through PnetCDF and parallel netCDF-4, read back by netCDF4-python."""

import importlib.util
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import netCDF4
import numpy as np
import pytest

PROGRAM = Path(__file__).with_name("parallel_writer.py")
MODULES = ("pnetcdf", "netcdf4_parallel")
OPENMPI = {
    "MPI4PY_MPIABI": "openmpi",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("parallel_writer", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python(text: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", text]
    given = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=given, timeout=60, check=False)


def reason(module: str, **environment: str) -> str:
    """Return why a library is not available in a process of this environment; nothing if it is."""
    done = python(f"from airshed.io.libraries.{module} import available; print(available() or '')", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def skip_without(module: str) -> None:
    if shutil.which("mpiexec.openmpi") is None:
        pytest.skip("OpenMPI is not installed: apt install openmpi-bin")
    if why := reason(module, MPI4PY_MPIABI="openmpi"):
        pytest.skip(why)


@pytest.mark.thorough
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("module", MODULES)
def test_blocks_of_all_ranks_are_read_back_to_the_bit(module: str, ranks: int, tmp_path: Path) -> None:
    skip_without(module)
    path = tmp_path / "out.nc"
    command = ["mpiexec.openmpi", "-n", str(ranks), sys.executable, str(PROGRAM), module, str(path)]
    environment = {**os.environ, **OPENMPI, "AIRSHED_RANKS": str(ranks)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = writer()
    with netCDF4.Dataset(path) as file:
        assert file.data_model == ("NETCDF4" if module == "netcdf4_parallel" else "NETCDF3_64BIT_DATA")
        assert file.title == "A test"
        assert file.levels.tolist() == [1, 2]
        assert file.dimensions["time"].isunlimited()
        np.testing.assert_array_equal(file["lat"][:], np.linspace(45, 55, 5))
        for kind in expected.KINDS:
            assert (file[kind].units, file[kind].factor) == ("µg m-3", 0.5)
            assert file[kind].dtype == np.dtype(kind)
            for record in range(2):
                assert file[kind][record].tobytes() == expected.field(kind, record).tobytes()


@pytest.mark.thorough
@pytest.mark.parametrize("module", MODULES)
def test_another_mpi_is_refused_by_name(module: str) -> None:
    skip_without(module)
    why = reason(module)
    assert " speaks OpenMPI, but the ranks speak MPICH (/" in why
    assert "run with MPI4PY_MPIABI=openmpi, or" in why


@pytest.mark.parametrize("module", MODULES)
def test_a_library_that_is_missing_or_another_is_named(module: str, tmp_path: Path) -> None:
    wanted = import_module(f"airshed.io.libraries.{module}").LIBRARY
    assert "libm.so.6 is not " in reason(module, **{wanted.variable: "libm.so.6"})
    assert str(tmp_path / "none.so") in reason(module, **{wanted.variable: str(tmp_path / "none.so")})
    assert "; name the file of the library, or unset it" in reason(module, **{wanted.variable: "libm.so.6"})
    nowhere = f"""
from dataclasses import replace
from airshed.io.libraries.library import reason_against
from airshed.io.libraries.{module} import LIBRARY
print(reason_against(replace(LIBRARY, names=("nowhere",))))
"""
    assert f"is not installed; apt install {wanted.packages}" in python(nowhere).stdout


@pytest.mark.thorough
def test_a_folder_that_is_not_there_is_an_error_with_its_path() -> None:
    skip_without("pnetcdf")
    for module in MODULES:
        text = f"""
from pathlib import Path
from airshed.io.libraries.{module} import ParallelFile
ParallelFile(Path("/no/such/folder.nc"), None)
"""
        assert "OutputError: /no/such/folder.nc: " in python(text, MPI4PY_MPIABI="openmpi").stderr
