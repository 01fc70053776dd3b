import numpy as np
import pytest
import xarray as xr

from airshed.core.constants import EARTH_RADIUS, GAS_CONSTANT
from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.models.air.weather import CallableMeteorology, Calls, DatasetMeteorology, MetState
from airshed.models.air.weather.fields import dataset_provenance, of_use

GRID = Grid.regular((0, 4), (48, 51), 0.5, [20.0, 100.0, 500.0, 2000.0])
START = np.datetime64("2022-08-31T00:00")
NOON = np.datetime64("2022-08-31T12:00")


def winds(east: float = 10.0, north: float = 0.0, **more: object) -> xr.Dataset:
    fields = {"eastward_wind": ((), east), "northward_wind": ((), north), **more}
    return xr.Dataset(fields, coords={"lon": GRID.x, "lat": GRID.y})


def state(dataset: xr.Dataset, start: np.datetime64 = START) -> MetState:
    return DatasetMeteorology(dataset, GRID, start).at(0.0)


def test_winds_alone_make_a_whole_state_of_the_standard_atmosphere() -> None:
    found = state(winds(), NOON)
    for name, shape in ((each.name, each.shape(GRID)) for each in of_use("state")):
        assert getattr(found, name).shape == shape
    assert found.temperature[0, 0, 0] == pytest.approx(288.15 - 0.065)
    assert found.surface_pressure[0, 0] == pytest.approx(101325.0, rel=1e-5)
    assert np.all(found.diffusivity[[0, -1]] == 0.0)
    assert np.all(found.diffusivity[1:-1] > 0.0)
    assert np.all(found.eastward_air_flux > 0.0)
    assert np.all(found.northward_air_flux == 0.0)


def test_the_air_flux_is_density_times_wind_times_area() -> None:
    uniform = winds(east=10.0, north=-4.0, air_pressure=((), 1e5), air_temperature=((), 1e5 / (40.0 * GAS_CONSTANT)))
    found = state(uniform)
    assert found.air_density == pytest.approx(np.full(GRID.shape, 40.0))
    length = EARTH_RADIUS * np.radians(0.5)
    assert found.eastward_air_flux[1] == pytest.approx(np.full((6, 9), 40.0 * 10.0 * 80.0 * length))
    south = length * np.cos(np.radians(48.0))
    assert found.northward_air_flux[0, 0] == pytest.approx(np.full(8, 40.0 * -4.0 * 20.0 * south))


def test_winds_at_the_faces_are_taken_as_they_are_and_stay_free_of_divergence() -> None:
    rng = np.random.default_rng(1)
    stream = rng.normal(size=(GRID.y_faces.size, GRID.x_faces.size))
    east = -np.diff(stream, axis=0) / GRID.x_face_length
    north = np.diff(stream, axis=1) / GRID.y_face_length
    dataset = xr.Dataset({"eastward_wind": (("lat", "lon_face"), east), "northward_wind": (("lat_face", "lon"), north)})
    found = state(dataset)
    divergence = np.diff(found.eastward_air_flux, axis=2) + np.diff(found.northward_air_flux, axis=1)
    assert np.abs(divergence).max() < 1e-12 * np.abs(found.eastward_air_flux).max()
    # the same flow given at the centres loses that: the check can fail
    centred = winds(
        eastward_wind=(("lat", "lon"), 0.5 * (east[:, 1:] + east[:, :-1])),
        northward_wind=(("lat", "lon"), 0.5 * (north[1:] + north[:-1])),
    )
    rough = state(centred)
    divergence = np.diff(rough.eastward_air_flux, axis=2) + np.diff(rough.northward_air_flux, axis=1)
    assert np.abs(divergence).max() > 1e-3 * np.abs(rough.eastward_air_flux).max()


def test_winds_linear_in_longitude_and_latitude_reach_the_faces_exactly() -> None:
    plane = 2.0 + 0.5 * GRID.x - 0.3 * GRID.y[:, None]
    found = state(winds(eastward_wind=(("lat", "lon"), plane), air_pressure=((), 1e5), air_temperature=((), 300.0)))
    density = 1e5 / (GAS_CONSTANT * 300.0)
    wind = found.eastward_air_flux[0] / (density * 20.0 * GRID.x_face_length)
    assert wind == pytest.approx(2.0 + 0.5 * GRID.x_faces - 0.3 * GRID.y[:, None])


