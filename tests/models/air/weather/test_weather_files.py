"""Weather files of other centres: relative humidity, heights, dew point, stated intervals, projections, no times."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.io.synthetic_grib import LAMBERT, surface, weather, write

from airshed.core.constants import GRAVITY
from airshed.core.errors import DataError
from airshed.core.saturation import mixed_phase_saturation, saturation_vapour_pressure
from airshed.grid import Grid
from airshed.grid.projected import projection
from airshed.grid.scattered import ScatteredWeights, axis_rotation
from airshed.grid.window import Window
from airshed.io.era5 import open_era5
from airshed.models.air.weather import atmosphere
from airshed.models.air.weather.era5 import Era5Meteorology
from airshed.models.air.weather.era5_times import Intervals

from .test_era5_meteorology import SMALL, START, made_up

FLAT, FULL = ("time", "latitude", "longitude"), ("time", "level", "latitude", "longitude")
HOUR = np.timedelta64(1, "h")


def test_relative_humidity_is_that_of_the_same_specific_humidity() -> None:
    data = made_up("pressure").drop_vars("q")
    data["r"] = (FULL, np.full(data["t"].shape, 0.6), {"file": "r.nc"})
    vapour = 0.6 * mixed_phase_saturation(data["t"].values) / data["level"].values[:, None, None]
    specific = 0.622 * vapour / (1.0 - 0.378 * vapour)
    other = made_up("pressure", q=(FULL, specific))
    found, expected = (Era5Meteorology(each, SMALL, START) for each in (data, other))
    assert found.at(0.0).water_vapour == pytest.approx(expected.at(0.0).water_vapour, rel=1e-3)
    assert found.provenance["water_vapour"] == "read: r from r.nc"
    assert (Era5Meteorology(made_up("pressure"), SMALL, START).at(0.0).water_vapour == 0.0).all()


def test_both_humidities_are_read_as_the_specific_one() -> None:
    data = made_up("pressure", r=(FULL, np.full((25, 6, 9, 11), 0.6)))
    meteorology = Era5Meteorology(data, SMALL, START)
    assert (meteorology.at(0.0).water_vapour == 0.0).all()
    assert meteorology.provenance["r"] == "in the files, not used"


def test_saturation_is_over_water_in_warm_air_and_over_ice_in_cold_air() -> None:
    assert mixed_phase_saturation(np.array([293.15])) == pytest.approx(2339.0, rel=2e-3)  # WMO: 23.39 hPa at 20 C
    assert mixed_phase_saturation(np.array([233.15])) == pytest.approx(12.84, rel=1e-2)  # over ice at -40 C
    between = mixed_phase_saturation(np.array([263.15]))
    assert 259.9 < between < 286.5  # over ice, over water at -10 C


@pytest.mark.parametrize("ground", [None, 120.0])
def test_heights_are_those_of_the_geopotential(ground: float | None) -> None:
    data = made_up("pressure").drop_vars(["t", "sp"])
    heights = -8000.0 * np.log(data["level"].values / 1.02e5)[:, None, None] * np.ones((25, 1, 9, 11))
    names = ("gh", "orog", 1.0), ("z", "zs", GRAVITY)
    found = []
    for levels, orography, factor in names:
        given = data.assign({levels: (FULL, factor * heights, {"file": "a.nc"})})
        if ground is not None:
            given[orography] = (("latitude", "longitude"), np.full((9, 11), factor * ground), {"file": "a.nc"})
        found.append(Era5Meteorology(given, SMALL, START).at(0.0))
    for name in ("temperature", "pressure", "surface_pressure", "eastward_air_flux"):
        assert getattr(found[0], name) == pytest.approx(getattr(found[1], name), rel=1e-6)
    assert found[0].surface_pressure == pytest.approx(1.02e5 * np.exp(-(ground or 0.0) / 8000.0), rel=2e-3)


def test_the_dew_point_is_the_humidity_at_the_ground() -> None:
    low = Grid.regular((0, 3), (45, 47), 0.5, [20.0, 100.0, 500.0, 2000.0, 6000.0])
    dew = (FLAT, np.full((25, 9, 11), 275.0))
    wet, dry = (Era5Meteorology(made_up("pressure", **more), low, START) for more in ({"d2m": dew}, {}))
    at_ground = saturation_vapour_pressure(np.array(275.0)) / 101e3
    assert wet.at(0.0).water_vapour[0] == pytest.approx(float(at_ground), rel=0.2)
    assert (wet.at(0.0).water_vapour[3:] == 0.0).all()
    assert (dry.at(0.0).water_vapour == 0.0).all()
    on_model_levels = Era5Meteorology(made_up("model", d2m=dew), low, START)  # their lowest is at 10 m
    assert (on_model_levels.at(0.0).water_vapour == 0.0).all()


def test_the_temperature_at_two_metres_is_that_of_the_ground() -> None:
    data = made_up("pressure", t2m=(FLAT, np.full((25, 9, 11), 290.0)))
    warm, plain = (Era5Meteorology(each, SMALL, START).at(0.0) for each in (data, made_up("pressure")))
    assert 287.0 < warm.temperature[0].min() < 290.0
    assert (np.diff(warm.temperature[:2], axis=0) < 0.0).all()
    assert plain.temperature == pytest.approx(280.0)
    mass = (warm.air_density * SMALL.thickness[:, None, None]).sum(axis=0)
    scale = 8.314462618 / 28.9647e-3 / GRAVITY  # a warm layer below the level of 1000 hPa lifts the levels above
    lift = scale * 0.5 * (290.0 - 280.0) * np.log(1.01)
    top = 1e5 * np.exp(-(SMALL.layer_faces[-1] - scale * 280.0 * np.log(1.01) - lift) / (scale * 280.0))
    assert mass * GRAVITY * 28.9647e-3 == pytest.approx(101e3 - top, rel=1e-5)


def test_a_warm_ground_mixes_deeper() -> None:
    warm = made_up("pressure", t2m=(FLAT, np.full((25, 9, 11), 300.0)))
    deep, shallow = (Era5Meteorology(each, SMALL, START).at(43200.0) for each in (warm, made_up("pressure")))
    assert (deep.boundary_layer_height > 2.0 * shallow.boundary_layer_height).all()


def test_cold_air_is_cloudy_at_saturation_over_ice() -> None:
    data = made_up("pressure").drop_vars("q")
    data["t"] = data["t"] - 50.0
    for humidity, cloudy in ((0.97, True), (0.6, False)):
        data["r"] = (FULL, np.full(data["t"].shape, humidity), {"file": "r.nc"})
        cover = Era5Meteorology(data, SMALL, START).at(0.0).cloud_cover
        assert (cover > 0.8).all() if cloudy else (cover == 0.0).all()


def rain(intervals: list[tuple[int, int, float]]) -> xr.Dataset:
    """Weather with rain [m] over intervals [h]."""
    data = made_up("model")
    starts, ends, amounts = (np.array(each) for each in zip(*intervals, strict=True))
    field = xr.DataArray(
        np.broadcast_to(amounts[:, None, None], (ends.size, 9, 11)), dims=("tp_time", "latitude", "longitude"),
        attrs={"file": "tp.grib"},
        coords={"tp_time": START + ends * HOUR, "tp_since": ("tp_time", START + starts * HOUR)},
    )  # fmt: skip
    return data.assign(tp=field)


@pytest.mark.parametrize(
    "intervals",
    [
        [(hour, hour + 1, 1e-3) for hour in range(24)],
        [(0, hour, 1e-3 * hour) for hour in range(1, 25)],
        [(0, 3, 3e-3), (0, 6, 6e-3), (6, 9, 3e-3), (6, 12, 6e-3), (12, 24, 12e-3)],
    ],
    ids=["hours", "a forecast", "buckets of six hours"],
)
def test_rain_of_stated_intervals_is_that_of_its_hours(intervals: list[tuple[int, int, float]]) -> None:
    meteorology = Era5Meteorology(rain(intervals), SMALL, START)
    for hour in (0.0, 1.0, 3.0, 6.5, 12.0, 23.0):
        assert meteorology.at(3600.0 * hour).precipitation == pytest.approx(1.0 / 3600.0, rel=1e-9)
    assert "sums over the intervals in the files" in meteorology.provenance["precipitation"]


def test_rain_at_an_instant_is_the_mean_of_the_intervals_before_and_after() -> None:
    meteorology = Era5Meteorology(rain([(0, 6, 6e-3), (6, 12, 0.0)]), SMALL, START, length=12 * 3600.0)
    assert 3600.0 * meteorology.at(3 * 3600.0).precipitation == pytest.approx(1.0)
    assert 3600.0 * meteorology.at(6 * 3600.0).precipitation == pytest.approx(0.5)
    assert 3600.0 * meteorology.at(7 * 3600.0).precipitation == pytest.approx(0.0)


def test_a_time_without_an_interval_is_refused() -> None:
    meteorology = Era5Meteorology(rain([(0, 6, 6e-3)]), SMALL, START)
    with pytest.raises(DataError, match="for 2022-08-31T00:00 to 2022-08-31T06:00, not for 2022-08-31T07:00"):
        meteorology.at(7 * 3600.0)


def test_intervals_belong_to_sums_whose_starts_are_known() -> None:
    assert Intervals.of(made_up("model")["u"]) is None


def projected(winds: str, rotate: bool = True) -> xr.Dataset:
    """Weather on a Lambert grid with a wind of 8 m/s to the east and 2 m/s to the north, along the grid's axes."""
    mapping = projection("lambert", 10.0, 50.0, (45.0, 55.0))
    x, y = np.arange(-900e3, 200e3, 50e3), np.arange(-700e3, 0.0, 50e3)
    lon, lat = mapping.to_lonlat(*np.meshgrid(x, y))
    angle = axis_rotation(lat, lon) if rotate else np.zeros(lat.shape)
    shape, pressure = (6, *lat.shape), np.array([1000.0, 900.0, 700.0, 500.0, 300.0, 100.0])
    dims = ("isobaricInhPa", "y", "x")
    fields = {
        "u": (8.0 * np.cos(angle) + 2.0 * np.sin(angle)) * np.ones(shape),
        "v": (2.0 * np.cos(angle) - 8.0 * np.sin(angle)) * np.ones(shape),
        "t": np.full(shape, 280.0),
    }
    data = xr.Dataset(
        {name: (dims, values) for name, values in fields.items()},
        {
            "isobaricInhPa": pressure, "latitude": (("y", "x"), lat), "longitude": (("y", "x"), lon),
            "valid_time": np.datetime64(START, "ns"),
        },
    )  # fmt: skip
    data["sp"] = (("y", "x"), np.full(lat.shape, 1.01e5))
    for name, axis in (("u", "x" if winds == "grid" else "eastward"), ("v", "y" if winds == "grid" else "northward")):
        data[name].attrs["standard_name"] = f"{axis}_wind"
    return data


