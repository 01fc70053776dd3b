from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.io.era5 import open_era5, read_era5
from airshed.io.era5_fields import time_reader

TIMES = np.datetime64("2022-08-31T00:00", "ns") + np.arange(3) * np.timedelta64(1, "h")
LAT = np.array([52.0, 51.0, 50.0])
LON = np.array([0.0, 1.0, 2.0, 3.0])
MODEL_LEVELS = np.array([100, 120, 137])
PRESSURES = np.array([300, 850, 1000])


def values(name: str, *shape: int) -> np.ndarray:
    base = {"u": 5.0, "v": -3.0, "t": 280.0, "q": 0.005, "sp": 1e5, "tp": 1e-4, "z": 1e4}[name]
    return base * (1.0 + 0.01 * np.arange(np.prod(shape)).reshape(shape) / np.prod(shape))


def model_levels(*names: str) -> xr.Dataset:
    """Old converter: time, level, latitude (descending), longitude; with surface fields."""
    fields = {}
    for name in names or ("u", "v", "q", "t", "sp"):
        dims, shape = ("time", "level", "latitude", "longitude"), (3, 3, 3, 4)
        if name in ("sp", "tp"):
            dims, shape = ("time", "latitude", "longitude"), (3, 3, 4)
        fields[name] = (dims, values(name, *shape))
    level = ("level", MODEL_LEVELS, {"long_name": "model_level_number"})
    coords = {"time": TIMES, "level": level, "latitude": LAT, "longitude": LON}
    dataset = xr.Dataset(fields, coords=coords)
    return dataset if any("level" in dataset[name].dims for name in dataset) else dataset.drop_vars("level")


def write(path: Path, dataset: xr.Dataset, **options: object) -> Path:
    dataset.to_netcdf(path, **options)
    return path


def test_one_file_comes_back_in_the_reader_s_names_and_order(tmp_path: Path) -> None:
    source = model_levels()
    found = read_era5([write(tmp_path / "all.nc", source)])
    assert found["u"].dims == ("time", "level", "latitude", "longitude")
    assert list(found["level"].values) == [137, 120, 100]
    assert list(found["latitude"].values) == [50.0, 51.0, 52.0]
    assert found.attrs["level_kind"] == "model"
    assert found["u"].attrs["file"] == "all.nc"
    first = source["u"].isel(time=1).sel(level=137, latitude=51.0, longitude=2.0)
    assert found["u"].isel(time=1).sel(level=137, latitude=51.0, longitude=2.0) == first


def test_a_file_for_each_variable_and_period_is_the_same_data(tmp_path: Path) -> None:
    whole = read_era5([write(tmp_path / "all.nc", model_levels())])
    files = []
    for name in ("sp", "t", "v", "u", "q"):
        for part, times in enumerate((slice(2, 3), slice(0, 2))):
            files.append(write(tmp_path / f"{name}{part}.nc", model_levels(name).isel(time=times)))
    pieces = read_era5(files)
    for name in whole.data_vars:
        assert np.array_equal(pieces[name], whole[name])
    assert pieces["u"].attrs["file"] == "u0.nc, u1.nc"


def test_an_hour_that_two_files_hold_is_taken_once(tmp_path: Path) -> None:
    first = write(tmp_path / "a.nc", model_levels().isel(time=slice(0, 2)))
    second = write(tmp_path / "b.nc", model_levels().isel(time=slice(1, 3)))
    assert read_era5([first, second]).sizes["time"] == 3


def test_a_part_is_read_alone_and_is_the_whole_s(tmp_path: Path) -> None:
    source = model_levels().transpose("longitude", "level", "time", "latitude")
    source["u"].loc[{"longitude": 3.0}] = np.nan
    files = [write(tmp_path / f"{hour}.nc", source.isel(time=[hour])) for hour in (2, 0, 1)]
    with pytest.raises(DataError, match=r"variable u is missing \(NaN\)"):
        read_era5(files)
    with open_era5(files) as opened:
        sound = opened.isel(longitude=slice(0, 3)).load()
        expected = source["u"].transpose("time", "level", "latitude", "longitude").values[:, ::-1, ::-1, :3]
        assert np.array_equal(sound["u"], expected)
        for key in ({"time": 1, "level": 0, "latitude": slice(1, 3)}, {"time": [2, 0], "latitude": [2]}):
            assert np.array_equal(opened["v"].isel(key), opened[["v"]].load()["v"].isel(key))
        with pytest.raises(DataError, match=r"longitude 3 \(3 values\)"):
            opened["u"].isel(time=1, level=2).load()


