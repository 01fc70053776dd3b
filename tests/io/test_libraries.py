"""Files written by several ranks through PnetCDF and parallel netCDF-4, read back by netCDF4-python."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import netCDF4
import numpy as np
import pytest

from airshed.io.libraries import FILES

PROGRAM = Path(__file__).with_name("parallel_writer.py")
STRATEGIES = ("pnetcdf", "netcdf4")
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
    name = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(name)
    return name


def python(text: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", text]
    given = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=given, timeout=60, check=False)


def reason(name: str, **environment: str) -> str:
    """Return why a library is not available in a process of this environment; "" if it is."""
    done = python(f"from airshed.io.strategies.choice import missing; print(missing({name!r}) or '')", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def skip_without(name: str) -> None:
    if shutil.which("mpiexec.openmpi") is None:
        pytest.skip("OpenMPI is not installed: apt install openmpi-bin")
    if why := reason(name, MPI4PY_MPIABI="openmpi"):
        pytest.skip(why)


@pytest.mark.thorough
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", STRATEGIES)
def test_blocks_of_all_ranks_are_read_back_to_the_bit(name: str, ranks: int, tmp_path: Path) -> None:
    skip_without(name)
    path = tmp_path / "out.nc"
    command = ["mpiexec.openmpi", "-n", str(ranks), sys.executable, str(PROGRAM), name, str(path)]
    environment = {**os.environ, **OPENMPI, "AIRSHED_RANKS": str(ranks)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = writer()
    with netCDF4.Dataset(path) as file:
        assert file.data_model == ("NETCDF4" if name == "netcdf4" else "NETCDF3_64BIT_DATA")
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
@pytest.mark.parametrize("name", STRATEGIES)
def test_another_mpi_is_refused_by_name(name: str) -> None:
    skip_without(name)
    why = reason(name)
    assert " speaks OpenMPI, but the ranks speak MPICH (/" in why
    assert "run with MPI4PY_MPIABI=openmpi, or" in why


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_library_that_is_missing_or_another_is_named(name: str, tmp_path: Path) -> None:
    wanted = FILES[name].library
    assert "libm.so.6 is not " in reason(name, **{wanted.variable: "libm.so.6"})
    assert str(tmp_path / "none.so") in reason(name, **{wanted.variable: str(tmp_path / "none.so")})
    assert "; name the file of the library, or unset it" in reason(name, **{wanted.variable: "libm.so.6"})
    nowhere = f"""
from dataclasses import replace
from airshed.io.libraries import FILES
print(replace(FILES[{name!r}].library, names=("nowhere",)).unavailable_reason())
"""
    assert f"is not installed; apt install {wanted.packages}" in python(nowhere).stdout


@pytest.mark.thorough
def test_a_folder_that_is_not_there_is_an_error_with_its_path() -> None:
    skip_without("pnetcdf")
    for name in STRATEGIES:
        text = f"""
from pathlib import Path
from airshed.io.libraries import FILES
FILES[{name!r}](Path("/no/such/folder.nc"), None)
"""
        assert "OutputError: /no/such/folder.nc: " in python(text, MPI4PY_MPIABI="openmpi").stderr
