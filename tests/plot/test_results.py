"""A run's file as the pictures read it."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.plot.results import Results

RUN = Path("run")


def test_ground_fields_come_in_micrograms(small: xr.Dataset) -> None:
    results = Results(small, RUN)
    cell = small.isel(time=3, level=0, lat=4, lon=6)
    air = float(cell.air_pressure) / (8.31446261815324 * float(cell.air_temperature))
    assert results.ground("O3")[3, 4, 6] == pytest.approx(float(cell.O3) * air * 47.998e6, rel=1e-6)
    assert results.quantity("O3").unit == "µg/m³"


def test_the_files_molar_mass_comes_first_then_the_table_then_none(small: xr.Dataset) -> None:
    plain = small.copy()
    plain["O3"] = plain.O3.assign_attrs(molar_mass=0.096)
    plain["NO2"] = plain.NO2.copy()
    del plain.NO2.attrs["molar_mass"]
    plain["X"] = plain.NO2
    found, usual = Results(plain, RUN), Results(small, RUN)
    np.testing.assert_allclose(found.ground("O3"), 96 / 47.998 * usual.ground("O3"))
    np.testing.assert_allclose(found.ground("NO2"), usual.ground("NO2"))
    assert found.quantity("X").unit == "ppb"
    np.testing.assert_allclose(found.ground("X"), 1e9 * small.NO2.values[:, 0].astype(float))


def test_without_temperature_there_are_only_mixing_ratios(small: xr.Dataset) -> None:
    assert Results(small.drop_vars("air_temperature"), RUN).quantity("O3").unit == "ppb"


def test_other_fields_keep_their_unit(small: xr.Dataset) -> None:
    results = Results(small, RUN)
    assert results.quantity("air_temperature").unit == "K"
    assert results.quantity("air_temperature").title == "Air temperature"
    assert results.ground("air_temperature").mean() == pytest.approx(293, abs=1)


def test_titles_say_what_a_species_is(small: xr.Dataset) -> None:
    results = Results(
        small.assign(PANX=small.O3.assign_attrs(long_name="Mixing ratio of peroxy compounds; a class")), RUN
    )
    assert results.quantity("O3").title == "Ozone (O₃)"
    assert results.quantity("PANX").title == "Peroxy compounds"


def test_fields_chosen(small: xr.Dataset) -> None:
    assert Results(small, RUN).chosen(None) == ["O3", "NO2"]
    assert Results(small, RUN).chosen(["air_pressure", "NO2", "NO2"]) == ["air_pressure", "NO2"]
    tracers = small.rename(O3="blue", NO2="red")
    assert Results(tracers, RUN).chosen(None) == ["blue", "red"]
    assert Results(small[["air_pressure"]], RUN).chosen(None) == ["air_pressure"]


def test_an_unknown_field_is_refused_with_those_there_are(small: xr.Dataset) -> None:
    with pytest.raises(DataError, match=r"no field 'NO3'; it has: O3, NO2, air_pressure, air_temp"):
        Results(small, RUN).chosen(["NO3"])
    with pytest.raises(DataError, match=r"no field 'Ozone'; it has: .*; did you mean O3\?$"):
        Results(small, RUN).chosen(["Ozone"])
    with pytest.raises(DataError, match=r"no field 'xyz'; it has: [^?]*$"):  # without a similar name there is no hint
        Results(small, RUN).chosen(["xyz"])


def test_a_file_that_is_no_run_is_refused(small: xr.Dataset) -> None:
    with pytest.raises(DataError, match="no coordinate 'time'"):
        Results(small.isel(time=0, drop=True), RUN)
    with pytest.raises(DataError, match="no time yet"):
        Results(small.isel(time=slice(0, 0)), RUN)
    with pytest.raises(DataError, match="CF units"):
        Results(small.assign_coords(time=np.arange(9.0)), RUN)
    with pytest.raises(DataError, match="no field"):
        Results(small[["lat"]].assign_coords(time=small.time, lon=small.lon), RUN).chosen(None)


def test_edges_in_the_file_come_first(small: xr.Dataset) -> None:
    faces = np.array([45, 45.2, 47, 48, 49, 50, 51, 52, 53, 54, 55.0])
    bounds = xr.DataArray(np.stack([faces[:-1], faces[1:]], axis=1), dims=("lat", "bnds"))
    np.testing.assert_allclose(Results(small.assign(lat_bnds=bounds), RUN).cells.y_edges, faces)
    gap = bounds.copy()
    gap[3, 0] += 0.5
    np.testing.assert_allclose(Results(small.assign(lat_bnds=gap), RUN).cells.y_edges, np.arange(45, 56))


def test_rows_from_north_to_south_are_turned(small: xr.Dataset) -> None:
    turned = Results(small.isel(lat=slice(None, None, -1)), RUN)
    np.testing.assert_array_equal(turned.ground("O3"), Results(small, RUN).ground("O3"))
    assert np.all(np.diff(turned.cells.y_edges) > 0)


def test_longitudes_rise_across_the_date_line(small: xr.Dataset) -> None:
    across = small.assign_coords(lon=(np.arange(175.5, 185) + 180) % 360 - 180)
    results = Results(across, RUN)
    np.testing.assert_allclose(results.cells.x_edges, np.arange(175, 186))
    assert (results.area.west, results.area.east) == (175, 185)


def test_a_damaged_part_of_a_file_is_a_message(small: xr.Dataset, tmp_path: Path) -> None:
    small.to_netcdf(tmp_path / "output.nc", encoding={"O3": {"zlib": True, "chunksizes": (1, 4, 10, 10)}})
    content = bytearray((tmp_path / "output.nc").read_bytes())
    start = content.index(b"\x78\x5e") if b"\x78\x5e" in content else content.index(b"\x78\x01")
    content[start + 2 : start + 4000] = bytes(3998)
    (tmp_path / "output.nc").write_bytes(content)
    with (
        xr.open_dataset(tmp_path / "output.nc", engine="netcdf4") as dataset,
        pytest.raises(DataError, match="run the case again"),
    ):
        Results(dataset, tmp_path).ground("O3")
