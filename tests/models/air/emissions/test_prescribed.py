"""Emission that a user gives: fields on their own grid, points, and sums of sources."""

import numpy as np
import pytest
import xarray as xr
from tests.models.air.emissions.gridded_files import gridded

from airshed.core.errors import CaseError, DataError
from airshed.grid import Grid
from airshed.models.air.emissions import CombinedEmissions, PointEmissions, PointSource

GRID = Grid.regular((0.0, 4.0), (50.0, 52.0), 0.5, [20.0, 100.0, 1000.0])
START = np.datetime64("2022-08-31T00:00:00")


def dataset(name="CO", units="mol s-1", **axes):
    """Fields of ones inside the grid, on cells of another size."""
    coords = {**axes, "lat": np.arange(50.1, 52.0, 0.2), "lon": np.arange(0.2, 4.0, 0.4)}
    shape = [len(values) for values in coords.values()]
    return xr.Dataset({name: (list(coords), np.ones(shape), {"units": units})}, coords)


def test_amounts_are_conserved_on_the_way_to_the_grid():
    source = gridded(dataset(), GRID, START)
    assert source.species == ("CO",)
    assert source.levels == 1
    rate = source.rate(0.0)
    assert rate.shape == (1, 1, 4, 8)
    assert rate.sum() == pytest.approx(100.0, rel=1e-12)


def test_what_is_outside_is_cut_and_axes_may_come_in_any_order():
    data = dataset().assign_coords(lon=np.arange(0.2, 4.0, 0.4) + 358.0).sortby("lat", ascending=False)
    data = data.rename(lat="latitude", lon="longitude").transpose("longitude", "latitude")
    assert gridded(data, GRID, START, partial=True).rate(0.0).sum() == pytest.approx(50.0, rel=1e-12)


@pytest.mark.parametrize(
    ("units", "factor"),
    [("mol/s", 1.0), ("kg s-1", 1.0 / 0.028), ("g/h", 1.0 / 28.0 / 3600.0)],
)
def test_units_per_cell(units, factor):
    data = dataset(units=units)
    data.CO.attrs["molar_mass"] = 0.028
    assert gridded(data, GRID, START).rate(0.0).sum() == pytest.approx(100.0 * factor)


@pytest.mark.parametrize(
    ("units", "factor"), [("mol m-2 s-1", 1.0), ("kg m-2 s-1", 1.0 / 0.028), ("kg/m2/s", 1.0 / 0.028)]
)
def test_units_per_area(units, factor):
    data = dataset(units=units)
    data.CO.attrs["molar_mass"] = 0.028
    area = GRID.cell_area.sum()
    assert gridded(data, GRID, START).rate(0.0).sum() == pytest.approx(area * factor)


def test_levels_and_hours():
    data = dataset(time=START + np.array([0, 2, 4], "timedelta64[h]"), level=[0, 1])
    data["CO"] = data.CO * xr.DataArray([1.0, 2.0, 3.0], dims="time") * xr.DataArray([1.0, 10.0], dims="level")
    data["CO"].attrs["units"] = "mol s-1"
    data["NO"] = dataset("NO").NO
    source = gridded(data, GRID, START, ["NO", "CO"])
    assert source.species == ("CO", "NO")
    assert source.rate(0.0).sum(axis=(2, 3)) == pytest.approx(np.array([[100.0, 1000.0], [100.0, 0.0]]))
    assert np.array_equal(source.rate(7199.0), source.rate(0.0))
    assert source.rate(7200.0)[0, 0].sum() == pytest.approx(200.0)
    assert source.rate(6 * 3600.0 - 1.0)[0, 0].sum() == pytest.approx(300.0)
    for outside in (-1.0, 6 * 3600.0):
        with pytest.raises(DataError, match="covers 2022-08-31T00:00:00 to 2022-08-31T06:00:00 UTC"):
            source.rate(outside)


def test_a_file_is_read_like_a_dataset(tmp_path):
    dataset().to_netcdf(tmp_path / "co.nc")
    assert gridded(tmp_path / "co.nc", GRID, START).rate(0.0).sum() == pytest.approx(100.0)
    with pytest.raises(DataError, match=r"ch4.nc does not exist"):
        gridded(tmp_path / "ch4.nc", GRID, START)
    broken = tmp_path / "broken.nc"
    broken.write_bytes((tmp_path / "co.nc").read_bytes()[:3000])
    with pytest.raises(DataError, match=r"broken.nc is truncated or damaged"):
        gridded(broken, GRID, START)