def test_a_larger_area_with_other_levels_and_falling_latitude_is_interpolated() -> None:
    lon, lat, level = np.linspace(-2.0, 6.0, 17), np.linspace(53.0, 46.0, 15), np.array([5.0, 800.0, 5000.0])
    linear = 280.0 - 0.004 * level[:, None, None] + 0.5 * (lat[:, None] - 50.0) + 0.25 * lon
    dataset = xr.Dataset(
        {
            "eastward_wind": ((), 1.0),
            "northward_wind": ((), 1.0),
            "air_temperature": (("lon", "level", "lat"), linear.transpose(2, 0, 1)),
        },
        coords={"lon": lon + 360.0, "lat": lat, "level": level},
    )
    expected = 280.0 - 0.004 * GRID.level[:, None, None] + 0.5 * (GRID.y[:, None] - 50.0) + 0.25 * GRID.x
    assert state(dataset).temperature == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("levels", [None, np.arange(4), np.arange(1, 5)])
def test_levels_may_be_the_model_s_own(levels: np.ndarray | None) -> None:
    dataset = winds(air_temperature=("level", np.array([290.0, 289.0, 285.0, 275.0])))
    if levels is not None:
        dataset = dataset.assign_coords(level=levels)
    assert state(dataset).temperature[:, 0, 0] == pytest.approx([290.0, 289.0, 285.0, 275.0])


def test_given_fields_win_over_diagnosed_ones() -> None:
    given = {
        "atmosphere_boundary_layer_thickness": ((), 777.0),
        "cloud_area_fraction": ((), 0.25),
        "precipitation_flux": ((), 1e-4),
        "friction_velocity": ((), 0.35),
        "surface_temperature": ((), 295.0),
        "specific_humidity": ((), 0.0),
        "atmosphere_heat_diffusivity": ((), 5.0),
        "surface_air_pressure": ((), 99e3),
    }
    meteorology = DatasetMeteorology(winds(**given), GRID, NOON)
    found = meteorology.at(0.0)
    assert np.all(found.boundary_layer_height == 777.0)
    assert np.all(found.cloud_cover == 0.25)
    assert np.all(found.precipitation == 1e-4)
    assert np.all(found.friction_velocity == 0.35)
    assert np.all(found.surface_temperature == 295.0)
    assert np.all(found.water_vapour == 0.0)
    assert np.all(found.surface_pressure == 99e3)
    assert np.all(found.diffusivity[1:-1] == 5.0)
    assert np.all(found.diffusivity[[0, -1]] == 0.0)
    assert meteorology.provenance["diffusivity"] == "given: atmosphere_heat_diffusivity"
    assert meteorology.provenance["obukhov_length"].startswith("diagnosed")


def test_provenance_has_one_order_whatever_the_order_of_names() -> None:
    names = ["northward_wind", "air_temperature", "eastward_wind"]
    orders = {tuple(dataset_provenance(used, ())) for used in (names, names[::-1], sorted(names))}
    assert len(orders) == 1


def test_what_is_not_used_is_said() -> None:
    meteorology = DatasetMeteorology(winds(upward_air_velocity=((), 0.1)), GRID, START)
    assert meteorology.provenance["upward_air_velocity"] == "given, not used"


def test_times_are_dates_durations_or_seconds_and_linear_in_between() -> None:
    speeds = ("time", np.array([2.0, 4.0, 8.0]))
    hours = np.array([0, 1, 2])
    for times in (START + hours * np.timedelta64(1, "h"), hours * np.timedelta64(1, "h"), 3600.0 * hours):
        dataset = winds(eastward_wind=speeds).assign_coords(time=times)
        meteorology = DatasetMeteorology(dataset, GRID, START)
        assert meteorology.times == (0.0, 3600.0, 7200.0)
        ratio = meteorology.at(5400.0).eastward_air_flux / meteorology.at(0.0).eastward_air_flux
        assert ratio == pytest.approx(np.full(ratio.shape, 3.0))


