"""Boundary and initial concentrations from files of other models."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.laws.cases import small_case
from tests.models.air.synthetic_models import PLACES, TIMES, cams, cams_on_pressure, cmaq, geos_chem, wrf_chem, written

import airshed
from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT, MOLAR_MASS_DRY_AIR
from airshed.core.errors import AirshedError, CaseError, DataError
from airshed.grid import Grid
from airshed.io.model_levels import half_levels
from airshed.io.model_output import ModelOutput
from airshed.kernels.boundary import FaceCells
from airshed.mechanism import load_mechanism
from airshed.models.air.boundary.files import FileBoundary, OuterSpecies, open_outputs, outer_species
from airshed.models.air.boundary.other_model import Air, OtherModel, SpeciesAtPoints
from airshed.models.air.boundary.profiles import BoundaryProfiles
from airshed.models.air.boundary.source_map import SourceMap, conversion_of, layouts, mixtures, read_source_map
from airshed.models.air.inflow import describe
from airshed.models.air.species_map import shipped_species_map

EMEP = shipped_species_map("emep").boundary
MASSES = {each.name: each.molar_mass for each in load_mechanism("emep").species}
LON, LAT = np.array([-2.0, 0.3, 5.0]), np.array([46.0, 50.2, 52.0])
PRESSURE = np.array([1.0e5, 9.3e4, 8.1e4, 6.0e4, 3.3e4])
AIR = Air(
    np.repeat(PRESSURE[:, None], 3, axis=1), np.full((5, 3), 280.0), np.full(3, 101325.0),
    np.array([10.0, 700.0, 1900.0, 4200.0, 8500.0]),
)  # fmt: skip
SHARED = Path(os.environ.get("AIRSHED_SHARED") or Path(__file__).parents[4] / "shared")
UK = SHARED / "data" / "merra2_geoschem_column_uk_2016" / "ts.20160102.000000.nc"
NOON = np.datetime64("2022-08-31T13:20")
WRITERS = [cams, cams_on_pressure, geos_chem, wrf_chem, cmaq]


def linear(pressure: Array) -> Array:
    return np.asarray((40.0 - 25.0 * np.log(pressure / 1e5)) * 1e-9)


def uniform(pressure: Array) -> Array:
    return np.full(np.shape(pressure), 50e-9)


def model_of(*paths: Path, own: SourceMap | None = None, repeats: bool = False) -> OtherModel:
    return OtherModel(open_outputs(paths), MASSES, EMEP, own or SourceMap(), repeats=repeats)


def at(model: OtherModel, when: np.datetime64 = NOON, air: Air = AIR) -> dict[str, Array]:
    model.check_places(LON, LAT)
    return SpeciesAtPoints(model, LON, LAT, air, np.datetime64("2022-08-31T00")).at(when)


@pytest.mark.parametrize("write", WRITERS)
def test_each_layout_gives_a_uniform_boundary_for_a_uniform_field(write: Callable[..., Path], tmp_path: Path) -> None:
    model = model_of(write(tmp_path / "file.nc", uniform))
    assert model.layout.name in {each.name for each in layouts()}
    assert np.abs(at(model)["O3"] / 50e-9 - 1.0).max() < 1e-6  # numbers of files are in single precision


@pytest.mark.parametrize("write", WRITERS)
def test_each_layout_recovers_a_profile_that_is_linear_in_the_logarithm_of_pressure(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    found = at(model_of(write(tmp_path / "file.nc", linear)))["O3"]
    lowest = {cams: 99881.5, geos_chem: 0.99 * 101325.0 + 1000.0, cmaq: 5000.0 + 0.995 * 96325.0}.get(write, 1e5)
    expected = linear(np.minimum(AIR.pressure, lowest))
    assert np.abs(found / expected - 1.0)[1:].max() < 1e-10
    assert np.abs(found / expected - 1.0)[0].max() < 1e-4


def test_137_levels_are_recognised(tmp_path: Path) -> None:
    found = at(model_of(cams(tmp_path / "file.nc", linear, levels=137)))["O3"]
    assert np.abs(found / linear(AIR.pressure) - 1.0)[1:].max() < 1e-10


def test_layers_follow_the_surface_pressure_of_the_files(tmp_path: Path) -> None:
    """A fall of the surface pressure by 3 % moves file and layers alike, since both have fixed heights."""

    def falling(data: xr.Dataset) -> xr.Dataset:
        return data.assign(sp=data.sp * xr.DataArray([1.0, 1.0, 1.0, 0.97, 0.97], dims="time"))

    model = model_of(cams(tmp_path / "file.nc", linear, change=falling))
    before, after = (at(model, np.datetime64(f"2022-08-31T{hour}"))["O3"] for hour in ("12", "18"))
    assert np.abs(after / before - 1.0)[:3].max() < 2e-3
    still = SpeciesAtPoints(model, LON, LAT, AIR).at(np.datetime64("2022-08-31T18"))["O3"]
    assert np.abs(still / before - 1.0).max() > 0.01


def test_values_beyond_the_levels_are_those_of_the_outermost_ones(tmp_path: Path) -> None:
    air = Air(np.array([[1.05e5] * 3, [2e3] * 3]), np.full((2, 3), 280.0), AIR.surface_pressure, np.array([5.0, 2e4]))
    found = at(model_of(cams_on_pressure(tmp_path / "file.nc", linear)), air=air)["O3"]
    assert found[0] == pytest.approx(float(linear(np.array(1e5))))
    assert found[1] == pytest.approx(float(linear(np.array(1e4))))


def test_points_of_two_dimensions_are_read_without_a_projection(tmp_path: Path) -> None:
    def change(data: xr.Dataset) -> xr.Dataset:
        lon, lat = np.meshgrid((data.longitude.values + 180.0) % 360.0 - 180.0, data.latitude.values)
        east = xr.DataArray(1.0 + 0.02 * lon, dims=("latitude", "longitude"))
        values = (data.go3 * east).transpose("time", "level", ...).assign_attrs(units="kg kg**-1")
        bare = data.assign(go3=values).drop_vars(["latitude", "longitude"]).rename(latitude="y", longitude="x")
        places = {"nav_lat": (("y", "x"), lat, {"units": "degrees_north"}),
                  "nav_lon": (("y", "x"), lon, {"units": "degrees_east"})}  # fmt: skip
        return bare.assign(places)

    model = model_of(cams(tmp_path / "file.nc", uniform, change=change))
    assert np.abs(at(model)["O3"] / (50e-9 * (1.0 + 0.02 * LON)) - 1.0).max() < 1e-3
    with pytest.raises(DataError, match="does not surround 30 E, 50 N"):
        model.check_places(np.array([30.0]), np.array([50.0]))
    beyond = SpeciesAtPoints(model, np.array([-6.5, 5.0, 5.0]), LAT, AIR).at(NOON)["O3"]
    assert beyond[0, 0] == pytest.approx(50e-9 * (1.0 - 0.02 * 6.0))


def test_layers_far_beyond_the_levels_are_reported(tmp_path: Path) -> None:
    def cut(data: xr.Dataset) -> xr.Dataset:
        return data.sel(pressure_level=[500.0, 700.0, 850.0])

    start = TIMES[0]
    whole, part = (
        SpeciesAtPoints(model_of(cams_on_pressure(tmp_path / f"{number}.nc", linear, change=change)), LON, LAT, AIR)
        for number, change in enumerate((lambda data: data, cut))
    )
    assert whole.gaps(start) == ""
    assert part.gaps(start) == (
        "1 layer beyond the highest level, 500 hPa: its values hold; "
        "1 layer beyond the lowest level, 850 hPa: its values hold"
    )


def test_forecasts_of_the_archive_have_a_reference_time(tmp_path: Path) -> None:
    """The netCDF of the Atmosphere Data Store; the logarithm of the surface pressure is in another file."""

    def change(data: xr.Dataset) -> xr.Dataset:
        hours = ((data.time - data.time[0]) / np.timedelta64(1, "h")).values
        renamed = data.drop_vars(["time", "sp"]).rename(time="forecast_period", level="model_level")
        renamed = renamed.expand_dims(forecast_reference_time=[TIMES[0]], axis=1)
        valid = (("forecast_reference_time", "forecast_period"), data.time.values[None])
        period = ("forecast_period", hours, {"units": "hours", "standard_name": "forecast_period"})
        return renamed.assign_coords(valid_time=valid, forecast_period=period)

    def surface(data: xr.Dataset) -> xr.Dataset:
        lnsp = np.log(data.sp).expand_dims(level=[1], axis=1)
        return xr.Dataset({"lnsp": (lnsp.dims, lnsp.values)}, {name: data[name] for name in ("time", *PLACES)})

    model = model_of(
        cams(tmp_path / "ml.nc", linear, surface=9e4, change=change),
        cams(tmp_path / "lnsp.nc", linear, surface=9e4, change=surface),
    )
    assert np.abs(at(model)["O3"] / linear(AIR.pressure) - 1.0)[2:].max() < 1e-10
    assert at(model)["O3"][0] == pytest.approx(float(linear(np.array(89893.0))), rel=1e-5)


def test_coefficients_may_be_without_unit_and_at_interfaces(tmp_path: Path) -> None:
    """CAM-chem has hyam without unit, P0 and PS; other files have coefficients at the interfaces only."""

    def cam(data: xr.Dataset) -> xr.Dataset:
        data = data.rename(SpeciesBC_O3="O3", SpeciesBC_CH2O="CH2O").assign(
            hyam=("lev", data.hyam.values / 1000.0, {"long_name": "hybrid A coefficient at layer midpoints"}),
            P0=((), 1e5, {"units": "Pa"}), BIGALK=data.SpeciesBC_CH2O,
        )  # fmt: skip
        return data.assign(PS=(("time", "lat", "lon"), np.full((5, 46, 72), 101325.0), {"units": "Pa"}))

    model = model_of(geos_chem(tmp_path / "cam.nc", linear, change=cam))
    assert model.layout.name == "CAM-chem"
    assert np.abs(at(model)["O3"] / linear(AIR.pressure) - 1.0)[1:].max() < 1e-10

    def interfaces(data: xr.Dataset) -> xr.Dataset:
        a, b = half_levels(60)
        bare = data.drop_vars("level").rename(sp="Psurf")
        return bare.assign(ap=("hlevel", a, {"units": "Pa"}), bp=("hlevel", b, {"units": "1"}))

    found = at(model_of(cams(tmp_path / "half.nc", linear, change=interfaces)))["O3"]
    assert np.abs(found / linear(AIR.pressure) - 1.0)[1:].max() < 1e-10


def test_values_are_linear_in_time_and_in_place(tmp_path: Path) -> None:
    def change(data: xr.Dataset) -> xr.Dataset:
        hours = (data.time - data.time[0]) / np.timedelta64(1, "h")
        east = (data.longitude + 180.0) % 360.0 - 180.0
        return data.assign(go3=(data.go3 * (1.0 + 0.01 * hours + 0.02 * east + 0.03 * data.latitude)).assign_attrs(
            units="kg kg**-1"
        ).transpose("time", "level", ...))  # fmt: skip

    found = at(model_of(cams(tmp_path / "file.nc", uniform, change=change)))["O3"]
    expected = 50e-9 * (1.0 + 0.01 * (13.0 + 1.0 / 3.0) + 0.02 * LON + 0.03 * LAT)
    assert np.abs(found / expected - 1.0).max() < 1e-10


def test_means_over_an_interval_are_those_of_its_middle(tmp_path: Path) -> None:
    def change(data: xr.Dataset) -> xr.Dataset:
        ends = np.stack([TIMES, TIMES + np.timedelta64(6, "h")], axis=1)
        time = data.time.assign_attrs(bounds="time_bnds")
        time.encoding["units"] = "hours since 2022-08-01"
        return data.assign_coords(time=time).assign(time_bnds=(("time", "nv"), ends))

    model = model_of(cams(tmp_path / "file.nc", uniform, change=change))
    assert np.array_equal(model.times("go3"), TIMES + np.timedelta64(3, "h"))


def test_flags_of_the_io_api_have_minutes_and_seconds() -> None:
    data = xr.Dataset(
        {"TFLAG": (("TSTEP", "VAR", "DATE-TIME"), np.array([[[2024060, 233015]], [[2024061, 3015]]]))},
    )
    found = ModelOutput(data, "a file").times
    assert found is not None
    assert found.tolist() == np.array(["2024-02-29T23:30:15", "2024-03-01T00:30:15"], "datetime64[ns]").tolist()


def test_two_cells_beyond_each_face_have_values_of_their_own(tmp_path: Path) -> None:
    def change(data: xr.Dataset) -> xr.Dataset:
        east = (data.longitude + 180.0) % 360.0 - 180.0
        values = (data.go3 * (1.0 + 0.02 * east + 0.01 * data.latitude)).transpose("time", "level", ...)
        return data.assign(go3=values.assign_attrs(units="kg kg**-1"))

    model = model_of(cams(tmp_path / "file.nc", uniform, change=change))
    grid = Grid.regular((0.0, 2.0), (48.0, 49.0), 0.5, [100.0, 1000.0])
    faces = np.full((grid.shape[0], 2 * sum(grid.shape[1:])), 9e4)
    air = Air(faces, np.full_like(faces, 280.0), np.full(faces.shape[1], 1e5), grid.level)
    rest = BoundaryProfiles(tuple(MASSES), model.rest(EMEP))
    boundary = FileBoundary(OuterSpecies(model, rest, tuple(MASSES)), grid, air, TIMES[0], 3600.0)
    found = boundary(0.0)["O3"].isel(level=0) / 50e-9
    sides = FaceCells(*grid.shape[1:]).split(found.to_numpy())
    places = [("west", -0.25, 48.25), ("east", 2.25, 48.25), ("south", 0.25, 47.75), ("north", 0.25, 49.25)]
    outwards = {"west": (-0.5, 0.0), "east": (0.5, 0.0), "south": (0.0, -0.5), "north": (0.0, 0.5)}
    for side, lon, lat in places:
        for cell in (0, 1):
            x, y = lon + cell * outwards[side][0], lat + cell * outwards[side][1]
            assert sides[side][cell, 0] == pytest.approx(1.0 + 0.02 * x + 0.01 * y, rel=1e-9), (side, cell)


def test_units_of_mass_become_mole_fractions() -> None:
    assert conversion_of("kg kg**-1", "x", molar_mass=0.048).factor == pytest.approx(MOLAR_MASS_DRY_AIR / 0.048)
    assert conversion_of("ug/kg-dryair", "x", molar_mass=0.096).factor == pytest.approx(
        1e-9 * MOLAR_MASS_DRY_AIR / 0.096
    )
    assert conversion_of("ppmV", "x").factor == pytest.approx(1e-6)
    assert conversion_of("mol mol-1 dry", "x").factor == 1.0
    assert conversion_of("ppbC", "x", carbon=5.0).factor == pytest.approx(0.2e-9)
    assert conversion_of("KG/KG", "x", molar_mass=0.018).factor == pytest.approx(MOLAR_MASS_DRY_AIR / 0.018)
    density = conversion_of("µg/m3", "x", molar_mass=0.048)
    assert density.is_concentration
    assert density.factor == pytest.approx(1e-9 / 0.048)


@pytest.mark.parametrize("unit", ["", "1", "dimensionless", "ppbC", "K", "kg m-2"])
def test_units_that_may_mean_anything_are_refused(unit: str) -> None:
    with pytest.raises(DataError, match=r"in the map|give a mixing ratio"):
        conversion_of(unit, "boundary.nc: O3", molar_mass=0.048)


def test_particles_and_concentrations_are_converted_by_the_density_of_air(tmp_path: Path) -> None:
    """2 ug of sulfate per kg of air, and 2 ug/m3 in the air of the layer."""
    of_mass = at(model_of(wrf_chem(tmp_path / "wrf.nc", uniform)))["SA"]
    assert np.abs(of_mass / (2e-9 * MOLAR_MASS_DRY_AIR / 96.056e-3) - 1.0).max() < 1e-6
    of_volume = at(model_of(cmaq(tmp_path / "cmaq.nc", uniform)))["SA"]
    expected = 2e-9 / 96.056e-3 * GAS_CONSTANT * 280.0 / AIR.pressure
    assert np.abs(of_volume / expected - 1.0)[1:].max() < 0.06  # the inverse of pressure is interpolated


def test_columns_that_a_file_lacks_come_from_the_profile(tmp_path: Path) -> None:
    """CMAQ's formaldehyde is FORM; GEOS-Chem's is CH2O; both are HCHO of EMEP. NO2 has PNA and HONO as well."""
    assert at(model_of(cmaq(tmp_path / "cmaq.nc", uniform)))["HCHO"] == pytest.approx(1e-9, rel=1e-6)
    assert at(model_of(geos_chem(tmp_path / "geos.nc", uniform)))["HCHO"] == pytest.approx(1e-9, rel=1e-6)

    def with_no2(data: xr.Dataset) -> xr.Dataset:
        return data.assign(no2=data.co)

    model = model_of(cams(tmp_path / "cams.nc", uniform, change=with_no2))
    assert model.mixtures["NO2"].rest == {"HONO": 1.0, "PNA": 1.0}
    assert model.rest(EMEP).profile["NO2"] == {"HONO": 1.0, "PNA": 1.0}
    assert "O3" in model.rest(EMEP).zero


@pytest.mark.parametrize(
    ("layout", "species"),
    [("WRF-Chem", "NC4H10"), ("WRF-Chem", "CH3CHO"), ("WRF-Chem", "PAN"), ("CAMS European air quality", "PAN")],
)
def test_lumped_variables_get_nothing_in_addition_from_the_profile(layout: str, species: str) -> None:
    (found,) = [each for each in layouts() if each.name == layout]
    names = {name for table in (found.columns, found.species) for factors in table.values() for name in factors}
    made = mixtures(dict(zip(names, names, strict=True)), [species], EMEP, found, SourceMap())[species]
    assert made.variables
    assert not made.rest


def test_a_map_of_the_user_lumps_and_splits(tmp_path: Path) -> None:
    file = tmp_path / "map.toml"
    file.write_text(
        "[species]\nO3 = { go3 = 0.5, co = 2.0 }\nCO = { co = 1.1 }\n[units]\nco = 'ppb'\n[molar_mass]\ngo3 = 48\n"
    )
    found = at(model_of(cams(tmp_path / "cams.nc", uniform), own=read_source_map(file)))
    raw = 100e-9 * 28.010e-3 / MOLAR_MASS_DRY_AIR
    assert found["CO"] == pytest.approx(1.1e-9 * raw, rel=1e-6)
    assert found["O3"] == pytest.approx(0.5 * 50e-9 * 47.998 / 48.0 + 2e-9 * raw, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[species]\nO33 = { go3 = 1 }", "species has 'O33'; did you mean O3"),
        ("[species]\nO3 = { go4 = 1 }", "species.O3 needs 'go4', which no file has; did you mean go3"),
        ("[species]\nO3 = 'go3'", r"map\.toml:2: O3 must be a sum of factor"),
        ("[columns]\nFORMA = { go3 = 1 }", "columns has 'FORMA'; did you mean FORM"),
        ("[species]\nO3 = { go3 = 1 }\n[units]\ngo3 = '1'", "has the unit '1'"),
        ("[molar_mass]\ngo3 = 'heavy'", r"map\.toml:2: molar_mass\.go3 must be a number"),
        ("[specis]\nO3 = { go3 = 1 }", "a map of files has no 'specis'; did you mean species"),
    ],
)
def test_maps_with_mistakes_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(text)
    path = cams(tmp_path / "cams.nc", uniform)
    with pytest.raises(AirshedError, match=message):
        model_of(path, own=read_source_map(tmp_path / "map.toml"))


def test_equal_names_serve_files_of_no_known_layout(tmp_path: Path) -> None:
    data = xr.open_dataset(cams_on_pressure(tmp_path / "cams.nc", linear)).rename(go3="o3").load()
    found = at(model_of(written(tmp_path / "any.nc", data)))["O3"]
    assert np.abs(found / linear(AIR.pressure) - 1.0).max() < 1e-4  # by the molar mass of the mechanism


def test_pressures_may_be_in_another_file(tmp_path: Path) -> None:
    """Without VGLVLS, or with layers that follow no sigma, CMAQ's pressures are in METCRO3D."""

    def met(data: xr.Dataset) -> xr.Dataset:
        pressure = np.broadcast_to(np.geomspace(1e5, 1e4, 7)[None, :, None, None], data.O3.shape)
        return data.assign(PRES=(data.O3.dims, pressure, {"units": "Pa"}))[["PRES", "TFLAG"]].assign_attrs(data.attrs)

    def other_layers(data: xr.Dataset) -> xr.Dataset:
        values = linear(np.broadcast_to(np.geomspace(1e5, 1e4, 7)[None, :, None, None], data.O3.shape))
        return data.assign(O3=(data.O3.dims, 1e6 * values, {"units": "ppmV"})).assign_attrs(VGTYP=-9999)

    conc = cmaq(tmp_path / "conc.nc", linear, change=other_layers)
    with pytest.raises(DataError, match="neither pressures nor heights"):
        at(model_of(conc))
    found = at(model_of(conc, cmaq(tmp_path / "met.nc", linear, change=met)))["O3"]
    assert np.abs(found / linear(AIR.pressure) - 1.0).max() < 1e-10


