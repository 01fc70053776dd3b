"""A full disk stops a run and leaves no partial files."""

import shutil

import numpy as np
import pytest

from airshed.core.atomic import is_part
from airshed.core.errors import OutputError
from airshed.io.restart import RestartStore


@pytest.mark.parametrize("small_disk", ["1m"], indirect=True)
@pytest.mark.parametrize("victim", ["records", "output", "restart"])
def test_a_really_full_disk_stops_the_run_and_leaves_nothing_half_written(small_disk, start_run, values, victim):
    run = start_run(small_disk / "run", compression="zlib" if victim == "output" else "none")

    def fill_the_disk(*, records, left):
        for hour in range(records):
            run.writer.write(3600.0 * hour, values(3600.0 * hour))
        run.folder.writer.wait()
        (small_disk / "filler").write_bytes(b"x" * (shutil.disk_usage(small_disk).free - left))

    def write():
        if victim == "records":
            fill_the_disk(records=1, left=0)
            for hour in range(1, 99):  # the first ones may still fit into the last page of the file
                run.writer.write(3600.0 * hour, values(3600.0 * hour))
            run.folder.writer.wait()
        elif victim == "output":
            fill_the_disk(records=3, left=16384)
            run.writer.finish()
        else:
            fill_the_disk(records=1, left=0)
            RestartStore(run.folder).save(0.0, {}, {"q": np.ones((50, 50, 50))}, {})
            run.folder.writer.wait()

    with run.folder, pytest.raises(OutputError, match="the disk is full"):
        write()
    assert not [path for path in small_disk.rglob("*") if is_part(path)]
    assert not (small_disk / "run" / "output.nc").exists()