@pytest.mark.parametrize(
    ("name", "field", "value", "given", "unit"),
    [
        ("air_temperature", "temperature", 288.15, 15.0, "degC"),
        ("air_temperature", "temperature", 261.15, -12.0, "degrees_Celsius"),
        ("surface_temperature", "surface_temperature", 288.15, 15.0, "°C"),
        ("air_pressure", "pressure", 95000.0, 950.0, "hPa"),
        ("cloud_area_fraction", "cloud_cover", 0.8, 80.0, "%"),
    ],
)
def test_a_unit_that_the_data_names_is_converted(name: str, field: str, value: float, given: float, unit: str) -> None:
    values = getattr(state(winds(**{name: ((), given, {"units": unit})})), field)
    assert values == pytest.approx(np.full(values.shape, value), rel=1e-12)
    same = getattr(state(winds(**{name: ((), value)})), field)
    assert values == pytest.approx(same, rel=1e-12)


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        (winds().drop_vars("northward_wind"), "no northward_wind"),
        (winds(eastward_wind=(("lat", "lon"), np.full((6, 8), np.nan))), "eastward_wind has NaN"),
        (winds(air_temperature=((), 15.0)), "air_temperature is 15 to 15, outside 150 to 500 K"),
        (winds(air_pressure=((), 1000.0, {"units": "m"})), "air_pressure is in 'm'; give it in Pa"),
        (winds(air_pressure=((), 1000.0, {"units": "torr"})), "air_pressure is in 'torr'; give it in Pa"),
        (winds(air_pressure=((), 1000.0, {"units": "hPa/s"})), "air_pressure is in 'hPa/s'; give it in Pa"),
        (winds(air_temperature=((), 290.0, {"units": "degC"})), "air_temperature is 563.15 to 563.15, outside 150"),
        (winds(cloud_area_fraction=((), 80.0)), "cloud_area_fraction"),
        (winds(east=1e6), r"eastward_wind is 1e\+06 to 1e\+06, outside -1000 to 1000 m s-1"),
        (winds(specific_humidity=((), -0.5)), "specific_humidity is -0.5 to -0.5, outside -0.001 to 0.1 kg kg-1"),
        (winds(air_pressure=((), 0.0)), "air_pressure is 0 to 0, outside 1 to 150000 Pa"),
        (winds(obukhov_length=((), 0.0)), "obukhov_length has the value 0"),
        (winds(air_temperature=("ensemble", np.full(3, 280.0))), "dimension 'ensemble'"),
        (winds(air_temperature=("level", np.full(3, 280.0))), "3 levels without heights, the grid has 4"),
        (
            xr.Dataset({"eastward_wind": (("lat", "lon_face"), np.ones((6, 8))), "northward_wind": ((), 0.0)}),
            "8 values along lon_face",
        ),
        (xr.Dataset({"eastward_wind": ("lon", np.ones(3)), "northward_wind": ((), 0.0)}), "no coordinate"),
        (winds(air_temperature=("lon_face", np.full(9, 280.0))), "cannot be on lon_face"),
        (winds(surface_temperature=("level", np.full(4, 280.0))), "surface_temperature has levels"),
        (winds(eastward_wind=("time", np.ones(2))).assign_coords(time=[3600.0, 0.0]), "do not increase"),
        (winds(eastward_wind=("time", np.ones(2))), "time has no values"),
        (winds(eastward_wind=("time", np.ones(2))).assign_coords(time=["a", "b"]), "give UTC dates"),
        (winds(eastward_wind=("time", np.ones(2))).assign_coords(time=[60.0, 120.0]), "give data from the start"),
    ],
)
def test_a_dataset_that_does_not_fit_is_refused_with_advice(dataset: xr.Dataset, words: str) -> None:
    with pytest.raises(DataError, match=words):
        state(dataset)


def test_coordinates_in_other_units_are_converted() -> None:
    plane = ("lat", "lon"), 2.0 + GRID.x + GRID.y[:, None]
    plain = state(winds(eastward_wind=plane, air_temperature=("level", [290.0, 270.0])).assign_coords(level=[5.0, 5e3]))
    same = winds(eastward_wind=plane, air_temperature=("level", [290.0, 270.0])).assign_coords(
        level=("level", [0.005, 5.0], {"units": "km"}),
        lat=("lat", np.radians(GRID.y), {"units": "radians"}),
        lon=("lon", np.radians(GRID.x), {"units": "rad"}),
    )
    found = state(same)
    assert found.temperature == pytest.approx(plain.temperature, rel=1e-12)
    assert found.eastward_air_flux == pytest.approx(plain.eastward_air_flux, rel=1e-9)


TWO = ("level", np.array([290.0, 280.0]))


