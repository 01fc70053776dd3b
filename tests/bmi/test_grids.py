"""BMI grids of the axes of a domain."""

import numpy as np
import pytest

from airshed.bmi.grids import grid_of
from airshed.core.errors import CaseError
from airshed.grid.axes import Axes, Coordinate

NORTH, EAST = {"units": "degrees_north"}, {"units": "degrees_east"}


def line(name: str, *values: float, width: float = 0.0) -> Coordinate:
    centres = np.array(values)
    bounds = np.stack([centres - width / 2, centres + width / 2], axis=1) if width else None
    return Coordinate(name, centres, {"units": "m"}, bounds)


@pytest.mark.parametrize(
    ("coordinate", "kind"),
    [
        (line("x", 0.0, 2.0, 4.0), "uniform_rectilinear"),
        (line("x", 0.0, 2.0, 5.0), "rectilinear"),
        (line("x", 4.0, 2.0, 0.0), "rectilinear"),
        (line("x", 3.0), "rectilinear"),
        (line("x", 3.0, width=0.5), "uniform_rectilinear"),
        (line("x", *np.linspace(100.0, 101.0, 11)), "uniform_rectilinear"),
    ],
)
def test_a_row_with_even_spacing_is_uniform(coordinate: Coordinate, kind: str) -> None:
    found = grid_of(Axes((coordinate,)), ("x",))
    assert (found.type, found.rank, found.size) == (kind, 1, len(coordinate.values))
    assert list(found.nodes) == ["x"]
    assert bool(found.spacing) == (kind == "uniform_rectilinear")


def test_packed_cells_are_points_at_their_latitude_and_longitude() -> None:
    east = Coordinate("lon", np.array([140.0, 141.0, 140.0]), EAST, dims=("cell",))
    north = Coordinate("lat", np.array([-20.0, -20.0, -21.0]), NORTH, dims=("cell",))
    soil = Coordinate("soil", np.array([1.0, 2.0, 2.0]), {}, dims=("cell",))
    found = grid_of(Axes((line("cell", 0.0, 1.0, 2.0), east, north, soil), divided=("cell",)), ("cell",))
    assert (found.type, found.rank, found.shape) == ("points", 2, (3,))
    assert found.nodes["x"].tolist() == east.values.tolist()
    assert found.nodes["y"].tolist() == north.values.tolist()


def test_four_directions_are_refused() -> None:
    axes = Axes(tuple(line(name, 0.0, 1.0) for name in ("member", "level", "lat", "lon")))
    assert grid_of(axes, ("level", "lat", "lon")).rank == 3
    with pytest.raises(CaseError, match=r"fields on \(member, level, lat, lon\) have 4 directions"):
        grid_of(axes, axes.dims)