def test_several_files_are_one_series(tmp_path: Path) -> None:
    def part(first: int, last: int) -> Callable[[xr.Dataset], xr.Dataset]:
        return lambda data: data.isel(time=slice(first, last))

    model = model_of(
        cams(tmp_path / "b.nc", uniform, change=part(2, 5)), cams(tmp_path / "a.nc", uniform, change=part(0, 2))
    )
    assert np.array_equal(model.times("go3"), TIMES)
    model.check_covers(TIMES[0], TIMES[-1] + np.timedelta64(6, "h"))
    assert at(model)["O3"] == pytest.approx(50e-9)


def test_months_stand_for_every_year(tmp_path: Path) -> None:
    def months(data: xr.Dataset) -> xr.Dataset:
        middle = np.array([f"2016-{month:02d}-16" for month in range(1, 13)], "datetime64[ns]")
        factor = xr.DataArray(1.0 + 0.01 * np.arange(12), dims="time")
        monthly = data.isel(time=np.zeros(12, int)).assign_coords(time=middle)
        return monthly.assign(go3=(monthly.go3 * factor).assign_attrs(units="kg kg**-1"))

    path = cams(tmp_path / "file.nc", uniform, change=months)
    with pytest.raises(
        CaseError, match=r'2016-01-16T00:00 to 2016-12-16T00:00; the case needs .* boundary\.repeat = "year"'
    ):
        model_of(path).check_covers(TIMES[0], TIMES[-1])
    model = model_of(path, repeats=True)
    model.check_covers(TIMES[0], TIMES[-1])
    july, middle, new_year = ("2022-07-16", "2022-07-31T12", "2023-01-01T00")
    assert at(model, np.datetime64(july))["O3"] == pytest.approx(1.06 * 50e-9)
    assert at(model, np.datetime64(middle))["O3"] == pytest.approx(1.065 * 50e-9)
    between = at(model, np.datetime64(new_year))["O3"] / 50e-9
    assert np.all(np.abs(between - 1.055) < 0.005)  # half-way between 1.11 and 1.00


