"""Tables of stacks: units, refusals, time, weather of each hour, scaling, parts, and derivatives by sector."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.inverse.small import small

import airshed
from airshed.core.errors import AirshedError, CaseError, DataError
from airshed.core.files import resource
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.inverse import sensitivity
from airshed.inverse.function.inputs import Factors, factored
from airshed.models.air.assembly import assemble
from airshed.models.air.case.inverse import ControlSection
from airshed.models.air.emissions import StackEmissions, StackTable, read_stacks
from airshed.models.air.emissions.plume_rise import air_at_stacks
from airshed.models.air.weather import MetState
from airshed.models.air.weather.fields import of_use
from airshed.parallel.domain import Subdomain

START = np.datetime64("2022-06-01T00:00:00")
GRID = Grid.regular((4.0, 8.0), (50.0, 52.0), 0.5, [50.0, 200.0, 500.0, 1000.0, 2000.0, 4000.0])
PROFILES = resource("cases/west-europe/emissions")
HEAD = "name,lon,lat,height [m],diameter [m],velocity [m/s],temperature [degC]"
PLANT = "Plant,6.6,51.0,150,6,20,130"
HOUR = 3600.0
CHANGE = 1e-4


def table(folder: Path, *lines: str, more: str = ",NO [mol/s]", head: str = HEAD) -> StackTable:
    path = folder / "stacks.csv"
    path.write_text("\n".join([head + more, *lines]) + "\n", encoding="utf-8")
    return read_stacks(path)


class Weather:
    """Air with a convective boundary layer of 1500 m from 6 to 18 h, stable at night."""

    def at(self, seconds: float) -> MetState:
        day = 6.0 <= seconds / HOUR % 24.0 < 18.0
        fields = {each.name: np.zeros(each.shape(GRID)) for each in of_use("state")}
        level = GRID.level[:, None, None]
        fields["temperature"] += 288.0 - (0.0098 if day else -0.01) * np.minimum(level, 1500.0)
        fields["pressure"] += 1e5 * np.exp(-level / 8000.0)
        fields["air_density"] += 40.0
        fields["eastward_air_flux"] += 40.0 * 4.0 * GRID.thickness[:, None, None] * GRID.x_face_length
        fields["friction_velocity"] += 0.3
        fields["obukhov_length"] += -30.0 if day else 30.0
        fields["boundary_layer_height"] += 1500.0 if day else 100.0
        return MetState(**fields)


def source(given: StackTable, parts: dict[str, dict[str, float]] | None = None, **more: Any) -> StackEmissions:
    return StackEmissions(
        given, parts or {"NO": {"NO": 1.0}}, GRID, Weather(), START, profiles=PROFILES, **more
    )  # fmt: skip


def test_units_of_the_header_are_converted(tmp_path: Path) -> None:
    more = ",sector,time_zone,NOx [t/yr],SO2 [g/s],CO [kmol/h]"
    given = table(tmp_path, f"{PLANT},A,Europe/Berlin,365.25,2,3.6", f"{PLANT},,,,0,", more=more)
    assert given.exhaust.temperature == pytest.approx([403.15, 403.15])
    assert given.rates["NOx"] == pytest.approx([1e3 / 86400.0, 0.0])
    assert given.rates["SO2"] == pytest.approx([2e-3, 0.0])
    assert given.rates["CO"] == pytest.approx([1.0, 0.0])
    assert given.amounts == {"CO"}
    assert given.sectors.tolist() == ["A_PublicPower", ""]
    by_flow = table(tmp_path, "6,51,15000,600,36000,400,1", more=",NO [mol/s]",
                    head="lon,lat,height [cm],diameter [cm],flow [m3/h],temperature [K]")  # fmt: skip
    assert by_flow.exhaust.velocity == pytest.approx([10.0 / (np.pi * 9.0)])
    assert by_flow.exhaust.height == pytest.approx([150.0])


def test_the_local_time_of_a_stack_without_a_zone_is_that_of_its_longitude(tmp_path: Path) -> None:
    given = table(tmp_path, *(PLANT.replace("6.6", lon) + ",1" for lon in ("106", "-76", "284", "6.6")))
    hours = [zone.utcoffset(None).total_seconds() / HOUR for zone in given.zones]
    assert hours == [7.0, -5.0, -5.0, 0.0]


REFUSED = {
    "a number": ([f"{PLANT},x"], HEAD, ",NO [mol/s]", r"line 2: NO \[mol/s\] 'x' is not a number"),
    "sign": ([f"{PLANT},1", f"{PLANT},-1"], HEAD, ",NO [mol/s]", r"line 3: NO \[mol/s\] is -1; it must be 0 to"),
    "height": (["a,6,51,9000,6,20,130,1"], HEAD, ",NO [mol/s]", r"line 2: height \[m\] is 9000; it must be 0 to 1000"),
    "temperature": (["a,6,51,90,6,20,-130,1"], HEAD, ",NO [mol/s]", r"temperature \[degC\] is -130; it must be 200 to"),
    "latitude": (["a,6,91,90,6,20,130,1"], HEAD, ",NO [mol/s]", r"line 2: lat is 91, but must be at most 90"),
    "diameter": (["a,6,51,90,0,20,130,1"], HEAD, ",NO [mol/s]", r"diameter \[m\] is 0; it must be 0.01 to 100 m"),
    "sector": ([f"{PLANT},Power,1"], HEAD, ",sector,NO [mol/s]", r"line 2: sector 'Power' is unknown; did you mean A_"),
    "zone": ([f"{PLANT},Mars,1"], HEAD, ",time_zone,NO [mol/s]", r"line 2: time_zone 'Mars' is unknown; give an IANA"),
    "unit": ([f"{PLANT},1"], HEAD, ",NO [ppb]", r"line 1: NO \[ppb\].*wrong kind of unit"),
    "no unit": (["6,51,1,1,1,1,1"], "lon,lat,height,diameter [m],velocity [m/s],temperature [K]", ",NO [mol/s]",
                r"line 1: height needs its unit in brackets, such as height \[m\]"),
    "column": (["6,51,1,1,1"], "lon,lat,height [m],diameter [m]", ",NO [mol/s]",
               r"lacks the column temperature \[K\], velocity \[m/s\] or flow"),
    "emission": ([PLANT], HEAD, "", r"has no emission; add columns such as NOx \[t/yr\]"),
    "both": ([f"{PLANT},1,1"], HEAD, ",flow [m3/s],NO [mol/s]", r"velocity and flow give the same twice"),
    "empty": ([], HEAD, ",NO [mol/s]", r"has no rows"),
    "cells": ([f"{PLANT}"], HEAD, ",NO [mol/s]", r"line 2: 7 cells, but 8 columns"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_faulty_tables_are_refused_with_line_and_column(tmp_path: Path, name: str) -> None:
    lines, head, more, message = REFUSED[name]
    with pytest.raises(DataError, match=message):
        table(tmp_path, *lines, head=head, more=more)


def test_stacks_outside_are_counted_and_a_table_without_others_is_refused(tmp_path: Path) -> None:
    far = PLANT.replace("6.6", "25")
    (notice,) = source(table(tmp_path, f"{PLANT},3", f"{far},1", f"{far},0")).notices()
    assert notice.endswith("stacks.csv: 2 of 3 stacks are outside the area, with 25 % of NO")
    with pytest.raises(DataError, match=r"all 2 stacks are outside the area: they are at 25 to 25 E.*the area is 4"):
        source(table(tmp_path, f"{far},3", f"{far},1"))
    low = Grid.regular((4.0, 8.0), (50.0, 52.0), 0.5, [20.0])
    with pytest.raises(CaseError, match="a stack is 150 m high, above the highest layer of the grid, 20 m"):
        StackEmissions(table(tmp_path, f"{PLANT},3"), {"NO": {"NO": 1.0}}, low, Weather(), START, profiles=PROFILES)


def test_the_plume_follows_the_weather_of_each_hour_and_its_mass_does_not(tmp_path: Path) -> None:
    stacks = source(table(tmp_path, f"{PLANT},2", f"{PLANT.replace('6.6', '5.1')},1"))
    night, day = (stacks.rate(hour * HOUR)[0].sum(axis=(1, 2)) for hour in (2, 12))
    heights = GRID.level[: stacks.levels]
    assert night.sum() == pytest.approx(3.0, rel=1e-14)
    assert day.sum() == pytest.approx(3.0, rel=1e-14)
    assert day @ heights > 1.5 * (night @ heights)
    assert stacks.totals(2 * HOUR) == pytest.approx([3.0], rel=1e-14)
    np.testing.assert_array_equal(stacks.rate(12.0 * HOUR), stacks.rate(12.9 * HOUR))
    plant = stacks.rate(12 * HOUR)[0].sum(axis=0)
    assert plant[2, 5] == pytest.approx(2.0)
    assert np.count_nonzero(plant) == 2


def test_air_is_convective_below_the_boundary_layer_height_by_day_and_stable_at_night() -> None:
    cells = np.array([1]), np.array([1])
    day, night = (air_at_stacks(Weather().at(hour * HOUR), GRID, cells, np.array([100.0])) for hour in (12, 2))
    assert day.convective[:, 0].tolist() == [True] * 4 + [False] * 2  # centres below 1500 m
    assert not night.convective.any()
    assert night.stable[0].all()
    assert not day.stable[0].any()
    assert day.wind[:, 0] == pytest.approx(np.full(6, 4.0), rel=1e-2)


def test_sectors_have_the_profiles_of_their_local_time(tmp_path: Path) -> None:
    lines = [f"{PLANT},F,Europe/Berlin,1", f"{PLANT},,Europe/Berlin,1"]
    stacks = source(table(tmp_path, *lines, more=",sector,time_zone,NO [mol/s]"))
    hours = np.arange(365 * 24)
    totals = np.array([stacks.totals((hour - 151 * 24) * HOUR)[0] for hour in hours[::7]])
    assert totals.mean() == pytest.approx(2.0, rel=2e-3), "the year has the emission of the table"
    road = stacks.selected(["F_RoadTransport"])
    by_hour = [road.totals(hour * HOUR)[0] for hour in range(24)]
    assert max(by_hour) > 3.0 * min(by_hour)
    solar = source(table(tmp_path, f"{PLANT},F,1", more=",sector,NO [mol/s]"))
    assert solar.totals(4 * HOUR) == pytest.approx(road.totals(2 * HOUR), rel=1e-6), (
        "UTC+0 by longitude, UTC+2 in the summer of Berlin"
    )


def test_the_emission_is_linear_in_factors_of_pollutants_and_sectors(tmp_path: Path) -> None:
    given = table(tmp_path, f"{PLANT},A,1,1", f"{PLANT},B,1,1", more=",sector,NO [mol/s],NOx [t/yr]")
    parts = {"NO": {"NO": 1.0}, "NOx": {"NO": 20.0, "NO2": 1.0}}
    plain = source(given, parts)
    power, industry = (plain.selected([each]).rate(0.0) for each in plain.sectors)
    np.testing.assert_allclose(power + industry, plain.rate(0.0), rtol=1e-14)
    cut = source(given, parts, scale={"A_PublicPower": 0.5, "DE": 7.0, "DE/B_Industry": 3.0})
    np.testing.assert_allclose(cut.rate(0.0), 0.5 * power + industry, rtol=1e-14)
    both = source(given, parts, scale={"NOx/B_Industry": 0.0}).selected(["B_Industry"])
    assert not both.rate(0.0)[1].any()
    assert both.rate(0.0)[0].any()


def test_controls_of_sectors_act_on_stacks_and_those_of_regions_do_not(tmp_path: Path) -> None:
    plain = source(table(tmp_path, f"{PLANT},A,1", f"{PLANT},B,3", more=",sector,NO [mol/s]"))
    factors = Factors(START, Subdomain.of(*GRID.shape[1:], 4))
    factors.controls = {"power": np.array([0.5]), "abroad": np.array([[7.0, 7.0]])}
    controls = [
        ControlSection.model_validate({"name": "power", "species": ["NO"], "sectors": ["A_PublicPower"]}),
        ControlSection.model_validate(
            {"name": "abroad", "species": ["NO"], "resolution": "region", "regions": ["DE", "FR"]}
        ),
    ]
    with pytest.raises(CaseError, match="'DE' in regions has no emission here"):
        factored([plain], controls, factors)
    (halved,) = factored([plain], [controls[0].model_copy(update={"resolution": "domain"})], factors)
    expected = 0.5 * plain.selected(["A_PublicPower"]).rate(0.0) + plain.selected(["B_Industry"]).rate(0.0)
    np.testing.assert_allclose(halved.rate(0.0), expected, rtol=1e-14)


@pytest.mark.parametrize("window", [Window(0, 2, 0, 8), Window(2, 4, 4, 8), Window(2, 3, 5, 6), Window(0, 1, 0, 1)])
def test_a_part_of_the_grid_has_the_same_bits(tmp_path: Path, window: Window) -> None:
    places = np.random.default_rng(3).uniform((4.0, 50.0), (8.0, 52.0), (40, 2))
    stacks = source(table(tmp_path, *(f"s,{lon:.3f},{lat:.3f},90,3,15,90,{lon:.1f}" for lon, lat in places)))
    part = stacks.part(window)

    class Cut:
        def at(self, seconds: float) -> MetState:
            return Weather().at(seconds).part(window)

    part._weather = Cut()
    assert (part.species, part.levels, part.notices()) == (stacks.species, stacks.levels, stacks.notices())
    np.testing.assert_array_equal(part.rate(12 * HOUR), window.of(stacks.rate(12 * HOUR)))


def with_stacks(folder: Path, more: str, *lines: str, **emissions: Any) -> airshed.Case:
    """Return the small case with stacks as its only emission."""
    table(folder, *lines, more=more)
    none: dict[str, Any] = {"point": [], "area": []}
    return small(folder, emissions={**none, "stacks": [{"file": "stacks.csv"}], **emissions})


INLAND = "Plant,7.5,50.5,20,2,10,40"


def test_pollutants_become_species_by_the_split_and_unknown_columns_are_refused(tmp_path: Path) -> None:
    species_map = '[emissions]\nNO = {{NO = 1}}\nNO2 = {{NO2 = 1}}\n{}[boundary]\nzero = "others"\n[deposition]\n'
    (tmp_path / "small.species.toml").write_text(species_map.format("") + 'none = "others"\n', encoding="utf-8")
    parts = assemble(with_stacks(tmp_path, ",NOx [kg/s],PM10 [g/s]", f"{INLAND},46.0055,3"))
    (stacks,) = (each for each in parts.sources if isinstance(each, StackEmissions))
    assert dict(zip(stacks.species, stacks.totals(0.0), strict=True)) == pytest.approx({"NO": 950.0, "NO2": 50.0})
    assert stacks.notices()[0].endswith("stacks.csv: no species for PM10: left out")
    with pytest.raises(CaseError, match=r"line 1: 'VOX' is neither a species of the mechanism nor a pollutant"):
        assemble(with_stacks(tmp_path, ",VOX [kg/s]", f"{INLAND},1"))
    with pytest.raises(CaseError, match=r"line 1: NOx is a pollutant of several species; give its mass, as NOx \[kg/s"):
        assemble(with_stacks(tmp_path, ",NOx [mol/s]", f"{INLAND},1"))
    with pytest.raises(CaseError, match=r"emissions.scale: 'B_Industri' is not a sector or a column of the stacks"):
        assemble(with_stacks(tmp_path, ",NO [mol/s]", f"{INLAND},1", scale={"NO/B_Industri": 0.5}))
    with pytest.raises(AirshedError, match=r"emissions.stacks.file = 'other.csv': there is no such file"):
        assemble(with_stacks(tmp_path, ",NO [mol/s]", f"{INLAND},1", stacks=[{"file": "other.csv"}]))


def test_stacks_on_a_map_projection_are_in_the_cells_that_contain_them(tmp_path: Path) -> None:
    table(tmp_path, f"{PLANT},3", more=",TRACER [mol/s]")
    lambert = {"kind": "lambert", "parallels": [40, 56], "lon": 5, "lat": 50}
    parts = assemble(
        airshed.Case.from_dict({
            "grid": {"projection": lambert, "spacing": "50 km", "layers": ["100 m", "300 m", "1000 m", "3000 m"],
                     "area": {"x": ["-200 km", "200 km"], "y": ["-200 km", "200 km"]}},
            "time": {"start": "2022-06-01T00:00:00Z", "length": "1 h"}, "chemistry": {"mechanism": "tracer"},
            "meteorology": {"kind": "uniform", "eastward": "5 m/s"}, "emissions": {"stacks": [{"file": "stacks.csv"}]},
        }, base=tmp_path)
    )  # fmt: skip
    (stacks,) = parts.sources
    rate = stacks.rate(0.0).sum(axis=(0, 1))
    ((row, column),) = np.argwhere(rate)
    assert rate[row, column] == pytest.approx(3.0, rel=1e-14)
    assert parts.grid.lon[row, column] == pytest.approx(6.6, abs=0.36)
    assert parts.grid.lat[row, column] == pytest.approx(51.0, abs=0.24)


@pytest.mark.standard
def test_a_run_emits_the_table_and_its_gradient_is_that_of_scaled_runs(tmp_path: Path) -> None:
    """Compare contributions by sector with runs whose factor on the sector is a little larger."""
    lines = f"{INLAND},A,2,1", f"{INLAND},B,1,3"

    def case(**scale: float) -> airshed.Case:
        return with_stacks(tmp_path, ",sector,NO [mol/s],VOC [mol/s]", *lines, scale=scale)

    receptor = {"species": "O3", "lon": 7.5, "lat": 50.5, "time": "1 h"}
    found = sensitivity(case(), receptor, allow_code=True)
    rows = found.isel(source=found.source == "stacks")
    values = {"A_PublicPower": [], "B_Industry": []}
    for factor in (1.0 - CHANGE, 1.0 + CHANGE):
        for sector, each in values.items():
            with airshed.Simulation(case(**{sector: factor})) as simulation:
                simulation.run()
                each.append(float(simulation["O3"].sel(lon=7.5, lat=50.5, level=0.0, method="nearest")))
                budget = simulation.budget()
                assert float(budget["emitted"].sel(species="VOC")) > 0.0
                assert np.all(np.abs(budget["residual"]) < 1e-12 * budget["throughput"])
    for sector, (low, high) in values.items():
        by_sector = float(rows.contribution.isel(source=rows.source_sector == sector).sum())
        assert by_sector == pytest.approx((high - low) / (2.0 * CHANGE), rel=1e-5), sector
        assert by_sector != 0.0
