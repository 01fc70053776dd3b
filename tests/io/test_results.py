"""Results: complete ones are opened, all other cases are explained."""

import netCDF4
import pytest

from airshed.core.errors import OutputError
from airshed.io.results import open_run


def test_a_folder_or_a_file_opens(tmp_path, write_run):
    path = write_run(tmp_path / "run")
    for target in (path, str(path), path / "output.nc"):
        with open_run(target) as result:
            assert result.sizes["time"] == 3


@pytest.mark.parametrize("compression", ["none", "zlib"])
@pytest.mark.parametrize("kept", [0, 7, 0.1, 0.5, 0.999])
def test_a_truncated_file_is_refused(tmp_path, write_run, kept, compression):
    path = write_run(tmp_path / "run", compression=compression) / "output.nc"
    content = path.read_bytes()
    path.write_bytes(content[: int(kept if kept >= 1 else kept * len(content))])
    with pytest.raises(OutputError, match=r"output\.nc is damaged or is not a netCDF file"):
        open_run(path)


def test_an_unfinished_run_says_how_far_it_came(tmp_path, start_run, values):
    with (run := start_run(tmp_path / "run")).folder:
        run.writer.write(0, values(0))
        run.writer.write(3600, values(3600))
    with pytest.raises(OutputError, match=r"unfinished, with 2 output times so far; .*--resume"):
        open_run(tmp_path / "run")


def test_a_run_named_without_its_folder_is_guessed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match=r"^there is no run or file europe$"):
        open_run("europe")
    (tmp_path / "runs" / "europe").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"^there is no run or file europe; did you mean runs/europe\?$"):
        open_run("europe")


def test_missing_things_are_named(tmp_path, write_run):
    with pytest.raises(OutputError, match="there is no run or file"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="holds no run of Airshed"):
        open_run(tmp_path)
    with pytest.raises(OutputError, match="no output 'ouput'; did you mean output"):
        open_run(write_run(tmp_path / "run"), "ouput")


def test_a_foreign_netcdf_file_is_refused(tmp_path):
    with netCDF4.Dataset(tmp_path / "other.nc", "w") as file:
        file.createDimension("x", 1)
        file.createVariable("x", "f8", ("x",))
    with pytest.raises(OutputError, match="not an output of Airshed: it lacks lat, lon, time"):
        open_run(tmp_path / "other.nc")
