"""Files on which the HDF5 library loops or crashes: reported in one line, without effect on the caller."""

import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.started import python

from airshed.core.errors import DataError, OutputError
from airshed.io import hdf5
from airshed.io.hdf5 import check_heads
from airshed.io.netcdf import load_netcdf
from airshed.io.results import open_run

MPIEXEC = Path(sys.executable).with_name("mpiexec")
ENDLESS = "does not terminate in its description of the variables, which is damaged; copy or download it again"

OTHER_LIBRARY = r"""
#include <cstdlib>
#include <ctime>
#include <unistd.h>
static void compute(double seconds) {
    clock_t begun = clock();
    while (clock() - begun < seconds * CLOCKS_PER_SEC) {}
}
extern "C" {
int nc_open(const char *name, int, int *) {
    for (; *name; ++name) {}
    if (name[-1] == 'c') std::abort();
    if (name[-1] == 'w') sleep(1);
    return 0;
}
int nc_inq_natts(int, int *) { return 0; }
int nc_inq_nvars(int, int *count) { *count = 6; return 0; }
int nc_inq_varnatts(int, int, int *) { compute(0.1); return 0; }
int nc_close(int) { return 0; }
}
"""
"""Library that computes 0.1 s for each of six variables; it sleeps if a name ends in w, and crashes at c."""


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    """Return an intact HDF5 file of a few variables."""
    path = tmp_path / "sound.nc"
    fields = {name: (("lat", "lon"), np.ones((3, 4)), {"units": "K"}) for name in ("t", "u", "v")}
    xr.Dataset(fields, {"lat": np.arange(3.0), "lon": np.arange(4.0)}).to_netcdf(path, engine="netcdf4")
    return path