def test_damage_between_the_points_that_are_wanted_does_no_harm(tmp_path: Path) -> None:
    source = model_levels()
    source["u"].loc[{"longitude": 1.0}] = np.nan
    with open_era5([write(tmp_path / "all.nc", source)]) as opened:
        sound = opened["u"].isel(longitude=[3, 0, 2]).values
        assert np.array_equal(sound, source["u"].values[:, ::-1, ::-1, [3, 0, 2]])
        with pytest.raises(DataError, match=r"latitude 50, longitude 1 \(27 values\)"):
            opened["u"].isel(longitude=[3, 0, 1]).load()


def test_a_part_is_read_at_times_without_xarray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packing = {"dtype": "int16", "scale_factor": 1e-3, "add_offset": 0.5, "_FillValue": -32767}
    source = model_levels("u", "v", "t").transpose("longitude", "level", "time", "latitude")
    both = source.expand_dims(expver=2, axis=2).copy(deep=True)
    both["t"][:, :, 0, 1] = np.nan
    encoding = {"u": packing, "v": packing}
    files = [write(tmp_path / f"{hour}.nc", both.isel(time=[hour]), encoding=encoding) for hour in (2, 0, 1)]
    with open_era5(files) as opened:
        part = opened.sortby("longitude", ascending=False).isel(time=[2, 0, 1], longitude=[2, 0], latitude=slice(1, 3))
        expected = {name: part.variables[name].isel(time=[1, 2]).values for name in part.data_vars}
        readers = {name: time_reader(part.variables[name]) for name in part.data_vars}
        in_memory = time_reader(part["v"].load().variable)
        with monkeypatch.context() as patch:
            patch.delattr(xr.Variable, "isel")
            for name, values in expected.items():
                found = readers[name]([1, 2])
                assert (found.dtype, found.tolist()) == (values.dtype, values.tolist())
            with pytest.raises(AttributeError):
                in_memory([1, 2])
        assert np.array_equal(in_memory([1, 2]), expected["v"])


def test_a_file_that_goes_bad_after_it_was_opened_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "late.nc", model_levels())
    with open_era5([path]) as opened:
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size // 2)
        with pytest.raises(DataError, match=r"late.nc had \d+ bytes when it was opened, and has \d+ now"):
            opened.load()
        path.unlink()
        with pytest.raises(DataError, match=r"late.nc cannot be read any more \(No such file"):
            opened["u"].isel(time=1).load()


def test_the_new_data_store_s_conventions(tmp_path: Path) -> None:
    plain = read_era5([write(tmp_path / "old.nc", model_levels())])
    new = model_levels().rename({"time": "valid_time", "level": "model_level"})
    new["model_level"].attrs.clear()
    new = new.assign_coords(number=0, expver=("valid_time", ["0001"] * 3)).expand_dims("realisation")
    found = read_era5([write(tmp_path / "new.nc", new.transpose("longitude", "model_level", ...))])
    for name in plain.data_vars:
        assert np.array_equal(found[name], plain[name])
    hybrid = model_levels().rename({"level": "hybrid"})
    assert read_era5([write(tmp_path / "hybrid.nc", hybrid)]).attrs["level_kind"] == "model"


def test_pressure_levels_are_known_by_unit_name_or_size(tmp_path: Path) -> None:
    surface = model_levels("sp")
    for name, coordinate in {
        "old": ("level", PRESSURES, {"units": "millibars"}),
        "new": ("pressure_level", PRESSURES.astype(float), {"units": "hPa"}),
        "pascal": ("plev", 100.0 * PRESSURES, {"units": "Pa"}),
        "bare": ("level", PRESSURES, {}),
    }.items():
        dims = ("time", coordinate[0], "latitude", "longitude")
        levels = xr.Dataset(
            {variable: (dims, values(variable, 3, 3, 3, 4)) for variable in ("u", "v")},
            coords={"time": TIMES, coordinate[0]: coordinate, "latitude": LAT, "longitude": LON},
        )
        found = read_era5([write(tmp_path / f"{name}.nc", xr.merge([levels, surface]))])
        assert found.attrs["level_kind"] == "pressure"
        assert list(found["level"].values) == [1e5, 85e3, 30e3]


def test_packed_integers_classic_files_and_long_names(tmp_path: Path) -> None:
    packing = {"dtype": "int16", "scale_factor": 1e-3, "add_offset": 0.0, "_FillValue": -32767}
    source = model_levels("u", "v", "sp").rename(
        u="u_component_of_wind", v="v_component_of_wind", sp="surface_pressure"
    )
    encoding = dict.fromkeys(("u_component_of_wind", "v_component_of_wind"), packing)
    for kind in ("NETCDF4", "NETCDF3_64BIT", "NETCDF3_CLASSIC"):
        found = read_era5([write(tmp_path / f"{kind}.nc", source, encoding=encoding, format=kind)])
        assert float(found["u"].mean()) == pytest.approx(float(source["u_component_of_wind"].mean()), abs=1e-3)