def state_of(data: xr.Dataset, folder: Path, grid: Grid = SMALL, window: Window | None = None) -> dict[str, np.ndarray]:
    path = folder / "projected.nc"
    data.to_netcdf(path)
    meteorology = Era5Meteorology(open_era5([path]), grid, START, length=3600.0, window=window)
    state = meteorology.at(0.0)
    meteorology.close()
    return {name: getattr(state, name) for name in ("eastward_air_flux", "northward_air_flux", "temperature")}


def test_winds_along_the_axes_of_a_projection_are_rotated(tmp_path: Path) -> None:
    turned = state_of(projected("grid"), tmp_path)
    plain = state_of(projected("earth", rotate=False), tmp_path)
    for name, values in turned.items():
        assert values == pytest.approx(plain[name], rel=1e-3)
    wrong = state_of(projected("earth"), tmp_path)  # without the rotation
    assert np.abs(wrong["northward_air_flux"] / plain["northward_air_flux"] - 1.0).max() > 0.2


def test_a_part_of_the_area_has_the_bits_of_the_whole(tmp_path: Path) -> None:
    whole, window = state_of(projected("grid"), tmp_path), Window(1, 3, 2, 5)
    part = state_of(projected("grid"), tmp_path, window=window)
    axes = {"eastward_air_flux": "x", "northward_air_flux": "y", "temperature": ""}
    for name, values in part.items():
        assert np.array_equal(values, window.of_faces(whole[name], axes[name]))