def spoil(**changes):
    def change(data):
        data = data.copy(deep=True)
        if "value" in changes:
            data.CO.values[3, 2] = changes["value"]
        data.CO.attrs.update(changes.get("attributes", {}))
        return data

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (spoil(value=-1.0), "CO is -1 at lat 50.7, lon 1, level 0"),
        (spoil(value=np.nan), "CO is nan at lat 50.7, lon 1"),
        (spoil(attributes={"units": "ppb"}), "CO: units"),
        (spoil(attributes={"units": ""}), "CO has no units; add the attribute"),
        (spoil(attributes={"units": "kg m-2 month-1"}), "divide by the seconds of each month"),
        (lambda data: data.expand_dims(level=[20.0, 92.0]), "its levels are 20.0, 92.0; they must be the indices"),
        (lambda data: data.expand_dims(level=[1, 0]), "its levels are 1, 0; they must be"),
        (spoil(attributes={"units": "kg s-1", "molar_mass": 28.0}), "not 28"),
        (
            spoil(attributes={"units": "kg s-1", "molar_mass": "28 g/mol"}),
            "molar_mass must be in kg/mol.*not '28 g/mol'",
        ),
        (spoil(attributes={"units": "kg s-1", "molar_mass": [0.028, 0.03]}), "molar_mass must be in kg/mol"),
        (lambda data: data.drop_vars("lat"), "needs a coordinate 'lat'"),
        (lambda data: data.isel(lon=[0]), "needs a coordinate 'lon'"),
        (lambda data: data.rename(CO="C0"), "'C0' is not a species of the mechanism; known are CO, NO"),
        (lambda data: data.expand_dims(member=2), "has the dimension member"),
        (lambda data: data.expand_dims(level=4), "has 4 levels, but the grid has only 3 layers"),
        (lambda data: data.expand_dims(time=[1, 2]), "its times must be dates"),
        (lambda data: data.assign_coords(lat=[*data.lat.values[:-1], np.nan]), "its lat holds nan"),
        (lambda data: data.assign_coords(lon=[0.2, *data.lon.values[:-1]]), "its lon has the value 0.2 more than once"),
        (
            lambda data: data.assign_coords(lat=("lat", data.lat.values, {"units": "m"})),
            "its lat is in 'm'; give it in",
        ),
        (lambda data: data.expand_dims(time=2), "its dimension time has no values"),
        (lambda data: data.expand_dims(time=np.array(["2022-08-31", "NaT"], "M8[ns]")), "its times must be dates"),
        (lambda data: data.assign(CO=data.CO.astype(str)), "CO has values of type text"),
        (spoil(value=1e300), r"CO is 1e\+300 at lat 50.7, lon 1.*missing = .zero."),
        (spoil(value=1e14), r"CO is 1e\+14 mol/s from a cell"),
        (spoil(attributes={"units": "kg s-1", "molar_mass": "heavy"}), "not 'heavy'"),
        (lambda data: data[["lat", "lon"]], "has no variable with the dimensions"),
    ],
)
def test_faulty_fields_are_refused(change, message):
    with pytest.raises((DataError, CaseError), match=message) as caught:
        gridded(change(dataset()), GRID, START, ["CO", "NO"])
    assert len(str(caught.value).splitlines()) <= 2


def test_a_point_emits_into_the_cell_that_holds_it():
    points = [
        PointSource("tracer", 1.2, 50.7, 50.0, 3.0),
        PointSource("tracer", 361.2, 50.7, 99.0, 2.0),
        PointSource("CO", 4.0, 52.0, 0.0, 1.0),
    ]
    source = PointEmissions(points, GRID)
    assert source.species == ("tracer", "CO")
    rate = source.rate(1e6)
    assert rate.shape == (2, 2, 4, 8)
    assert rate[0, 1, 1, 2] == 5.0
    assert rate[1, 0, 3, 7] == 1.0
    assert rate.sum() == 6.0


@pytest.mark.parametrize(
    ("lon", "lat", "height", "rate", "message"),
    [
        (5.0, 51.0, 0.0, 1.0, "at 5 E, 51 N, 0 m is outside the grid"),
        (1.0, 49.9, 0.0, 1.0, "outside the grid"),
        (1.0, 51.0, 1001.0, 1.0, "up to 1000 m"),
        (1.0, 51.0, -1.0, 1.0, "height is -1"),
        (1.0, 51.0, 0.0, -1.0, "rate is -1"),
        (1.0, 51.0, 0.0, float("inf"), "rate is inf"),
    ],
)
def test_faulty_points_are_refused(lon, lat, height, rate, message):
    with pytest.raises(CaseError, match=message):
        PointEmissions([PointSource("tracer", lon, lat, height, rate)], GRID)


def test_sources_add_up():
    fields = gridded(dataset(), GRID, START)
    points = PointEmissions([PointSource("NO", 1.2, 50.7, 50.0, 3.0), PointSource("CO", 1.2, 50.7, 5.0, 7.0)], GRID)
    both = CombinedEmissions([points, fields])
    assert both.species == ("NO", "CO")
    assert both.levels == 2
    rate = both.rate(0.0)
    assert rate.shape == (2, 2, 4, 8)
    assert rate[0].sum() == 3.0
    assert rate[1].sum() == pytest.approx(107.0)
    for nothing in (CombinedEmissions, lambda sources: PointEmissions(sources, GRID)):
        with pytest.raises(CaseError, match="at least one"):
            nothing([])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.assign_coords(lat=data.lat.astype(str)), "its lat holds text, no numbers"),
        (lambda data: data.assign_coords(lon=data.lon * np.nan), "its lon holds nan"),
        (lambda data: data.assign(CO=data.CO.astype(str)), "CO has values of type text"),
    ],
)
def test_texts_for_numbers_are_refused(change, message):
    with pytest.raises(DataError, match=message):
        gridded(change(dataset()), GRID, START)


def test_a_compound_of_the_inventory_that_the_mechanism_lacks_is_left_out_and_told():
    data = dataset().assign(SO2=dataset("SO2").SO2)
    source = gridded(data, GRID, START, ["CO"], compounds=["SO2", "NO"])
    assert source.species == ("CO",)
    assert source.notices() == ["the emission dataset: no species for SO2: left out"]
    assert gridded(data, GRID, START, ["O3"], compounds=["SO2", "CO"]).species == ()
    with pytest.raises(CaseError, match="'SQ2' is not a species of the mechanism"):
        gridded(data.rename(SO2="SQ2"), GRID, START, ["CO"])


def test_a_mass_needs_the_molar_mass_of_an_unknown_substance():
    data = dataset("XYZ", units="kg s-1")
    with pytest.raises(DataError, match="XYZ is a mass: it needs the attribute molar_mass in kg/mol"):
        gridded(data, GRID, START)
    assert gridded(dataset("CO", units="kg s-1"), GRID, START, ["CO"]).rate(0.0).sum() == pytest.approx(1e5 / 28.0101)
