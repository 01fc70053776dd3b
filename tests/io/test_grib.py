"""GRIB files: fields, levels, times and grids of synthetic messages."""

import sys
from pathlib import Path

import numpy as np
import pytest
from tests.io.synthetic_grib import (
    LAMBERT,
    LAT,
    PRESSURES,
    library,
    message,
    profile,
    several_fields,
    surface,
    weather,
    write,
)

from airshed.core.errors import DataError
from airshed.grid.scattered import axis_rotation
from airshed.io.era5 import open_era5, read_era5
from airshed.io.grid_file import read_grid
from airshed.io.netcdf import open_file

ON_LAMBERT = {
    "gridType": "lambert", "Nx": 12, "Ny": 9, "DxInMetres": 50000, "DyInMetres": 50000, "shapeOfTheEarth": 6,
    "latitudeOfFirstGridPointInDegrees": 46.0, "longitudeOfFirstGridPointInDegrees": 6.0, "jScansPositively": 1,
    **LAMBERT,
}  # fmt: skip


@pytest.mark.parametrize("edition", [1, 2])
def test_fields_are_read_in_the_order_of_the_reader(tmp_path: Path, edition: int) -> None:
    field = np.arange(30.0).reshape(5, 6)
    content = [message("u", 10.0 * level / 100.0 + field, level=level, edition=edition) for level in (500, 1000)]
    content += [message("v", -field, level=level, edition=edition) for level in (1000, 500)]
    content += [surface("2d", 280.0, edition=edition), surface("z", 98.0665, edition=edition)]
    with open_era5([write(tmp_path / "a.grib", *content)]) as found:
        assert list(found["level"].values) == [100000.0, 50000.0]
        assert list(found["latitude"].values) == sorted(LAT)
        one = found["u"].sel(level=5e4, latitude=51.0, longitude=1.0).values
        assert one == pytest.approx(50.0 + field[1, 2], abs=1e-3)
        assert found["d2m"].values == pytest.approx(280.0)
        assert found["orog"].values == pytest.approx(10.0)
        assert str(found["time"].values[0])[:16] == "2022-08-31T00:00"


def test_two_fields_in_one_message_are_two_fields(tmp_path: Path) -> None:
    both = [
        several_fields(
            message("u", np.full((5, 6), 0.1 * level), level=level), message("v", np.full((5, 6), 3.0), level=level)
        )
        for level in PRESSURES
    ]
    found = read_era5([write(tmp_path / "a.grib", *both)])
    assert found["u"].sel(level=85000.0).values == pytest.approx(85.0)
    assert found["v"].values == pytest.approx(3.0)


def test_fields_that_the_model_does_not_use_are_listed(tmp_path: Path) -> None:
    extra = surface("skt", 280.0), message("u", np.ones((5, 6)), level=100, typeOfLevel="heightAboveGround")
    with open_era5([write(tmp_path / "a.grib", weather(1), *extra)]) as found:
        assert {"skt (surface)", "100u (heightAboveGround)"} <= set(found.attrs["unused"])
        assert found["u"].sizes["level"] == len(PRESSURES)


def test_higher_levels_without_humidity_are_cut_off(tmp_path: Path) -> None:
    wind = profile("u", lambda level: 8.0) + profile("v", lambda level: 2.0)
    with open_era5([write(tmp_path / "a.grib", wind, profile("r", lambda level: 50.0, PRESSURES[:4]))]) as found:
        assert found["level"].values.min() == 70000.0
        assert "levels above 70000 (no r)" in found.attrs["unused"]
    with pytest.raises(DataError, match=r"r has no data for level 50000"):
        open_era5([write(tmp_path / "b.grib", wind, profile("r", lambda level: 50.0, (1000, 850, 300)))])


def test_of_two_intervals_that_end_at_a_time_the_shorter_counts(tmp_path: Path) -> None:
    rain = [
        surface("tp", value, stepType="accum", stepRange=steps)
        for steps, value in (("0-6", 2.0), ("0-12", 5.0), ("6-12", 3.0))
    ]
    with open_file(write(tmp_path / "a.grib", *rain)) as found:
        assert found["tp"].isel(latitude=0, longitude=0).values == pytest.approx([2.0, 3.0])
        assert [str(each)[11:13] for each in found["tp_since"].values] == ["00", "06"]


@pytest.mark.parametrize("edition", [1, 2])
def test_intervals_may_be_shorter_than_an_hour(tmp_path: Path, edition: int) -> None:
    rain = surface("tp", 2.0, edition=edition, stepType="accum", stepUnits="m", stepRange="0-30")
    with open_file(write(tmp_path / "a.grib", rain)) as found:
        assert str(found["time"].values[0])[11:16] == "00:30"
        assert str(found["tp_since"].values[0])[11:16] == "00:00"


def test_a_mean_flux_is_a_sum(tmp_path: Path) -> None:
    flux = surface("avg_sdswrf", 100.0, stepType="avg", stepRange="0-3")
    with open_file(write(tmp_path / "a.grib", flux)) as found:
        assert found["ssrd"].values == pytest.approx(100.0 * 3 * 3600.0)
        assert found["ssrd"].attrs["units"] == "J m**-2"


def test_a_projection_has_its_points_and_its_grid(tmp_path: Path) -> None:
    path = write(tmp_path / "a.grib", weather(1, uvRelativeToGrid=1, **ON_LAMBERT))
    with open_era5([path]) as found:
        assert found["u"].dims == ("time", "level", "y", "x")
        assert found["u"].attrs["along_grid"]
        latitude, longitude = found["latitude"].values, found["longitude"].values
    grid = read_grid(path)
    metrics = grid.mapping.metrics(grid.x_faces, grid.y_faces)
    assert metrics.lat == pytest.approx(latitude, abs=1e-5)
    assert metrics.lon == pytest.approx(longitude, abs=1e-5)
    assert np.diff(grid.x_faces) == pytest.approx(50000.0, rel=1e-4)
    assert axis_rotation(latitude, longitude) == pytest.approx(metrics.rotation, abs=1e-4)
    assert np.abs(metrics.rotation).max() > 0.05


def test_a_file_without_used_fields_has_a_grid(tmp_path: Path) -> None:
    grid = read_grid(write(tmp_path / "a.grib", surface("skt", 280.0)))
    assert [grid.x_faces[0], grid.y_faces[0], grid.x_faces.size] == pytest.approx([-1.5, 47.5, 7])


def test_other_files_are_refused(tmp_path: Path) -> None:
    def refused(words: str, *messages: bytes) -> None:
        with pytest.raises(DataError, match=words) as caught:
            open_era5([write(tmp_path / "a.grib", *messages)])
        assert len(str(caught.value)) < 400

    ec = library()
    reduced = ec.codes_grib_new_from_samples("reduced_gg_pl_32_grib2")
    ec.codes_set(reduced, "shortName", "u")
    refused("'reduced_gg'; convert it to a regular grid", bytes(ec.codes_get_message(reduced)))
    ec.codes_release(reduced)
    whole = weather(1)
    refused("u at 2022-08-31T00:00 more than once; select one forecast", whole, whole)
    refused("u lacks 300 hPa at 2022-08-31T01:00", whole, profile("u", lambda level: 8.0, (1000,), dataTime=100))
    refused("truncated or damaged", whole[:-100])
    refused("no variable u", surface("2t", 280.0))


def test_without_the_package_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "eccodes", None)
    path = tmp_path / "a.grib"
    path.write_bytes(b"GRIB....")
    with pytest.raises(DataError, match=r"needs the package eccodes: pip install 'airshed\[grib\]'"):
        open_era5([path])