@pytest.fixture
def endless(sound: Path) -> Path:
    """Return a file on which the library loops: the first object of its global heap has the number 0 and no length."""
    path = sound.with_name("endless.nc")
    path.write_bytes(_without_length(sound.read_bytes()))
    return path


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the limit to half a second of processor time."""
    monkeypatch.setattr(hdf5, "SECONDS", 0.5)


def _without_length(content: bytes) -> bytes:
    heap = content.index(b"GCOL\x01\0\0\0")
    number, _, _, length = struct.unpack_from("<HHIQ", content, heap + 16)  # of the first object
    assert number > 0
    assert length > 0
    return content[: heap + 16] + bytes(16) + content[heap + 32 :]


def test_a_file_on_which_the_library_loops_is_refused(endless: Path) -> None:
    """The check runs in a separate process, which would not end without it."""
    code = (
        "from pathlib import Path; import airshed.io.hdf5 as hdf5, airshed.io.netcdf as netcdf; hdf5.SECONDS = 0.5\n"
        f"try: netcdf.load_netcdf(Path({str(endless)!r}))\nexcept netcdf.DataError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == f"{endless}: the HDF5 library {ENDLESS}\n"


def test_the_library_does_loop_and_the_sound_file_passes(endless: Path, sound: Path) -> None:
    """The damaged one of several files is named; the others can be opened afterwards."""
    with pytest.raises(DataError, match=r"endless\.nc: the HDF5 library does not terminate"):
        hdf5._let_read([sound, endless, sound], hdf5._library(), 0.5)
    hdf5._let_read([sound, sound], hdf5._library(), 0.5)
    assert load_netcdf(sound)["t"].values.sum() == 12.0


@pytest.mark.usefixtures("soon")
def test_a_damaged_result_says_to_make_it_again(endless: Path) -> None:
    with pytest.raises(OutputError, match=r"does not terminate in .* is damaged\); make it again with airshed run$"):
        open_run(endless)


@pytest.mark.usefixtures("soon")
def test_threads_are_told_one_by_one(endless: Path, sound: Path) -> None:
    """Threads release the lock of the library between calls."""
    told: list[str] = []

    def load(path: Path) -> None:
        try:
            told.append(f"{load_netcdf(path)['t'].sizes['lat']} rows")
        except DataError as error:
            told.append(str(error).partition(": ")[2])

    threads = [threading.Thread(target=load, args=(path,)) for path in (endless, sound, endless)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["3 rows", f"the HDF5 library {ENDLESS}", f"the HDF5 library {ENDLESS}"]


@pytest.mark.thorough
@pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")
def test_all_ranks_are_told(endless: Path, sound: Path) -> None:
    """Each rank checks the file by its own child, and all continue together."""
    code = (
        "from pathlib import Path; import airshed.io.hdf5 as hdf5, airshed.io.netcdf as netcdf\n"
        "from airshed.parallel.communicator import world\n"
        f"hdf5.SECONDS, ranks = 0.5, world()\ntry: netcdf.load_netcdf(Path({str(endless)!r}))\n"
        "except netcdf.DataError as error: refused = ranks.gather_all('does not terminate' in str(error))\n"
        f"print(refused, netcdf.load_netcdf(Path({str(sound)!r})).sizes['lat'])"
    )
    command = [str(MPIEXEC), "-n", "2", python(), "-m", "mpi4py", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines() == ["[True, True] 3"] * 2, done.stderr[-2000:]


@pytest.mark.thorough
def test_what_is_slow_passes_and_what_dies_does_not(tmp_path: Path) -> None:
    """Six calls of 0.1 s each, and a sleep of a second, pass a limit of half a second per call."""
    source = tmp_path / "library.cpp"
    source.write_text(OTHER_LIBRARY)
    library = str(tmp_path / "library.so")
    subprocess.run(["g++", "-shared", "-fPIC", "-o", library, str(source)], check=True)
    hdf5._let_read([tmp_path / "a", tmp_path / "w"], library, 0.5)
    with pytest.raises(DataError, match=r"/a: the HDF5 library does not terminate"):
        hdf5._let_read([tmp_path / "a", tmp_path / "w"], library, 0.05)
    with pytest.raises(DataError, match=r"/c: the HDF5 library crashes on its description"):
        hdf5._let_read([tmp_path / "a", tmp_path / "c"], library, 0.5)


def test_a_head_is_read_once_until_its_file_changes(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[list[Path]] = []
    monkeypatch.setattr(hdf5, "_let_read", lambda paths, *_: read.append(paths))
    check_heads([sound, sound])
    check_heads([sound])
    sound.write_bytes(_without_length(sound.read_bytes()) + b"x")
    check_heads([sound])
    assert read == [[sound], [sound]]


@pytest.mark.usefixtures("soon")
def test_a_refused_file_is_refused_again(endless: Path) -> None:
    for _ in range(2):
        with pytest.raises(DataError, match="does not terminate"):
            check_heads([endless])


def test_what_is_no_hdf5_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The opening reports the error; a child is not started."""
    monkeypatch.setattr(hdf5, "_let_read", lambda *_: pytest.fail("a child is started"))
    (tmp_path / "text.nc").write_text("no data")
    xr.Dataset({"t": ("x", np.ones(2))}).to_netcdf(tmp_path / "classic.nc", format="NETCDF3_64BIT")
    check_heads([tmp_path / "text.nc", tmp_path / "classic.nc", tmp_path / "missing.nc", tmp_path])


@pytest.mark.parametrize("program", ["", "/usr/bin/model", "/nowhere/python3"])
def test_where_no_child_starts_the_file_is_opened_without(
    sound: Path, monkeypatch: pytest.MonkeyPatch, program
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    check_heads([sound])
    assert load_netcdf(sound)["t"].values.sum() == 12.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_child_that_others_end_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    ended = subprocess.CompletedProcess([], -number, b".", b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    hdf5._let_read([tmp_path / "a"], "library", 0.5)
    ended.returncode = -signal.SIGSEGV  # the control
    with pytest.raises(DataError, match="crashes on"):
        hdf5._let_read([tmp_path / "a"], "library", 0.5)
