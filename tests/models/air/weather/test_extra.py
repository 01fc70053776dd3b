"""Optional weather fields: read on request, treated like the other fields, reported where they are missing."""

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.models.air.assembly import assemble
from airshed.models.air.case.sections import MeteorologySection
from airshed.models.air.weather import CallableMeteorology, Calls, DatasetMeteorology, MetState, RepeatedDay, fields
from airshed.models.air.weather.case_weather import uniform_meteorology
from airshed.models.air.weather.fields import WeatherField, WeatherNeeds, by_name, of_use
from airshed.models.air.weather.state import always, interpolate

GRID = Grid.regular((0, 4), (48, 51), 0.5, [20.0, 100.0, 500.0, 2000.0])
START = np.datetime64("2022-08-31T00:00")
CLOUD_WATER, UPDRAUGHT, DOWNDRAUGHT = (
    by_name()[name] for name in ("cloud_water", "updraught_mass_flux", "downdraught_mass_flux")
)
CLOUD, UP = CLOUD_WATER.cf_name, UPDRAUGHT.cf_name


def weather(**more: object) -> xr.Dataset:
    fields = {"eastward_wind": ((), 5.0), "northward_wind": ((), 1.0), **more}
    return xr.Dataset(fields, coords={"lon": GRID.x, "lat": GRID.y})


def state(dataset: xr.Dataset, *extra: WeatherField) -> MetState:
    return DatasetMeteorology(dataset, GRID, START, extra=extra).at(0.0)


def optional(found: MetState) -> dict[str, np.ndarray]:
    """Return the optional fields of a state."""
    return {name: getattr(found, name) for name in found.names if name not in always()}


def test_a_field_is_there_where_it_is_asked_for_and_given() -> None:
    cloud = np.array([0.0, 1e-4, 3e-4, 0.0])
    data = weather(**{CLOUD: ("level", cloud)})
    assert optional(state(data)) == {}
    assert optional(state(weather(), CLOUD_WATER)) == {}
    found = optional(state(data, *of_use("optional")))
    assert found.keys() == {"cloud_water"}
    assert found["cloud_water"].shape == GRID.shape
    np.testing.assert_allclose(found["cloud_water"][:, 3, 4], cloud, rtol=1e-15)


def test_provenance_tells_each_of_them() -> None:
    data = weather(**{CLOUD: ((), 1e-4)})
    asked = DatasetMeteorology(data, GRID, START, extra=[CLOUD_WATER, UPDRAUGHT]).provenance
    assert asked["cloud_water"] == f"given: {CLOUD}"
    assert asked["updraught_mass_flux"] == "none given"
    assert CLOUD not in asked
    assert DatasetMeteorology(data, GRID, START).provenance[CLOUD] == "given, not used"


def test_mass_fluxes_lie_at_the_layer_faces() -> None:
    """Given at heights they are linear between them; given at level_face they are taken as they are."""
    heights = xr.DataArray([0.1, 0.3], dims="level", coords={"level": [0.0, 2000.0]})
    found = optional(state(weather(**{UP: heights}), UPDRAUGHT))["updraught_mass_flux"]
    assert found.shape == (5, 6, 8)
    np.testing.assert_allclose(found[:, 0, 0], 0.1 + 0.2 * GRID.layer_faces / 2000.0, rtol=1e-14)
    at_faces = np.array([0.0, 0.1, 0.2, 0.1, 0.0])
    found = optional(state(weather(**{UP: ("level_face", at_faces)}), UPDRAUGHT))["updraught_mass_flux"]
    np.testing.assert_array_equal(found[:, 0, 0], at_faces)
    with pytest.raises(DataError, match="has 4 levels without heights, the grid has 5"):
        state(weather(**{UP: ("level", np.zeros(4))}), UPDRAUGHT)


def test_units_and_ranges_are_looked_at() -> None:
    grams = weather(**{CLOUD: ((), 0.2, {"units": "g kg-1"})})
    assert optional(state(grams, CLOUD_WATER))["cloud_water"][0, 0, 0] == pytest.approx(2e-4)
    for wrong, message in (
        ({CLOUD: ((), 0.2)}, "outside -1e-06 to 0.05 kg kg-1"),
        ({CLOUD: ((), np.nan)}, "has NaN or infinite values"),
        ({DOWNDRAUGHT.cf_name: ((), -0.1)}, "outside -1e-06 to 10 kg m-2 s-1"),
        ({CLOUD: ((), 1e-4, {"units": "m"})}, "'m'"),
    ):
        with pytest.raises(DataError, match=message):
            state(weather(**wrong), CLOUD_WATER, DOWNDRAUGHT)
    assert optional(state(weather(**{CLOUD: ((), 0.2)}))) == {}, "the range of an unused field is not checked"


def test_a_process_of_a_users_own_declares_a_field_of_its_own() -> None:
    sea = WeatherField("sea_ice", "sea_ice_area_fraction", "1", 0.0, 1.0, "surface")
    found = state(weather(sea_ice_area_fraction=(("lat", "lon"), np.full((6, 8), 0.25))), sea)
    assert found.sea_ice.tolist() == np.full((6, 8), 0.25).tolist()


