"""Sources that lie outside the area, wholly or in part, and longitudes a turn further."""

import numpy as np
import pytest
import xarray as xr
from tests.models.air.emissions.gridded_files import gridded

from airshed.core.errors import CaseError, DataError
from airshed.grid import Grid
from airshed.models.air.case import Case
from airshed.models.air.emissions import AreaEmissions, AreaSource, PointEmissions, PointSource
from airshed.models.air.emissions.report import emission_notes, emission_notices

GRID = Grid.regular((1.0, 9.0), (46.0, 54.0), 1.0, [20.0])
START = np.datetime64("2022-08-31T00:00:00")


def field(lon: np.ndarray, lat: np.ndarray | None = None, units: str = "mol s-1") -> xr.Dataset:
    rows = np.arange(45.5, 55.0) if lat is None else lat
    ones = np.ones((len(rows), len(lon)))
    return xr.Dataset({"CO": (("lat", "lon"), ones, {"units": units})}, {"lat": rows, "lon": lon})


@pytest.mark.parametrize(
    ("lon", "lat", "hint"),
    [
        (np.arange(30.5, 40.0), None, "30.5 to 39.5 E, 45.5 to 54.5 N, the area is 1 to 9 E, 46 to 54 N$"),
        (-np.arange(2.5, 9.0), None, "-8.5 to -2.5 E"),
        (np.arange(0.5, 10.0), -np.arange(45.5, 55.0), "-54.5 to -45.5 N"),
        (np.arange(45.5, 55.0), np.arange(0.5, 10.0), "are its lat and lon exchanged"),
        (np.arange(190.5, 200.0), None, "-169.5 to -160.5 E"),
    ],
    ids=["elsewhere", "west for east", "south for north", "exchanged", "the other side"],
)
def test_a_file_that_lies_outside_is_refused_with_both_extents(
    lon: np.ndarray, lat: np.ndarray | None, hint: str
) -> None:
    with pytest.raises(DataError, match=r"lies outside the area: it covers .*, the area is 1 to 9 E") as refusal:
        gridded(field(lon, lat), GRID, START)
    assert refusal.match(hint)


def test_what_a_file_does_not_cover_and_what_of_it_lies_outside_is_noted() -> None:
    with pytest.raises(DataError, match=r"covers only 50 % of the area: 0.5 to 4.5 E.* of 1 to 9 E.*partial = true"):
        gridded(field(np.arange(0.5, 5.0)), GRID, START)
    half = gridded(field(np.arange(0.5, 5.0)), GRID, START, partial=True)
    covered, outside = emission_notices([half])
    assert "covers 50 % of the area: 0.5 to 4.5 E, 45.5 to 54.5 N of 1 to 9 E, 46 to 54 N" in covered
    assert "outside the area are 36 % of CO" in outside  # a fifth of the columns, and a fifth of the rows of the rest
    assert emission_notes([half]) == half.notices()
    for lon in (np.arange(0.5, 10.0), np.arange(360.5, 370.0), np.arange(9.5, 0.0, -1.0), np.arange(-179.5, 180.0)):
        assert gridded(field(lon), GRID, START).notices() == []


def test_a_file_that_emits_nothing_in_the_area_is_noted() -> None:
    data = field(np.arange(-20.5, 20.0))
    far = data.copy(data={"CO": np.where(data.lon.values < -5.0, data.CO.values, 0.0)})
    assert "all of its emission is outside" in gridded(far, GRID, START).notices()[0]
    nothing = data.copy(data={"CO": 0.0 * data.CO.values})
    assert "all of its values are 0" in gridded(nothing, GRID, START).notices()[0]


def test_the_outside_part_of_an_area_source_is_noted() -> None:
    source = AreaEmissions([AreaSource((-3.0, 5.0), (47.0, 50.0), {"CO": 1.0})], GRID)
    (note,) = emission_notices([source])
    assert note == "emission: area source -3 to 5 E, 47 to 50 N: 50 % of it is outside the area"
    assert AreaEmissions([AreaSource((2.0, 5.0), (47.0, 50.0), {"CO": 1.0})], GRID).notices() == []


