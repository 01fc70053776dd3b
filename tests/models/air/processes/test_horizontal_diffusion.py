"""Exchange between columns by hand, against diffusion that is known, and on any tiling; deformation of known flows."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.constants import EARTH_RADIUS
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.processes import horizontal_diffusion as diffusion
from airshed.models.air.weather.diagnose import air_fluxes

Array = npt.NDArray[np.float64]
GRID = Grid.regular((0, 6), (48, 51), 0.5, [20.0, 100.0, 500.0])
NZ, ROWS, COLUMNS = GRID.shape
DENSITY = 30.0 + 10.0 * np.random.default_rng(1).random(GRID.shape)


def made_up_winds(grid: Grid = GRID) -> tuple[Array, Array]:
    random = np.random.default_rng(2)
    nz, rows, columns = grid.shape
    return 20.0 * random.random((nz, rows, columns + 1)) - 10.0, 20.0 * random.random((nz, rows + 1, columns)) - 10.0


def on_faces(grid: Grid, u: Array, v: Array) -> tuple[Array, Array]:
    """Winds (lat, lon_face), (lat_face, lon) at all levels."""
    nz, rows, columns = grid.shape
    east = np.broadcast_to(u, (nz, rows, columns + 1)).copy()
    return east, np.broadcast_to(v, (nz, rows + 1, columns)).copy()


def tendency(q: Array, west: Array, south: Array) -> Array:
    """Return the convergence of the diffusive flux in cells [mol/s]; D is 0 at the edges of the grid."""
    wide, tall = np.pad(q, ((0, 0), (0, 0), (1, 1))), np.pad(q, ((0, 0), (1, 1), (0, 0)))
    along, across = west * np.diff(wide, axis=2), south * np.diff(tall, axis=1)
    return np.diff(along, axis=2) + np.diff(across, axis=1)


def test_exchange_by_hand() -> None:
    """n K dz L / d: at 50 N, 0.5 degrees, the face is R dlat long and the distance of centres is R cos(lat) dlon."""
    grid = Grid.regular((0, 1), (49.5, 50.5), 0.5, [20.0])
    west, south = diffusion.face_exchange(grid, np.full(grid.shape, 40.0), 500.0)
    assert west.shape == (1, 2, 3)
    assert south.shape == (1, 3, 2)
    assert west[0, 0, 1] == pytest.approx(40.0 * 500.0 * 20.0 / np.cos(np.radians(49.75)), rel=1e-12)
    assert south[0, 1, 0] == pytest.approx(40.0 * 500.0 * 20.0 * np.cos(np.radians(50.0)), rel=1e-12)
    assert not west[..., [0, 2]].any(), "nothing passes the edges"
    assert not south[:, [0, 2]].any()


def test_it_conserves_and_keeps_uniform_air() -> None:
    west, south = diffusion.face_exchange(GRID, DENSITY, 1e4 * np.random.default_rng(3).random(GRID.shape))
    q = np.random.default_rng(4).random(GRID.shape)
    change = tendency(q, west, south)
    assert abs(change.sum()) < 1e-12 * np.abs(change).sum()
    assert not tendency(np.ones(GRID.shape), west, south).any()
    assert change.any()


def test_a_wave_decays_as_it_should() -> None:
    """cos(m lon) at the equator decays with K (m / R)^2; second order, so that half the spacing errs a quarter."""
    errors = []
    for spacing in (2.0, 1.0):
        grid = Grid.regular((0, 180), (-spacing / 2, spacing / 2), spacing, [100.0])
        density = np.full(grid.shape, 40.0)
        west, south = diffusion.face_exchange(grid, density, 1e4)
        q = np.broadcast_to(np.cos(4.0 * np.radians(grid.x)), grid.shape)
        rate = -tendency(q, west, south) / (density * grid.cell_volume)
        exact = 1e4 * (4.0 / EARTH_RADIUS) ** 2
        errors.append(float(np.abs(rate / exact - q)[..., 5:-5].max()))
    assert errors[0] < 2e-3
    assert errors[1] < 0.3 * errors[0]


def test_calm_and_solid_turning_have_no_deformation() -> None:
    """u = omega R cos(lat) turns with the Earth's shape: D_S = cos d(u/cos)/dy = 0."""
    calm = diffusion.deformation(GRID, *on_faces(GRID, np.zeros((1, 1)), np.zeros((1, 1))))
    assert not calm.any()
    solid = 10.0 * np.cos(np.radians(GRID.y))[:, None]
    assert diffusion.deformation(GRID, *on_faces(GRID, solid, np.zeros((1, 1)))).max() < 1e-18
    uniform = diffusion.deformation(GRID, *on_faces(GRID, np.full((1, 1), 10.0), np.zeros((1, 1))))
    assert uniform.max() == pytest.approx(10.0 * np.tan(np.radians(50.75)) / EARTH_RADIUS, rel=0.02), "it would be seen"