def test_they_are_linear_in_time_and_repeat_with_the_day() -> None:
    hours = np.arange(25) * 3600.0
    cloud = xr.DataArray(1e-6 * np.arange(25), dims="time", coords={"time": hours})
    met = DatasetMeteorology(weather(**{CLOUD: cloud}), GRID, START, extra=[CLOUD_WATER])
    assert met.at(5400.0).cloud_water[0, 0, 0] == pytest.approx(1.5e-6)
    repeated = RepeatedDay(met, 1)
    assert repeated.at(-86400.0 + 7200.0).cloud_water[0, 0, 0] == pytest.approx(2e-6)
    assert repeated.at(-1800.0).cloud_water[0, 0, 0] == pytest.approx(11.5e-6)


def test_between_a_state_with_and_one_without_there_is_none() -> None:
    here, there = state(weather(**{CLOUD: ((), 1e-4)}), CLOUD_WATER), state(weather())
    assert optional(interpolate(here, there, 0.5)) == {}
    assert optional(interpolate(here, here, 0.5))["cloud_water"][0, 0, 0] == pytest.approx(1e-4)


def test_a_function_gives_them_too() -> None:
    def sky(seconds: float) -> xr.Dataset:
        return weather(**{CLOUD: ((), 1e-8 * seconds)})

    met = CallableMeteorology(sky, GRID, Calls(START, last=7200.0), extra=[CLOUD_WATER])
    assert met.at(5400.0).cloud_water[1, 2, 3] == pytest.approx(5.4e-5)
    assert met.provenance["cloud_water"] == f"given: {CLOUD}"


def test_uniform_air_has_the_cloud_and_the_rain_of_the_case() -> None:
    settings = {"kind": "uniform", "precipitation": "1.8 mm/h", "cloud_water": "0.2 g/kg", "cloud_base": "300 m"}
    section = MeteorologySection.model_validate({**settings, "cloud_top": "1000 m"})
    found = uniform_meteorology(section, GRID, START, np.ones((6, 8)), None, [CLOUD_WATER]).at(0.0)
    assert found.precipitation[0, 0] == pytest.approx(5e-4)
    cloud = found.cloud_water[:, 0, 0]
    np.testing.assert_allclose(cloud, [0.0, 0.0, 2e-4 * 200.0 / 400.0, 2e-4 * 500.0 / 1500.0], rtol=1e-12)
    with pytest.raises(ValueError, match="must lie above"):
        MeteorologySection.model_validate({**settings, "cloud_top": "300 m"})
    dry = uniform_meteorology(MeteorologySection.model_validate({"kind": "uniform"}), GRID, START, np.ones((6, 8)))
    assert dry.provenance["precipitation"] == "none given: 0"


def test_states_with_spoilt_fields_are_refused() -> None:
    here = state(weather(**{CLOUD: ((), 1e-4)}), CLOUD_WATER)
    here.check(GRID, "here")
    here.cloud_water[0, 0, 0] = np.inf
    with pytest.raises(DataError, match="cloud_water has values that are not finite"):
        here.check(GRID, "here")


def test_needs_come_together() -> None:
    own = WeatherField("cloud_water", "another", "1", 0.0, 1.0)
    both = WeatherNeeds.together([WeatherNeeds((CLOUD_WATER,), 1), WeatherNeeds((UPDRAUGHT, CLOUD_WATER), 2)])
    assert both == WeatherNeeds((CLOUD_WATER, UPDRAUGHT), 2)
    assert WeatherNeeds.together([]) == WeatherNeeds()
    with pytest.raises(DataError, match="declare the weather field cloud_water differently"):
        WeatherNeeds.together([WeatherNeeds((CLOUD_WATER,)), WeatherNeeds((own,))])


def test_a_row_is_all_that_a_further_field_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An additional row suffices: a case reads the field, interpolates it, checks its range, and writes it."""
    row = WeatherField(
        "snow_depth", "surface_snow_thickness", "m", 0.0, 20.0, "surface", "Depth of snow", output="snow_depth"
    )
    monkeypatch.setattr(fields, "FIELDS", (*fields.FIELDS, row))
    data = {
        "grid": {"area": {"lon": [0.0, 4.0], "lat": [48.0, 51.0]}, "spacing": "0.5 deg", "layers": ["100 m", "500 m"]},
        "time": {"start": "2022-08-31T00:00:00Z", "length": "2 h"}, "chemistry": {"mechanism": "tracer"},
        "deposition": {"scheme": "none"}, "boundary": {"profiles": "zero"}, "output": [{"fields": ["snow_depth"]}],
    }  # fmt: skip
    case, times = airshed.Case.from_dict(data), {"coords": {"time": [0.0, 7200.0]}, "dims": "time"}

    def snow(depth: float) -> xr.Dataset:
        return weather(surface_snow_thickness=xr.DataArray([0.0, depth], attrs={"units": "cm"}, **times))

    parts = assemble(case, snow(200.0))
    assert parts.meteorology.at(1800.0).snow_depth[3, 4] == pytest.approx(0.5)
    assert parts.meteorology.provenance["snow_depth"] == "given: surface_snow_thickness"
    spec = parts.fields([])["snow_depth"]
    assert (spec.dims, spec.unit, spec.valid, spec.standard_name) == (
        ("lat", "lon"), "m", (0.0, 20.0), "surface_snow_thickness",
    )  # fmt: skip
    assert parts.processes[0].process.context.weather_levels["snow_depth"] == 1, "processes may request it"
    assert "| `snow_depth` | m | surface | on request | `surface_snow_thickness` | 0 to 20 m |" in fields.fields_table()
    with pytest.raises(DataError, match="surface_snow_thickness is 0 to 30, outside 0 to 20 m"):
        assemble(case, snow(3000.0))
    assert "snow_depth" not in assemble(case, weather()).fields([]), "the data lacks it"