@pytest.mark.parametrize(
    ("coords", "words"),
    [
        ({"level": ("level", [1.0, 0.1], {"standard_name": "sigma"})}, "its level is not a height above ground"),
        (
            {"level": ("level", [0.0, 9e3], {"positive": "down", "units": "m"})},
            "its level is not a height above ground",
        ),
        ({"level": [100.0, 100.0]}, "its level has the value 100 more than once"),
        ({"level": [100.0, np.nan]}, "coordinate level .* has NaN"),
        ({"level": ["a", "b"]}, "coordinate level .* holds text, no numbers"),
        ({"level": [4000.0, 9000.0]}, "begins at 4000 m above ground, without data for the air below"),
        ({"lat": ("lat", GRID.y, {"units": "K"})}, "its lat is in 'K'; give it in deg"),
        ({"lat": [*GRID.y[:-1], 99.0]}, "its lat holds 99, outside -90 to 90"),
        ({"lon": [*GRID.x[:-1], GRID.x[0]]}, "its lon has the value 0.25 more than once"),
        ({"lon": [*GRID.x[:-1], np.inf]}, "coordinate lon .* has NaN or infinite"),
    ],
)
def test_coordinates_that_are_no_places_are_refused(coords: dict[str, object], words: str) -> None:
    plane = ("lat", "lon"), np.ones((6, 8))
    with pytest.raises(DataError, match=words):
        state(winds(eastward_wind=plane, air_temperature=TWO).assign_coords(coords))


def test_coordinates_of_no_length_or_of_two_dimensions_are_refused() -> None:
    plane = winds(eastward_wind=(("lat", "lon"), np.ones((6, 8))), air_temperature=TWO)
    for dim in ("lat", "lon", "level"):
        with pytest.raises(DataError, match=f"has no values along {dim}"):
            state(plane.isel({dim: slice(0)}))
    with pytest.raises(DataError, match="has no values along time"):
        state(winds(eastward_wind=("time", np.ones(0))).assign_coords(time=np.ones(0)))
    sloping = winds(eastward_wind=(("level", "lon"), np.ones((2, 8))))
    with pytest.raises(DataError, match="heights of level do not rise from level to level"):
        state(sloping.assign_coords(level=(("level", "lon"), np.ones((2, 8)))))


def test_one_level_tells_no_profile() -> None:
    one = winds(eastward_wind=("level", [10.0]), air_temperature=("level", [216.6])).assign_coords(level=[11e3])
    with pytest.raises(DataError, match="has one level, at 11000 m; give more levels, or drop"):
        state(one)
    assert state(winds(east=10.0)).eastward_air_flux.min() > 0.0


def test_data_that_does_not_cover_the_grid_is_refused() -> None:
    small = xr.Dataset(
        {"eastward_wind": ("lon", np.ones(3)), "northward_wind": ((), 0.0)}, coords={"lon": [0.0, 1.0, 2.0]}
    )
    with pytest.raises(DataError, match=r"covers lon 0 to 2, the grid's cells are at 0\.25 to 3\.75"):
        state(small)
    low = winds(air_temperature=("level", [290.0, 280.0])).assign_coords(level=[10.0, 900.0])
    with pytest.raises(DataError, match="reaches 900 m"):
        state(low)


def test_a_function_is_called_at_its_own_pace() -> None:
    asked: list[float] = []

    def flow(seconds: float) -> xr.Dataset:
        asked.append(seconds)
        return winds(east=1.0 + seconds / 600.0)

    meteorology = CallableMeteorology(flow, GRID, Calls(START, every=600.0, last=3600.0))
    assert meteorology.times == tuple(600.0 * n for n in range(7))
    ratio = meteorology.at(900.0).eastward_air_flux / meteorology.at(0.0).eastward_air_flux
    assert ratio == pytest.approx(np.full(ratio.shape, 2.5))
    assert set(asked) == {0.0, 600.0, 1200.0}


def test_a_function_may_take_dates() -> None:
    def flow(when: np.datetime64) -> xr.Dataset:
        return winds(east=1.0 + float((when - START) / np.timedelta64(1, "h")))

    meteorology = CallableMeteorology(flow, GRID, Calls(START, last=7200.0, argument="datetime"))
    ratio = meteorology.at(7200.0).eastward_air_flux / meteorology.at(0.0).eastward_air_flux
    assert ratio == pytest.approx(np.full(ratio.shape, 3.0))


def test_a_function_that_returns_no_dataset_is_refused() -> None:
    with pytest.raises(DataError, match="returned float; return an xarray"):
        CallableMeteorology(lambda seconds: 1.0, GRID, Calls(START))  # type: ignore[arg-type, return-value]
    with pytest.raises(DataError, match="every > 0"):
        CallableMeteorology(lambda seconds: winds(), GRID, Calls(START, every=0.0))


