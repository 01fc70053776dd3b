"""The transport study: properties of flows and diagnostics, and agreement of the text with the figures."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.constants import EARTH_RADIUS
from airshed.grid import Grid
from airshed.verify.transport import driven
from airshed.verify.transport.driven import squeezing_winds
from airshed.verify.transport.plane import shapes as plane_shapes
from airshed.verify.transport.sphere import (
    FLOWS,
    LENGTH,
    TRACERS,
    Mixing,
    correlated,
    deformation,
    distance_from_curve,
    rotated,
    solid,
    unit_vector,
)

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "validation" / "transport"
DAY = LENGTH / 5.0


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)


def figures(part):
    return json.loads((STUDY / f"{part}.json").read_text(encoding="utf-8"))


# ---- flows and shapes ------------------------------------------------------------------------------------------------


def wind_of(stream, lon, lat, time):
    """Return the wind of a stream function by central differences, in Earth radii per day."""
    h = 1e-5
    u = -(stream(lon, lat + h, time) - stream(lon, lat - h, time)) / (2.0 * h)
    v = (stream(lon + h, lat, time) - stream(lon - h, lat, time)) / (2.0 * h) / np.cos(lat)
    return u / EARTH_RADIUS**2 * DAY, v / EARTH_RADIUS**2 * DAY


POINTS = np.meshgrid(np.linspace(0.3, 6.0, 7), np.linspace(-1.4, 1.4, 7))


@pytest.mark.parametrize("time", [0.0, 0.3, 0.8])
def test_the_vortices_are_those_of_nair_and_lauritzen(time):
    lon, lat = POINTS
    turned = np.cos(np.pi * time)
    u, v = wind_of(deformation(2.4, 0.5), lon, lat, time)
    np.testing.assert_allclose(u, 2.4 * np.sin(lon / 2) ** 2 * np.sin(2 * lat) * turned, atol=1e-8)
    np.testing.assert_allclose(v, 1.2 * np.sin(lon) * np.cos(lat) * turned, atol=1e-8)
    u, v = wind_of(deformation(2.0, 1.0), lon, lat, time)
    np.testing.assert_allclose(u, 2.0 * np.sin(lon) ** 2 * np.sin(2 * lat) * turned, atol=1e-8)
    np.testing.assert_allclose(v, 2.0 * np.sin(2 * lon) * np.cos(lat) * turned, atol=1e-8)


def test_a_drift_moves_vortices_and_air_equally():
    lon, lat = POINTS
    drift, time = 2.0 * np.pi, 0.7
    u, v = wind_of(deformation(2.0, 1.0, drift), lon, lat, time)
    still_u, still_v = wind_of(deformation(2.0, 1.0), lon - drift * (time - 0.5), lat, time)
    np.testing.assert_allclose(u, still_u + drift / 5.0 * np.cos(lat), atol=1e-8)
    np.testing.assert_allclose(v, still_v, atol=1e-8)


def test_a_solid_rotation_moves_as_the_exact_solution_does():
    axis, angle, step = (0.4, 0.9), 1.3, 1e-4
    lon, lat = POINTS
    u, v = (each * 5.0 / angle for each in wind_of(solid(axis, angle), lon, lat, 0.0))  # in radians per unit of time
    moved = rotated(unit_vector(lon, lat), axis, step)
    towards = unit_vector(lon + step * u / np.cos(lat), lat + step * v)
    assert np.abs(moved - towards).max() < 100.0 * step**2


def test_a_divergent_wind_compresses_air_and_crosses_no_boundary():
    grid = Grid.regular((0.0, 360.0), (-90.0, 90.0), 10.0, [1.0])
    u, v = squeezing_winds(grid)
    assert np.abs(np.diff(u, axis=2) + np.diff(v, axis=1)).max() > 1e-3
    for side in (u[..., 0], u[..., -1], v[:, 0], v[:, -1]):
        assert np.abs(side).max() < 1e-15


@pytest.mark.parametrize("name", FLOWS)
def test_shapes_lie_in_their_region_and_in_their_range(name):
    flow = FLOWS[name]
    grid = Grid.regular(*flow.area, 2.0, [1.0])
    for turned in (0.0, 1.0):
        hills, bells, tied, cylinders, uniform = flow.exact(grid, turned)
        assert 0.1 <= bells.min() < 0.1 + 1e-12
        assert 0.85 < bells.max() <= 1.0
        assert set(np.unique(cylinders).round(12)) == {0.1, 1.0}
        np.testing.assert_array_equal(tied, correlated(bells))
        assert hills.max() > 0.8
        assert np.all(uniform == 1.0)


def test_the_result_of_a_reversing_flow_does_not_depend_on_a_rotation():
    """The exact end of the oblique path is the same shapes around the rotated centre."""
    flow = FLOWS["slant"]
    grid = Grid.regular(*flow.area, 1.0, [1.0])
    hills = flow.exact(grid, 1.0)[0]
    row, column = np.unravel_index(hills.argmax(), hills.shape)
    end = rotated(unit_vector(*flow.centres[0])[:, None, None], flow.axis, flow.angle)[:, 0, 0]
    assert grid.y[row] == pytest.approx(np.degrees(np.arcsin(end[2])), abs=1.0)
    assert grid.x[column] == pytest.approx(np.degrees(np.arctan2(end[1], end[0])), abs=1.0)
    assert abs(flow.centres[0][0] + np.radians(grid.x[column])) < 0.02  # it leaves where it entered


# ---- mixing and filaments --------------------------------------------------------------------------------------------


@given(st.floats(0.05, 1.05), st.floats(0.05, 0.95))
def test_the_distance_from_the_curve_is_the_shortest(bells, tied):
    curve = np.linspace(0.1, 1.0, 20001)
    brute = np.hypot((bells - curve) / 0.9, (tied - correlated(curve)) / 0.792).min()
    assert distance_from_curve(np.array([bells]), np.array([tied]))[0] == pytest.approx(brute, abs=3e-5)


def test_mixing_is_distinguished_from_unmixing_and_overshooting():
    area = np.ones(1)
    on = np.array([0.3])
    assert Mixing.of(on, correlated(on), area) == Mixing(pytest.approx(0.0, abs=1e-12), 0.0, 0.0)
    chord = np.array([0.55]), np.array([0.5 * (0.1 + 0.892)])
    mixed = Mixing.of(*chord, area)
    assert mixed.real > 0.05
    assert (mixed.unmixing, mixed.overshooting) == (0.0, 0.0)
    unmixed = Mixing.of(np.array([0.9]), np.array([0.8]), area)
    assert unmixed.unmixing > 0.1
    assert (unmixed.real, unmixed.overshooting) == (0.0, 0.0)
    assert Mixing.of(np.array([0.05]), np.array([0.89]), area).overshooting > 0.0


def test_filaments_are_complete_at_the_start_and_zero_for_a_flat_field(study):
    from validation.transport.sphere import filaments

    start = np.linspace(0.1, 1.0, 10)
    np.testing.assert_array_equal(filaments(start, start, np.ones(1), (0.1, 0.5, 1.0)), 100.0)
    assert filaments(start, np.full(10, 0.5), np.ones(1), (0.5, 0.9)).tolist() == [pytest.approx(1000.0 / 6.0), 0.0]
    assert filaments(start, start, np.ones(1), (1.5,)).tolist() == [0.0]


# ---- the largest step ------------------------------------------------------------------------------------------------


def test_the_linear_limit_is_that_of_the_scheme_without_limiter(study):
    from validation.transport import limits

    assert limits.linear_limit() == pytest.approx(0.4617, abs=1e-3)


def test_bisection_finds_where_a_row_of_cells_stops_being_positive_bounded_and_stable(study):
    from validation.transport import limits

    found = limits.largest(driven.row(80), halvings=5)
    assert found["positive"]["smooth"] == pytest.approx(0.46, abs=0.05)
    assert found["stable"]["rough"] == pytest.approx(0.66, abs=0.05)
    assert found["positive"]["rough"] <= found["bounded"]["rough"] <= found["stable"]["rough"]


@pytest.mark.parametrize("number", range(4))
def test_every_flow_has_a_courant_number_of_one_and_conserves_air(study, number):
    from validation.transport import limits

    bench = limits.BENCHES[number]()
    x, y, z = bench.fluxes.eastward, bench.fluxes.northward, bench.fluxes.upward
    divergence = np.diff(x, axis=2) + np.diff(y, axis=1) + np.diff(z, axis=0, prepend=0.0)
    assert np.abs(divergence).max() < 1e-12
    assert np.abs(z[-1]).max() < 1e-12


# ---- stored results --------------------------------------------------------------------------------------------------


def test_the_text_agrees_with_the_figures(study):
    from validation.transport import report

    assert (STUDY / "README.md").read_text(encoding="utf-8") == report.text()


def test_figures_on_the_sphere_cover_all_flows_at_three_resolutions():
    sphere = figures("sphere")
    assert set(sphere) == {*FLOWS, "squeezed"}
    for result in sphere.values():
        assert len(result["runs"]) == 3
        for run in result["runs"]:
            assert max(run["mass"], run["uniform"]) < 1e-11
            assert run["new_extreme"] < 1e-9
            assert set(run["errors"]) == set(TRACERS) - {"UNIFORM"}
        finest = result["runs"][-1]["errors"]
        assert finest["HILLS"]["order_l1"] > 1.5


def comparison_flow():
    from validation.transport.comparison import Flow

    return Flow("swirl", 10, 0.8)


def upwind(cells, steps, q, x, y):
    """Transport a shape by the first-order upwind scheme, independently of the code under test."""
    for _ in range(steps):
        padded = np.pad(q, 1)
        east = np.maximum(x, 0.0) * padded[1:-1, :-1] + np.minimum(x, 0.0) * padded[1:-1, 1:]
        north = np.maximum(y, 0.0) * padded[:-1, 1:-1] + np.minimum(y, 0.0) * padded[1:, 1:-1]
        q = q - np.diff(east, axis=1) - np.diff(north, axis=0)
    return q


def test_the_comparison_gave_both_schemes_the_same_flow(study):
    """MPDATA with one pass is the upwind scheme: the stored result agrees with a few lines of NumPy."""
    from validation.transport.comparison import Flow

    flow = Flow("rotation", 50, 0.4)
    (written,) = (
        run
        for run in figures("comparison")["flows"]["rotation"]
        if run["cells"] == 50 and run["courant"] == 0.4 and "1 pass" in run["scheme"]
    )
    assert written["steps"] == flow.steps
    for shape, exact in zip(written["errors"].values(), plane_shapes(50), strict=True):
        field = upwind(50, flow.steps, exact, flow.x, flow.y)
        assert shape["l1"] == pytest.approx(np.abs(field - exact).sum() / exact.sum(), rel=2e-2)


PYMPDATA = """
import sys
import numpy as np
from validation.transport.comparison import Flow, Mpdata
from airshed.verify.transport.plane import shapes
flow = Flow("swirl", 10, 0.8)
np.save(sys.argv[1], Mpdata(n_iters=1)(flow, shapes(10)[1])[0])
"""


@pytest.mark.thorough
def test_one_pass_of_pympdata_is_the_upwind_scheme(study, tmp_path):
    """This runs the package itself, through the study, without compilation, which would take a minute."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-c", PYMPDATA, str(tmp_path / "field.npy")]
    subprocess.run(command, check=True, env=environment, cwd=tmp_path)
    flow, q = comparison_flow(), plane_shapes(10)[1]
    for step in range(flow.steps):
        factor = flow.factor(step + 0.5)
        q = upwind(10, 1, q, factor * flow.x, factor * flow.y)
    np.testing.assert_allclose(np.load(tmp_path / "field.npy"), q, atol=1e-12)


def test_a_courant_number_is_counted_as_the_model_does():
    assert math.isclose(driven.row(10).fluxes.eastward.max(), 1.0)
