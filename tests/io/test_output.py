"""The output file: its values, its CF attributes, and refusals."""

import netCDF4
import numpy as np
import pytest
import xarray as xr

from airshed import __version__
from airshed.core.errors import DataError, NumericalError, OutputError
from airshed.io import classic
from airshed.io.output import Output, OutputWriter
from airshed.io.results import open_run


def test_values_are_the_fields_as_float32(tmp_path, write_run, values):
    with open_run(write_run(tmp_path / "run", hours=3)) as result:
        assert result["O3"].dims == ("time", "level", "lat", "lon")
        assert result["surface_pressure"].dims == ("time", "lat", "lon")
        for index in range(3):
            expected = values(3600.0 * index)
            for name in ("O3", "surface_pressure"):
                found = result[name][index].values
                assert found.dtype == np.float32
                assert np.array_equal(found, expected[name].astype(np.float32))
        hours = np.datetime64("2022-08-31") + np.arange(3) * np.timedelta64(1, "h")
        assert np.array_equal(result["time"].values, hours)


def test_a_copy_is_taken_at_the_call(tmp_path, start_run, values):
    run = start_run(tmp_path / "run")
    with run.folder:
        fields = values(0)
        expected = fields["O3"].astype(np.float32)
        run.writer.write(0.0, fields)
        fields["O3"][...] = -1.0
        run.writer.finish()
    with open_run(tmp_path / "run") as result:
        assert np.array_equal(result["O3"][0].values, expected)


def cf_defects(path):
    """Return the defects of an output file by the CF conventions, as far as Airshed's files use them."""
    defects = []
    with netCDF4.Dataset(path) as file:
        if file.Conventions != "CF-1.11":
            defects.append("conventions")
        for axis, (letter, standard_name) in {
            "time": ("T", "time"),
            "level": ("Z", "height"),
            "lat": ("Y", "latitude"),
            "lon": ("X", "longitude"),
        }.items():
            variable = file[axis]
            if variable.axis != letter or variable.standard_name != standard_name:
                defects.append(f"{axis} axis")
            if axis != "time" and file[variable.bounds].dimensions != (axis, "bnds"):
                defects.append(f"{axis} bounds")
        bounds = {file[axis].bounds for axis in ("level", "lat", "lon")}
        for name, variable in file.variables.items():
            wanted = {"units", "long_name"} if name not in bounds else set()
            defects += [f"{name} {attribute}" for attribute in sorted(wanted - set(variable.ncattrs()))]
    return defects


def test_the_file_follows_cf(tmp_path, write_run, grid):
    texts = {"references": "ERA5, Copernicus licence"}
    path = write_run(tmp_path / "run", attributes=texts, compression="zlib") / "output.nc"
    assert cf_defects(path) == []
    with netCDF4.Dataset(path) as file:
        assert file["time"].units == "seconds since 2022-08-31T00:00:00Z"
        assert file["level"].positive == "up"
        assert np.array_equal(file["level_bnds"][:], [[0, 20], [20, 60], [60, 150]])
        assert np.array_equal(file["lat_bnds"][:, 1], grid.y_faces[1:])
        assert np.array_equal(file["lon_bnds"][:, 0], grid.x_faces[:-1])
        assert file["O3"].standard_name == "mole_fraction_of_ozone_in_air"
        assert file["O3"].units == "mol mol-1"
        assert file["O3"].filters()["zlib"]
        assert file["O3"].filters()["shuffle"]
        assert file.title == "A test"
        assert file.references == "ERA5, Copernicus licence"
        assert file.source == f"Airshed {__version__}"
        assert file.airshed_case == '[time]\nstep = "120 s"\n'
        assert file.airshed_run == "complete"
        assert __version__ in file.history


def test_the_cf_check_can_fail(tmp_path, write_run):
    path = write_run(tmp_path / "run") / "output.nc"
    with netCDF4.Dataset(path, "a") as file:
        file["O3"].delncattr("units")
        file["level"].axis = "Y"
        file.Conventions = "none"
    assert cf_defects(path) == ["conventions", "level axis", "O3 units"]