def test_projected_data_reach_a_projected_grid(tmp_path: Path) -> None:
    mapping = projection("lambert", 5.0, 48.0, (47.0,))
    grid = Grid.mapped(mapping, np.linspace(-2e5, 1e5, 5), np.linspace(-2e5, 1e5, 4), [0.0, 100.0, 1000.0])
    found = state_of(projected("grid"), tmp_path, grid)
    assert found["temperature"] == pytest.approx(280.0)
    along = found["eastward_air_flux"][0] / found["eastward_air_flux"][0].mean()
    assert along == pytest.approx(1.0, abs=0.05)


def test_projected_data_without_direction_or_cover_are_refused(tmp_path: Path) -> None:
    data = projected("grid")
    del data["u"].attrs["standard_name"]
    with pytest.raises(DataError, match="the wind u is on a projection, and nothing states its direction"):
        state_of(data, tmp_path)
    with pytest.raises(DataError, match="the data does not cover latitude"):
        state_of(projected("grid").isel(x=slice(8)), tmp_path)
    with pytest.raises(DataError, match="is on a projection and has no temperature"):
        state_of(projected("grid").drop_vars("t"), tmp_path)
    other = projected("grid").isel(x=slice(1, None)).rename(latitude="lat", longitude="lon")[["sp"]]
    data = projected("grid").drop_vars("sp")
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    for each, path in zip((data, other), paths, strict=True):
        each.to_netcdf(path)
    with pytest.raises(DataError, match="sp has other points than the wind u"):
        open_era5(paths)