def test_two_versions_of_the_reanalysis_are_put_together(tmp_path: Path) -> None:
    source = model_levels()
    final, preliminary = source.copy(deep=True), source.copy(deep=True)
    for name in source.data_vars:
        final[name][2] = np.nan
        preliminary[name][:2] = np.nan
    both = xr.concat([final, preliminary], dim="expver")
    assert np.array_equal(
        read_era5([write(tmp_path / "both.nc", both)])["u"], read_era5([write(tmp_path / "one.nc", source)])["u"]
    )


def test_the_height_of_the_ground_is_told_from_that_of_the_levels(tmp_path: Path) -> None:
    ground = xr.Dataset(
        {"z": (("latitude", "longitude"), values("z", 3, 4))}, coords={"latitude": LAT, "longitude": LON}
    )
    found = read_era5([write(tmp_path / "z.nc", model_levels("z", "u", "v")), write(tmp_path / "zs.nc", ground)])
    assert found["zs"].dims == ("latitude", "longitude")
    assert found["z"].dims[1] == "level"


def test_what_the_model_does_not_know_is_listed(tmp_path: Path) -> None:
    source = model_levels().assign(tcw=model_levels("sp")["sp"])
    assert read_era5([write(tmp_path / "a.nc", source)]).attrs["unused"] == ["tcw"]


def refused(words: str, *files: Path) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read_era5(files)
    message = str(caught.value)
    assert message.count("\n") <= 1
    assert len(message) < 400


def test_files_that_are_no_netcdf_are_refused(tmp_path: Path) -> None:
    refused("no meteorological files")
    refused("absent.nc does not exist", tmp_path / "absent.nc")
    refused("is a folder", tmp_path)
    for name, content, words in (
        ("text.nc", b"hello, world", "not a netCDF file"),
        ("empty.nc", b"", "empty"),
        ("zip.nc", b"PK\x03\x04....", "unpack it"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        refused(words, path)


@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_64BIT"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(tmp_path: Path, kind: str, share: float) -> None:
    whole = write(tmp_path / "whole.nc", model_levels(), format=kind).read_bytes()
    path = tmp_path / "cut.nc"
    path.write_bytes(whole[: int(share * len(whole))])
    refused("cut.nc is truncated", path)


def test_values_that_cannot_be_are_named_with_their_place(tmp_path: Path) -> None:
    for name, value, words in (
        (
            "u",
            np.nan,
            r"bad.nc: variable u is missing \(NaN\) at time 2022-08-31T01:00, level 120, latitude 51, longitude 2",
        ),
        ("v", 200.0, "variable v is 200, outside -150 to 150"),
        ("t", 20.0, "variable t is 20, outside 150 to 350"),
        ("q", 5.0, "variable q is 5,"),
    ):
        bad = model_levels()
        bad[name].loc[{"time": TIMES[1], "level": 120, "latitude": 51.0, "longitude": 2.0}] = value
        refused(words, write(tmp_path / "bad.nc", bad))
    low = model_levels()
    low["sp"][0, 0, 0] = 1000.0
    refused("variable sp is 1000, outside 30000 to 110000", write(tmp_path / "low.nc", low))


def test_sets_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    wind = write(tmp_path / "wind.nc", model_levels("u", "v", "sp"))
    refused(r"no variable v \(wind\)", write(tmp_path / "u.nc", model_levels("u", "sp")))
    late = write(tmp_path / "late.nc", model_levels("t").isel(time=slice(1, 3)))
    refused("late.nc: t has no data for time 2022-08-31T00:00", wind, late)
    narrow = write(tmp_path / "narrow.nc", model_levels("q").isel(longitude=slice(0, 2)))
    refused("narrow.nc: q has no data for longitude 2", wind, narrow)
    elsewhere = model_levels("u").isel(latitude=slice(0, 2)).assign_coords(time=TIMES + np.timedelta64(1, "D"))
    other = write(tmp_path / "other.nc", elsewhere)
    refused("other.nc: u has another latitude", wind, other)
    pressure = model_levels("t").assign_coords(level=("level", PRESSURES, {"units": "hPa"}))
    refused("no data for level|levels", wind, write(tmp_path / "pl.nc", pressure))
    flat = model_levels("u", "v").isel(level=0, drop=True)
    refused("wind u has no level", write(tmp_path / "flat.nc", flat))
    for name, told in (("v", "the wind v"), ("t", "t")):
        part = write(tmp_path / f"{name}.nc", model_levels(name).isel(level=0, drop=True))
        others = write(tmp_path / "others.nc", model_levels(*{"u", "v"} - {name}))
        refused(f"{name}.nc: {told} has no level; the model needs it on", others, part)


def test_a_wider_set_is_cut_to_the_wind(tmp_path: Path) -> None:
    wind = write(tmp_path / "wind.nc", model_levels("u", "v").isel(longitude=slice(0, 3)))
    surface = write(tmp_path / "sp.nc", model_levels("sp"))
    assert read_era5([wind, surface])["sp"].sizes["longitude"] == 3