def test_the_same_run_gives_the_same_bytes(tmp_path, write_run):
    first, second = (write_run(tmp_path / name) / "output.nc" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


def test_only_chosen_levels_are_kept(tmp_path, write_run, values):
    with open_run(write_run(tmp_path / "run", selection={"level": [0, 2]})) as result:
        assert np.array_equal(result["level"], [10.0, 105.0])
        assert np.array_equal(result["level_bnds"], [[0, 20], [60, 150]])
        assert np.array_equal(result["O3"][1], values(3600)["O3"][[0, 2]].astype(np.float32))


@pytest.mark.parametrize("compression", ["none", "zlib"])
def test_a_later_write_of_a_record_replaces_it(tmp_path, start_run, values, compression):
    run = start_run(tmp_path / "run", compression=compression)
    with run.folder:
        for seconds, of in ((0, 0), (3600, 1), (7200, 7200), (3600, 3600)):
            run.writer.write(seconds, values(of))
        with xr.open_dataset(run.writer.finish()) as result:
            assert result.sizes["time"] == 3
            assert np.array_equal(result["O3"][1], np.float32(values(3600)["O3"]))


def test_an_interrupted_run_is_valid_shorter_and_says_so(tmp_path, start_run, values):
    run = start_run(tmp_path / "run")
    with run.folder:
        run.writer.write(0, values(0))
        run.writer.finish(complete=False)
        run.folder.finish(complete=False)
    with open_run(tmp_path / "run") as result:
        assert result.attrs["airshed_run"] == "interrupted"
        assert result.sizes["time"] == 1


@pytest.mark.parametrize("strategy", ["gather", "files", "mpiio", "zarr"])
def test_a_run_without_records_is_still_a_valid_file(tmp_path, write_run, strategy):
    with open_run(write_run(tmp_path / "run", hours=0, strategy=strategy)) as result:
        assert result["O3"].load().shape == (0, 3, 4, 2)


@pytest.mark.parametrize("seconds", [-3600.0, 1.0, 3599.9])
def test_a_time_between_records_is_refused(tmp_path, start_run, values, seconds):
    run = start_run(tmp_path / "run")
    with run.folder:
        assert not run.writer.is_due(seconds)
        with pytest.raises(OutputError, match="records are due every 3600"):
            run.writer.write(seconds, values(0))


def test_missing_and_misshapen_fields_are_refused(tmp_path, start_run, values):
    run = start_run(tmp_path / "run")
    with run.folder:
        with pytest.raises(OutputError, match="lacks the field surface_pressure"):
            run.writer.write(0.0, {"O3": values(0)["O3"]})
        with pytest.raises(DataError, match="O3 must have the shape"):
            run.writer.write(0.0, {**values(0), "O3": np.zeros((1, 4, 2))})


def test_several_outputs_share_a_run(tmp_path, start_run, registry, grid, values):
    run = start_run(tmp_path / "run")
    output = Output(registry.select(["NO2"]), 1800.0, "ground", {"level": [0]})
    options = {"start": np.datetime64("2022-08-31"), "attributes": {"title": "Ground"}}
    with run.folder:
        ground = OutputWriter(run.folder, grid.axes, output, **options)
        with pytest.raises(OutputError, match="two outputs have the name 'ground'"):
            OutputWriter(run.folder, grid.axes, output, **options)
        run.writer.write(0, values(0))
        for seconds in (0, 1800):
            ground.write(seconds, values(seconds))
        run.writer.finish()
        ground.finish()
        run.folder.finish()
    with open_run(tmp_path / "run", "ground") as result:
        assert dict(result["NO2"].sizes) == {"time": 2, "level": 1, "lat": 4, "lon": 2}


@pytest.mark.parametrize("name", ["", "../output", "a/b", ".hidden"])
def test_an_output_name_stays_in_the_folder(tmp_path, start_run, name):
    with pytest.raises(OutputError, match="not usable"):
        start_run(tmp_path / "run", name=name)


def test_an_error_behind_the_run_reaches_the_next_write(tmp_path, start_run, values, monkeypatch):
    def fail(path, record, metadata):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("airshed.io.strategies.store.save_arrays", fail)
    run = start_run(tmp_path / "run", compression="zlib")
    with run.folder:
        run.writer.write(0.0, values(0))
        with pytest.raises(OutputError, match=r"000000\.npz: the disk is full"):
            run.folder.writer.wait()
        with pytest.raises(OutputError, match="the disk is full"):
            run.writer.write(3600.0, values(3600))
        with pytest.raises(OutputError, match="the disk is full"):
            run.writer.finish()


@pytest.mark.parametrize("compression", ["none", "zlib"])
def test_a_gap_in_the_records_is_found(tmp_path, start_run, values, compression):
    run = start_run(tmp_path / "run", compression=compression)
    with run.folder:
        run.writer.write(0.0, values(0))
        run.writer.write(7200.0, values(7200))
        with pytest.raises(OutputError, match=r"lacks the record 000001"):
            run.writer.finish()
    with pytest.raises(OutputError, match=r"lacks the record 000001"):
        start_run(tmp_path / "run", resume=True, resume_from=3.5 * 3600, compression=compression)


def test_a_clock_with_round_off_still_meets_the_records(tmp_path, start_run, values):
    seconds = float(np.nextafter(3600.0, 0.0))
    run = start_run(tmp_path / "run")
    with run.folder:
        run.writer.write(0.0, values(0))
        run.writer.write(seconds, values(3600))
        with xr.open_dataset(run.writer.finish()) as result:
            assert result["time"][1].values == np.datetime64("2022-08-31T01:00")


def write_records(run, values, indices, every):
    for index in indices:
        run.writer.write(index * every, values(index))


def assert_goes_on(run, values, count, every):
    """Write one record after `count` existing ones, and the result, which contains all of them."""
    with run.folder:
        write_records(run, values, [count], every)
        run.writer.finish()
        run.folder.finish()
    with open_run(run.path) as result:
        assert np.array_equal(result["O3"], [values(index)["O3"].astype(np.float32) for index in range(count + 1)])


@pytest.mark.parametrize("strategy", ["gather", "files"])
def test_a_run_goes_on_behind_a_record_whose_interval_is_not_exact(tmp_path, start_run, values, strategy):
    """999 s are five times 199.8 s, but 999 // 199.8 is 4."""
    options = {"every": 199.8, "strategy": strategy}
    run = start_run(tmp_path / "run", **options)
    with run.folder:
        write_records(run, values, range(6), 199.8)
    again = start_run(tmp_path / "run", resume=True, resume_from=999.0, **options)
    assert_goes_on(again, values, 6, 199.8)


WAYS = {
    "gather without compression, mpiio or pnetcdf": {"strategy": "gather"},
    "gather with compression": {"strategy": "gather", "compression": "zlib"},
    "files": {"strategy": "files"},
    "zarr": {"strategy": "zarr"},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_began_with_another_strategy_goes_on_with_that_one_alone(tmp_path, start_run, values, way):
    run = start_run(tmp_path / "run", **WAYS[way])
    with run.folder:
        write_records(run, values, range(2), 3600.0)
    for other in WAYS.keys() - {way}:
        with pytest.raises(OutputError, match=f"are of the strategy {way}, and not of {other}; resume with"):
            start_run(tmp_path / "run", resume=True, resume_from=3600.0, **WAYS[other])
    again = start_run(tmp_path / "run", resume=True, resume_from=3600.0, **WAYS[way])
    assert_goes_on(again, values, 2, 3600.0)


@pytest.mark.parametrize("way", WAYS)
def test_a_run_without_restart_begins_anew_with_any_strategy(tmp_path, start_run, values, way):
    """The run is killed between its result and its end: that result remains in `previous`."""
    run = start_run(tmp_path / "run")
    with run.folder:
        write_records(run, values, range(2), 3600.0)
        made = run.writer.finish().read_bytes()
    again = start_run(tmp_path / "run", resume=True, **WAYS[way])
    with again.folder:
        again.writer.write(0.0, values(7))
        again.folder.wait()
        assert (tmp_path / "run" / "previous" / "output.nc").read_bytes() == made
        again.writer.finish()
        again.folder.finish()
    with open_run(tmp_path / "run") as result:
        assert np.array_equal(result["O3"], [values(7)["O3"].astype(np.float32)])


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_is_killed_between_its_result_and_its_end_goes_on(tmp_path, start_run, values, way):
    run = start_run(tmp_path / "run", **WAYS[way])
    with run.folder:
        write_records(run, values, range(3), 3600.0)
        made = run.writer.finish().name
    again = start_run(tmp_path / "run", resume=True, resume_from=3600.0, **WAYS[way])
    with again.folder:
        again.writer.write(2 * 3600.0, values(7))
        again.folder.wait()
        with open_run(tmp_path / "run" / "previous" / made) as before:
            assert np.array_equal(before["O3"], [values(index)["O3"].astype(np.float32) for index in range(3)])
        again.writer.finish()
        again.folder.finish()
    with open_run(tmp_path / "run") as result:
        assert np.array_equal(result["O3"], [values(index)["O3"].astype(np.float32) for index in (0, 1, 7)])
        assert result.attrs["airshed_run"] == "complete"


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e300])
def test_what_no_result_can_hold_is_refused(tmp_path, start_run, values, wrong):
    """A finite number beyond the largest float32 would be written as inf."""
    run = start_run(tmp_path / "run")
    with run.folder:
        fields = values(0)
        fields["O3"][0, 0, 0] = wrong
        with pytest.raises(NumericalError, match="O3 is not finite at 0 h or exceeds"):
            run.writer.write(0.0, fields)


def test_a_run_that_began_as_cdf_5_goes_on_as_such_with_the_same_content(tmp_path, start_run, values, monkeypatch):
    """A large field requires that format, and earlier versions used it for all fields."""
    with monkeypatch.context() as patch:
        patch.setattr(classic, "_MOST", 0)
        run = start_run(tmp_path / "run")
        with run.folder:
            write_records(run, values, range(2), 3600.0)
    again = start_run(tmp_path / "run", resume=True, resume_from=3600.0)
    other = start_run(tmp_path / "other")
    for each, numbers in ((again, range(2, 4)), (other, range(4))):
        with each.folder:
            write_records(each, values, numbers, 3600.0)
            each.made = each.writer.finish()
    assert [each.made.read_bytes()[:4] for each in (again, other)] == [b"CDF\x05", b"CDF\x02"]
    with xr.open_dataset(again.made) as one, xr.open_dataset(other.made) as two:
        assert one.identical(two)