def test_a_missing_value_of_a_projection_has_its_place(tmp_path: Path) -> None:
    data = projected("grid")
    data["t"][0, 5, 7] = np.nan
    place = data.isel(y=5, x=7)
    words = rf"t is missing \(NaN\) at .*latitude {float(place['latitude']):.2f}, longitude"
    with pytest.raises(DataError, match=words):
        open_era5([_written(data, tmp_path)]).load()


def _written(data: xr.Dataset, folder: Path) -> Path:
    data.to_netcdf(folder / "missing.nc")
    return folder / "missing.nc"


def test_linear_fields_are_exact_in_triangles() -> None:
    mapping = projection("polar stereographic", 0.0, 90.0, (60.0,))
    lon, lat = mapping.to_lonlat(*np.meshgrid(np.arange(-5e5, 6e5, 1e5), np.arange(-5e5, 6e5, 1e5)))
    weights = ScatteredWeights.of(lat, lon, np.array([[89.0, 88.0]]), np.array([[170.0, -60.0]]))
    x, y = mapping.from_lonlat(lon, lat)
    expected = mapping.from_lonlat(np.array([[170.0, -60.0]]), np.array([[89.0, 88.0]]))
    assert weights.inside.all()
    assert weights(x) == pytest.approx(expected[0], abs=100.0)
    assert weights(np.stack([x, y]))[1] == pytest.approx(expected[1], abs=100.0)
    assert not ScatteredWeights.of(lat, lon, np.array([[50.0]]), np.array([[0.0]])).inside.any()


def test_files_without_a_time_are_steady(tmp_path: Path) -> None:
    data = made_up("pressure").isel(time=0).drop_vars("time")
    data["level"].attrs["units"] = "Pa"
    data.to_netcdf(tmp_path / "steady.nc")
    meteorology = Era5Meteorology(open_era5([tmp_path / "steady.nc"]), SMALL, START, length=86400.0)
    first, last = meteorology.at(0.0), meteorology.at(86400.0)
    assert np.array_equal(first.eastward_air_flux, last.eastward_air_flux)
    assert meteorology.provenance["time"] == "none in the files: steady"
    other = made_up("pressure")[["t"]]
    other["level"].attrs["units"] = "Pa"
    other.to_netcdf(tmp_path / "t.nc")
    data.drop_vars("t").to_netcdf(tmp_path / "rest.nc")
    with pytest.raises(DataError, match="t has no data for"):
        open_era5([tmp_path / "rest.nc", tmp_path / "t.nc"])


def test_grib_gives_the_air_of_the_same_netcdf(tmp_path: Path) -> None:
    hours = [surface("tp", 1e-3, dataTime=100 * hour, stepType="accum", stepRange="0-1") for hour in range(2)]
    path = write(tmp_path / "a.grib", weather(3), *hours)
    grid = Grid.regular((0, 3), (48.5, 51), 0.5, [20.0, 100.0, 500.0, 2000.0])
    meteorology = Era5Meteorology(open_era5([path]), grid, START, length=7200.0)
    state = meteorology.at(3600.0)
    assert 3600.0 * state.precipitation == pytest.approx(1.0)
    wind = state.eastward_air_flux / (grid.x_face_length * grid.thickness[:, None, None]) / state.air_density[..., :1]
    assert wind == pytest.approx(8.0, rel=1e-5)
    vapour = atmosphere.relative_humidity(state.water_vapour, state.temperature, state.pressure)
    assert vapour[0] == pytest.approx(0.6, rel=0.01)


def test_grib_on_a_projection_gives_winds_to_the_east(tmp_path: Path) -> None:
    keys = {
        "gridType": "lambert", "Nx": 14, "Ny": 14, "DxInMetres": 50000, "DyInMetres": 50000, "shapeOfTheEarth": 6,
        "latitudeOfFirstGridPointInDegrees": 43.0, "longitudeOfFirstGridPointInDegrees": 358.0, "jScansPositively": 1,
        **LAMBERT,
    }  # fmt: skip
    found = []
    for flag in (1, 0):
        path = write(tmp_path / f"{flag}.grib", weather(1, (8.0, 0.0), uvRelativeToGrid=flag, **keys))
        found.append(Era5Meteorology(open_era5([path]), SMALL, START, length=3600.0).at(0.0))
    assert found[1].northward_air_flux == pytest.approx(0.0, abs=1e-3)
    ratio = found[0].northward_air_flux[0].mean() / found[0].eastward_air_flux[0].mean()
    expected = np.tan(np.radians(-(1.5 - 10.0) * np.sin(np.radians(50.0)) * -1.0))
    assert abs(ratio) == pytest.approx(abs(expected), rel=0.35)