def test_shear_and_stretching_by_hand() -> None:
    """Near the equator: u = a y has D_S = a, v = b x too, u = a x and v = -a y have D_T = 2 a."""
    grid = Grid.regular((0, 1), (-0.5, 0.5), 0.1, [100.0])
    x, y = (np.radians(each) * EARTH_RADIUS for each in (grid.x, grid.y))
    x_faces, y_faces = (np.radians(each) * EARTH_RADIUS for each in (grid.x_faces, grid.y_faces))
    flows = {
        "shear of u": (1e-4 * y[:, None], np.zeros((1, 1)), 1e-4),
        "shear of v": (np.zeros((1, 1)), 2e-4 * x[None, :], 2e-4),
        "stretching": (1e-4 * x_faces[None, :], -1e-4 * y_faces[:, None], 2e-4),
        "widening": (1e-4 * x_faces[None, :], 1e-4 * y_faces[:, None], 0.0),
    }
    for name, (u, v, rate) in flows.items():
        found = diffusion.deformation(grid, *on_faces(grid, u, v))
        np.testing.assert_allclose(found, rate, rtol=1e-3, atol=3e-8, err_msg=name)


def test_smagorinsky_by_hand_and_its_bounds() -> None:
    """(0.28)^2 area 1e-4 1/s of a cell of 0.5 degrees at 48.25 N: 0.0784 55.60e3 37.02e3 1e-4 = 16.1e3 m2/s."""
    found = diffusion.smagorinsky(GRID, np.full(GRID.shape, 1e-4))
    assert found[0, 0, 0] == pytest.approx(16.1e3, rel=3e-3)
    assert diffusion.smagorinsky(GRID, np.zeros(GRID.shape)).max() == 10.0
    assert diffusion.smagorinsky(GRID, np.ones(GRID.shape)).min() == 1e5
    assert diffusion.smagorinsky(GRID, np.zeros(GRID.shape), minimum=0.0).max() == 0.0


def test_winds_come_back_from_the_air_fluxes() -> None:
    u, v = made_up_winds()
    found = diffusion.face_winds(GRID, DENSITY, *air_fluxes(GRID, DENSITY, u, v))
    np.testing.assert_allclose(found[0], u, rtol=1e-14)
    np.testing.assert_allclose(found[1], v, rtol=1e-14)


def test_a_pole_is_no_trouble() -> None:
    grid = Grid.regular((0, 40), (80, 90), 2.0, [100.0])
    u, v = made_up_winds(grid)
    density = np.full(grid.shape, 40.0)
    winds = diffusion.face_winds(grid, density, *air_fluxes(grid, density, u, v))
    rate = diffusion.deformation(grid, *winds)
    assert np.all(np.isfinite(rate))
    west, south = diffusion.face_exchange(grid, density, diffusion.smagorinsky(grid, rate))
    assert np.all(np.isfinite(west))
    assert not south[:, -1].any()


def exchange_of(grid: Grid, density: Array, east: Array, north: Array) -> tuple[Array, Array]:
    winds = diffusion.face_winds(grid, density, east, north)
    return diffusion.face_exchange(grid, density, diffusion.smagorinsky(grid, diffusion.deformation(grid, *winds)))


def in_a_tile(tile: Window, margin: int) -> tuple[Array, Array]:
    """Return the exchange at the faces of a tile, from the fields of a rank with a margin of columns on each side."""
    wider = tile.grown(margin, ROWS, COLUMNS)
    east, north = air_fluxes(GRID, DENSITY, *made_up_winds())
    given_here = (
        np.ascontiguousarray(wider.of(DENSITY)),
        np.ascontiguousarray(wider.of_faces(east, "x")),
        np.ascontiguousarray(wider.of_faces(north, "y")),
    )
    west, south = exchange_of(GRID.part(wider), *given_here)
    inner = tile.within(wider)
    return inner.of_faces(west, "x"), inner.of_faces(south, "y")


def same_bits(tile: Window, margin: int) -> bool:
    west, south = exchange_of(GRID, DENSITY, *air_fluxes(GRID, DENSITY, *made_up_winds()))
    whole = tile.of_faces(west, "x"), tile.of_faces(south, "y")
    return all(
        np.ascontiguousarray(part).tobytes() == np.ascontiguousarray(of_whole).tobytes()
        for part, of_whole in zip(in_a_tile(tile, margin), whole, strict=True)
    )


@given(st.integers(0, ROWS - 1), st.integers(1, ROWS), st.integers(0, COLUMNS - 1), st.integers(1, COLUMNS))
def test_a_tile_with_its_margin_has_the_bits_of_the_whole(south: int, rows: int, west: int, columns: int) -> None:
    tile = Window(south, min(south + rows, ROWS), west, min(west + columns, COLUMNS))
    assert same_bits(tile, diffusion.MARGIN)


def test_a_narrower_margin_is_not_enough() -> None:
    assert not same_bits(Window(2, 4, 3, 7), diffusion.MARGIN - 1)


def test_a_step_as_long_as_the_rate_allows_keeps_tracers_positive() -> None:
    west, south = diffusion.face_exchange(GRID, DENSITY, 1e5)
    air = DENSITY * GRID.cell_volume
    rate = diffusion.outflow_rate(west, south, air)
    q = (np.random.default_rng(7).random(GRID.shape) > 0.8).astype(float)
    after = q + tendency(q, west, south) / air / rate.max()
    assert after.min() >= -1e-15
    assert (q + 1.5 * tendency(q, west, south) / air / rate.max()).min() < 0.0, "a longer one does not"


def test_a_single_column_exchanges_nothing() -> None:
    grid = Grid.regular((0, 1), (50, 51), 1.0, [20.0, 100.0])
    u, v = made_up_winds(grid)
    west, south = exchange_of(grid, np.full(grid.shape, 40.0), u, v)
    assert not west.any()
    assert not south.any()