def case(edges: list[float], **emissions: list[dict[str, object]]) -> Case:
    return Case.from_dict({
        "grid": {"area": {"lon": edges, "lat": [46, 54]}, "spacing": "1 deg", "layers": ["20 m"]},
        "time": {"start": "2022-08-31T00:00:00Z", "length": "1 h"}, "chemistry": {"mechanism": "tracer"},
        "emissions": emissions,
    })  # fmt: skip


@pytest.mark.parametrize(
    ("area", "lon"),
    [
        ((175, 190), 185.0),
        ((175, 190), -175.0),
        ((-10, 10), 355.0),
        ((350, 360), -5.0),
        ((350, 370), 5.0),
        ((350, 370), -5.0),
    ],
)
def test_sources_lie_in_the_area_whatever_turn_their_longitude_has(area: tuple[float, float], lon: float) -> None:
    grid = Grid.regular(area, (46.0, 54.0), 1.0, [20.0])
    point = PointEmissions([PointSource("CO", lon, 50.5, 0.0, 2.0)], grid).rate(0.0)
    column = int(np.flatnonzero(point.sum(axis=(0, 1, 2)))[0])
    assert (grid.x_faces[column] - lon) % 360.0 == 0.0
    box = AreaEmissions([AreaSource((lon - 1.5, lon + 1.5), (50.0, 51.0), {"CO": 1.0})], grid).rate(0.0)
    whole = AreaEmissions([AreaSource((lon - 1.5, lon + 1.5), (50.0, 51.0), {"CO": 1.0})],
                          Grid.regular((lon - 5.0, lon + 5.0), (46.0, 54.0), 1.0, [20.0])).rate(0.0)  # fmt: skip
    assert box.sum() == pytest.approx(whole.sum())
    case(list(area), point=[{"species": "TRACER", "lon": lon, "lat": 50.5, "rate": "1 mol/s"}])
    case(list(area), area=[{"lon": [lon - 1.5, lon + 1.5], "lat": [50, 51], "rates": {"TRACER": "1 mol/m2/s"}}])


def test_a_source_outside_is_refused_by_the_case() -> None:
    for lon in (30.0, 195.0, -150.0):
        with pytest.raises(CaseError, match=r"emissions.point.0 at .* lies outside grid.area"):
            case([175, 190], point=[{"species": "TRACER", "lon": lon, "lat": 50.5, "rate": "1 mol/s"}])
        with pytest.raises(CaseError, match=r"emissions.area.0 lies outside grid.area"):
            case([175, 190], area=[{"lon": [lon, lon + 1], "lat": [50, 51], "rates": {"TRACER": "1 mol/m2/s"}}])


@pytest.mark.parametrize("area", [(-180.0, 180.0), (0.0, 360.0), (350.0, 370.0), (175.0, 190.0)])
@pytest.mark.parametrize("first", [0.0, 0.5, -180.0, -179.5])
def test_a_file_of_the_whole_circle_has_no_seam(area: tuple[float, float], first: float) -> None:
    grid = Grid.regular(area, (46.0, 54.0), 1.0, [20.0])
    lon = first + np.arange(360.0)
    for axis in (lon, np.append(lon, first + 360.0)):
        source = gridded(field(axis, units="mol m-2 s-1"), grid, START)
        np.testing.assert_allclose(source.rate(0.0)[0, 0], np.broadcast_to(grid.cell_area, grid.shape[1:]), rtol=1e-9)
        assert source.notices() == []


def test_the_area_of_cells_is_no_emission() -> None:
    data = field(np.arange(0.5, 10.0)).assign(cell_area=field(np.arange(0.5, 10.0), units="m2").CO)
    assert gridded(data, GRID, START, ["CO"]).species == ("CO",)


def test_round_off_below_zero_is_zero() -> None:
    data = field(np.arange(0.5, 10.0))
    data.CO.values[3, 4] = -1e-9
    assert gridded(data, GRID, START).rate(0.0).min() == 0.0
    data.CO.values[3, 4] = -1e-4
    with pytest.raises(DataError, match=r"CO is -0.0001 at lat 48.5, lon 4.5, level 0"):
        gridded(data, GRID, START)