def test_the_state_of_an_instant_does_not_depend_on_where_one_began() -> None:
    times = START + np.arange(19) * np.timedelta64(1, "h")
    dataset = winds(eastward_wind=("time", np.linspace(3.0, 8.0, 19))).assign_coords(time=times)
    marched = DatasetMeteorology(dataset, GRID, START)
    heights = [marched.at(3600.0 * hour).boundary_layer_height for hour in range(19)]
    assert np.array_equal(heights[15], DatasetMeteorology(dataset, GRID, START).at(15 * 3600.0).boundary_layer_height)
    assert heights[15].mean() > 2.0 * heights[4].mean()


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        (
            winds(eastward_wind=("lon", GRID.x)).assign_coords(lon=GRID.x.astype(str)),
            "coordinate lon .* holds text",
        ),
        (
            winds(eastward_wind=("level", np.ones(4))).assign_coords(level=["a", "b", "c", "d"]),
            "coordinate level .* holds text",
        ),
        (
            winds(eastward_wind=("lat", GRID.y)).assign_coords(lat=GRID.y.astype("datetime64[s]")),
            "coordinate lat .* holds dates",
        ),
        (winds(eastward_wind=("lat", GRID.y)).assign_coords(lat=GRID.y * np.nan), "coordinate lat .* has NaN"),
        (
            winds(eastward_wind=("time", [1.0, 2.0])).assign_coords(
                time=[START.astype("datetime64[ns]"), np.datetime64("NaT")]
            ),
            "times have NaT",
        ),
        (winds(eastward_wind=("time", [1.0, 2.0])).assign_coords(time=[0.0, np.inf]), "times have NaT"),
        (winds(eastward_wind=("time", [1.0, 2.0])).assign_coords(time=["0", "3600"]), "times are <U4; give UTC dates"),
        (winds(eastward_wind=((), "10")), "eastward_wind holds text"),
    ],
)
def test_texts_and_moments_that_are_none_are_refused(dataset: xr.Dataset, words: str) -> None:
    with pytest.raises(DataError, match=words) as refusal:
        state(dataset)
    assert "\n" not in str(refusal.value)


def test_a_value_that_cannot_be_is_told_with_its_place() -> None:
    coords = {"time": [START, NOON], "lat": GRID.y, "lon": GRID.x}
    for bad, words in (
        (np.nan, "has NaN or infinite values, first at"),
        (-3e-5, "is -3e-05 to 3e-05, outside 0 to 1"),
    ):
        rain = np.full((2, 6, 8), 3e-5)
        rain[1, 2, 3] = rain[1, 4, 4] = bad
        data = winds(precipitation_flux=(("time", "lat", "lon"), rain)).assign_coords(coords)
        place = r"first at time 2022-08-31T12:00, lat 49\.25, lon 1\.75 \(2 values\)"
        with pytest.raises(DataError, match=f"precipitation_flux {words}.*") as refusal:
            state(data)
        assert refusal.match(place)


def test_round_off_below_zero_is_zero() -> None:
    """Rain as a difference of sums in single precision, once regridded."""
    rain = np.full((6, 8), 3e-5)
    rain[2, 3] = -2e-11
    assert state(winds(precipitation_flux=(("lat", "lon"), rain))).precipitation.min() == 0.0
    rain[2, 3] = -1e-10
    with pytest.raises(DataError, match="precipitation_flux is -1e-10 to 3e-05, outside 0 to 1"):
        state(winds(precipitation_flux=(("lat", "lon"), rain)))


def test_the_morning_layer_stays_shallow_until_the_heat_that_the_night_took_is_back() -> None:
    hours = np.arange("2022-08-31T00", "2022-09-01T00", dtype="datetime64[h]").astype("datetime64[ns]")
    wind = xr.Dataset(
        {"eastward_wind": ("time", np.full(24, 4.0)), "northward_wind": 0.0, "cloud_area_fraction": 0.3},
        {"time": hours},
    )
    grid = Grid.regular(lon=(8, 9), lat=(50, 51), spacing=1, layers=[20, 100, 500, 2000])
    air = DatasetMeteorology(wind, grid, hours[0])
    depth = [air.at(hour * 3600.0).boundary_layer_height[0, 0] for hour in range(24)]
    night, morning, noon = depth[3], depth[7:10], depth[12]
    assert night < min(morning) < max(morning) < 340.0  # neutral air of this wind mixes to 560 m and more
    assert depth[10] > 560.0
    assert noon > 800.0
    coast = DatasetMeteorology(wind, grid, hours[0], land_fraction=np.full((1, 1), 0.01))
    by_sea = [coast.at(hour * 3600.0).boundary_layer_height[0, 0] for hour in range(7, 10)]
    assert min(by_sea) > 0.97 * coast.at(12 * 3600.0).boundary_layer_height[0, 0]  # a little land brings no inversion