def test_missing_values_below_the_ground_take_the_lowest_value(tmp_path: Path) -> None:
    def cut(low: int, high: int) -> Callable[[xr.Dataset], xr.Dataset]:
        def change(data: xr.Dataset) -> xr.Dataset:
            values = data.go3.values.copy()
            values[:, low:high] = np.nan
            return data.assign(go3=(data.go3.dims, values, data.go3.attrs))

        return change

    found = at(model_of(cams_on_pressure(tmp_path / "file.nc", linear, change=cut(6, 8))))["O3"]
    assert found[0] == pytest.approx(float(linear(np.array(8.5e4))))
    with pytest.raises(DataError, match=r"go3 at 2022-08-31T12:00.* has missing values near -2 E, 46 N"):
        at(model_of(cams_on_pressure(tmp_path / "gap.nc", linear, change=cut(0, 1))))


def _without_units(data: xr.Dataset) -> xr.Dataset:
    del data["go3"].attrs["units"]
    return data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without_units, "go3 has no unit"),
        (lambda data: data.drop_vars("level").assign_coords(level=("level", np.arange(60.0))), "neither pressures nor"),
        (lambda data: data.isel(level=[59]), "co has one level; give all levels"),
        (lambda data: data.isel(level=slice(40)), "model levels end at 40; the lowest one must be there"),
        (lambda data: data.isel(longitude=slice(8, None)), "-2 E, 46 N, in the grid of the case or next to it, is out"),
        (lambda data: data.rename(go3="x", co="y"), "is a species of the mechanism; with levels it has x, y"),
        (lambda data: data.assign(go3=-data.go3.assign_attrs(units="ppb")), "check the values and units of go3"),
        (lambda data: data.assign(go3=1e9 * data.go3), "check the values and units of go3"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit_are_refused(change: Any, message: str, tmp_path: Path) -> None:
    with xr.set_options(keep_attrs=True), pytest.raises(AirshedError, match=message):
        at(model_of(cams(tmp_path / "file.nc", uniform, change=change)))


@pytest.mark.skipif(not UK.is_file(), reason="shared data are not there: merra2_geoschem_column_uk_2016")
def test_a_file_of_geos_chem_over_england() -> None:
    """Winter: NO2 of some ppb at the ground, and little aloft; isoprene in ppbC has five atoms."""
    model = model_of(UK)
    points = np.array([-1.0]), np.array([51.0])
    air = Air(AIR.pressure[:, :1], AIR.temperature[:, :1], AIR.surface_pressure[:1], AIR.heights)
    found = SpeciesAtPoints(model, *points, air).at(np.datetime64("2016-01-02T12"))
    with xr.open_dataset(UK) as data:
        ground = data.isel(lev=0).sel(time="2016-01-02T12").interp(lat=51.0, lon=-1.0)
        assert found["ISOPRE"][0, 0] == pytest.approx(float(ground.IJ_AVG_S__ISOP) / 5.0 * 1e-9, rel=0.05)
    assert 2e-9 < found["NO2"][0, 0] < 2e-8
    assert 1e-12 < found["NO2"][3, 0] < 3e-10
    assert model.layout.name == "GEOS-Chem"


# In a case.


def outer_of(case: airshed.Case) -> OuterSpecies:
    outputs = open_outputs(case.files(case.boundary.files, "boundary.files"))
    return outer_species(case, outputs, MASSES, EMEP, "boundary.files")


def emep(folder: Path, **boundary: Any) -> airshed.Case:
    return airshed.Case.from_dict({
        "grid": {"area": {"lon": [1, 4], "lat": [46, 49]}, "spacing": "1 deg", "layers": ["100 m", "500 m"]},
        "time": {"start": "2022-08-31T00:00:00Z", "length": "6 h"}, "chemistry": {"mechanism": "emep"},
        "boundary": boundary,
    }, base=folder)  # fmt: skip


def test_a_table_of_a_few_species_needs_a_declared_fallback(tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("pressure [hPa],O3 [ppb],CO [ppm]\n1000,40,0.10\n500,60,0.09\n")
    with pytest.raises(CaseError, match=r"two\.csv has no NO, NO2, .*; give boundary\.profiles for them"):
        outer_of(emep(tmp_path, files=["two.csv"]))
    for profiles in ("zero", "clean-air"):
        assert outer_of(emep(tmp_path, files=["two.csv"], profiles=profiles)).names == ("CO", "O3")
    found = at(outer_of(emep(tmp_path, files=["two.csv"], profiles="zero")).model)
    assert found["O3"][0] == pytest.approx(40e-9)
    assert found["CO"][2] == pytest.approx(1e-6 * (0.09 + 0.01 * np.log(8.1e4 / 5e4) / np.log(2.0)))


def test_a_table_of_constants_or_of_heights(tmp_path: Path) -> None:
    (tmp_path / "constant.csv").write_text("O3 [ppb],CO [ppb]\n40,100\n")
    assert at(model_of(tmp_path / "constant.csv"))["O3"] == pytest.approx(40e-9)
    (tmp_path / "heights.csv").write_text("height [m],O3 [ug/m3]\n0,80\n10000,80\n")
    assert at(model_of(tmp_path / "heights.csv"))["O3"] == pytest.approx(
        80e-9 / 47.998e-3 * GAS_CONSTANT * 280.0 / AIR.pressure, rel=1e-4
    )
    (tmp_path / "none.csv").write_text("O3 [ppb],CO [ppb]\n40,100\n41,100\n")
    with pytest.raises(DataError, match="several lines need a first column"):
        model_of(tmp_path / "none.csv")


def test_the_table_lists_files_profiles_and_zero(tmp_path: Path) -> None:
    cams(tmp_path / "cams.nc", linear)
    report = describe(emep(tmp_path, files=["cams.nc"], profiles="clean-air"))
    rows = dict(report.tables[-1].rows)
    assert str(rows["O3"]).startswith("read: go3 of")
    assert "(CAMS global)" in str(rows["O3"])
    assert rows["HNO3"] == "clean-air.csv: 1 HNO3"
    assert next(str(name) for name, source in rows.items() if source == "none: 0").startswith("CH3O2, ")
    with pytest.raises(CaseError, match=r"has times from 2022-08-31T00:00 to 2022-09-01T00:00; the case needs 2021"):
        describe(airshed.Case.from_dict({
            **emep(tmp_path, files=["cams.nc"], profiles="zero").to_dict(),
            "time": {"start": "2021-08-31T00:00:00Z", "length": "6 h"},
        }, base=tmp_path))  # fmt: skip


def test_files_and_an_outer_run_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"boundary\.files and boundary\.run exclude each other"):
        emep(tmp_path, files=["cams.nc"], run="outer")


def on_grid(unit: str = "mol mol-1") -> xr.Dataset:
    """Return ozone on the layers of the small case, as a Dataset of a user."""
    time = np.array(["2022-06-21T09", "2022-06-21T12"], "datetime64[ns]")
    ozone = (("time", "level", "lat", "lon"), np.full((2, 3, 3, 3), 70e-9), {"units": unit})
    places = {"lat": [38.0, 41.0, 44.0], "lon": [-32.0, -28.0, -24.0]}
    return xr.Dataset({"O3": ozone}, {"time": time, "level": [25.0, 125.0, 600.0], **places})


def test_a_run_with_a_dataset_on_a_grid_and_files(tmp_path: Path) -> None:
    """Air of the files enters, and the initial state has them; values of the case precede them."""
    on_grid().assign_coords(level=("level", [25.0, 125.0, 600.0], {"units": "m"})).to_netcdf(tmp_path / "o3.nc")
    profiles = {"profiles": "zero", "values": {"NO2": "1 ppb"}}
    ran = []
    for given, boundary in ((on_grid(), profiles), (None, {**profiles, "files": ["o3.nc"]})):
        case = small_case(tmp_path, boundary=boundary, output=[], initial={"values": {}, "files": ["o3.nc"]})
        with airshed.Simulation(case, boundary=given) as simulation:
            assert float(simulation["O3"].max()) == pytest.approx(70e-9, rel=1e-6)
            simulation.run()
            ran.append(simulation["O3"].to_numpy())
            notes = [str(row[2]) for table in simulation.summary().tables for row in table.rows if row[0] == "boundary"]
    assert np.array_equal(*ran)
    assert any("1 species from" in note and "o3.nc: O3" in note for note in notes)
    with pytest.raises(DataError, match="O3 is in 'K'"):
        airshed.Simulation(small_case(tmp_path, boundary=profiles, output=[]), boundary=on_grid("K"))
