"""The reference implementation against hand-computed figures."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.kernels.column.reference import (
    Column,
    Implicit,
    OperatorInputs,
    column_rates,
    gauss_seidel,
    rate_constants,
    solve_columns,
)
from airshed.kernels.transport.reference import (
    ALPHA,
    BETA,
    AirFluxes,
    BoundaryValues,
    air_tendency,
    face_value,
    flux_along,
    transport,
)
from airshed.mechanism import load_mechanism


def value(before: float, upstream: float, downstream: float) -> float:
    return float(face_value(np.array(before), np.array(upstream), np.array(downstream), ALPHA, BETA))


def test_face_values_by_hand() -> None:
    assert value(1.0, 2.0, 3.0) == pytest.approx(2.5)  # linear: half way
    assert value(0.0, 1.0, 4.0) == pytest.approx(1.0 + 1.0)  # (2 * 3 + 1)/6 = 7/6, more than the difference before: 1
    assert value(0.0, 3.0, 4.0) == pytest.approx(3.0 + 5.0 / 6.0)  # (2 * 1 + 3)/6
    assert value(0.0, 9.0, 10.0) == pytest.approx(9.0 + 1.0)  # (2 * 1 + 9)/6 = 11/6, more than the difference behind
    assert value(0.0, 2.0, 1.0) == 2.0  # an extremum
    assert value(5.0, 5.0, 1.0) == 5.0


def test_a_parabola_is_met_exactly() -> None:
    """The mean of x^2 over cells of length one gives the value of x^2 at a face: third order."""
    faces = np.arange(3.0, 8.0)
    means = np.diff(faces**3) / 3.0
    assert value(*means[:3]) == pytest.approx(faces[2] ** 2)


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3))
def test_face_values_lie_between_the_cells(cells: list[float]) -> None:
    _, upstream, downstream = cells
    low, high = sorted((upstream, downstream))
    slack = 1e-9 * (1.0 + max(map(abs, cells)))
    assert low - slack <= value(*cells) <= high + slack


def test_the_order_of_fluxes_is_three_where_smooth() -> None:
    errors = []
    for cells in (40, 80):
        width = 1.0 / cells
        faces = np.arange(-2, cells + 3) * width
        means = np.diff(np.exp(faces)) / width
        flux = flux_along(means, np.ones(cells + 1))
        errors.append(np.abs(flux - np.exp(faces[2:-2])).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(3.0, abs=0.1)


def test_transport_by_hand() -> None:
    """Two cells and a wind of 2 mol/s to the east, with inflow of 0.5; the face between uses the western cell."""
    q = np.array([1.0, 3.0]).reshape(1, 1, 1, 2)
    air = AirFluxes(np.full((1, 1, 3), 2.0), np.zeros((1, 2, 2)), np.zeros((1, 1, 2)))
    moved = transport(q, air, BoundaryValues(np.full((1, 1), 0.5), np.zeros(1)), np.full((1, 4), 1.0))
    face = 1.0 + min(2.0, 0.5, 2.0 / 3.0 + 0.5 / 6.0)
    np.testing.assert_allclose(moved.tendency.ravel(), [2.0 * (0.5 - face), 2.0 * (face - 3.0)])
    assert moved.inflow == pytest.approx(1.0)
    assert moved.outflow == pytest.approx(6.0)


def test_turning_the_area_turns_the_result() -> None:
    random = np.random.default_rng(3)
    q = random.uniform(size=(2, 3, 5, 7))
    air = AirFluxes(random.normal(size=(3, 5, 8)), random.normal(size=(3, 6, 7)), random.normal(size=(3, 5, 7)))
    around, weights = BoundaryValues(random.uniform(size=(2, 3)), random.uniform(size=2)), np.full((3, 4), 0.25)
    there = transport(q, air, around, weights)
    mirrored = AirFluxes(-air.eastward[..., ::-1], air.northward[..., ::-1], air.upward[..., ::-1])
    np.testing.assert_allclose(transport(q[..., ::-1], mirrored, around, weights).tendency, there.tendency[..., ::-1])
    turned = AirFluxes(*(np.swapaxes(f, 1, 2) for f in (air.northward, air.eastward, air.upward)))
    swapped = transport(np.swapaxes(q, 2, 3), turned, around, weights)
    np.testing.assert_allclose(swapped.tendency, np.swapaxes(there.tendency, 2, 3))


def test_of_ones_transport_is_that_of_air() -> None:
    random = np.random.default_rng(4)
    air = AirFluxes(random.normal(size=(3, 5, 8)), random.normal(size=(3, 6, 7)), random.normal(size=(3, 5, 7)))
    moved = transport(np.ones((1, 3, 5, 7)), air, BoundaryValues(np.ones((1, 3)), np.ones(1)), np.full((3, 4), 0.25))
    np.testing.assert_allclose(moved.tendency[0], air_tendency(air), atol=1e-14)


NONE = np.zeros((0, 1, 1, 1))
NOTHING = column_rates((), (), OperatorInputs({}, {}, {}), (1, 1, 1))
"""No operators."""


def test_columns_by_hand() -> None:
    """Two levels of 2 and 4 mol of air, exchange 3 mol/s, step 1 s, loss 0.5 /s in the lower one."""
    air, exchange = np.array([2.0, 4.0]).reshape(2, 1, 1), np.array([3.0, 0.0]).reshape(2, 1, 1)
    loss, sources = np.array([0.5, 0.0]).reshape(2, 1, 1), np.array([1.0, 2.0]).reshape(2, 1, 1)
    y = solve_columns(exchange, air, loss, sources, 1.0).ravel()
    assert 2.0 * 1.5 * y[0] - 3.0 * (y[1] - y[0]) == pytest.approx(1.0)
    assert 4.0 * y[1] + 3.0 * (y[1] - y[0]) == pytest.approx(2.0)


def test_a_decay_is_backward_euler(tmp_path: Path) -> None:
    path = tmp_path / "decay.kpp"
    path.write_text("#DEFVAR\nA = IGNORE;\nB = IGNORE;\n#EQUATIONS\n<d> A = 2 B : 0.01;\n<s> B + B = A : 1e-19*M;\n")
    network = load_mechanism(path)
    one = np.ones((1, 1, 1))
    column = Column(288.0 * one, 0.0 * one, NONE, one[0], one[0])
    k = rate_constants(network, column, one, 0.2, 0.8)
    assert k.ravel() == pytest.approx([0.01, 1e-19 * 2.5e19 * 2.5e19])
    start = np.array([1.0, 0.0]).reshape(2, 1, 1, 1)
    solved = gauss_seidel(
        network, Implicit(k[:1].repeat(2, axis=0) * [[[[1.0]]], [[[0.0]]]], one, start, start, 50.0, NONE, NOTHING),
        order=(0, 1), sweeps=1, emitted=(),
    )  # fmt: skip
    assert solved.q.ravel() == pytest.approx([1.0 / 1.5, 2.0 * 50.0 * 0.01 / 1.5])
    assert solved.chemistry * 50.0 == pytest.approx([-1.0 / 3.0, 2.0 / 3.0])


def test_what_is_clipped_is_told() -> None:
    network = load_mechanism("tracer")
    one = np.ones((1, 1, 1))
    content = np.array([-0.5, 2.0]).reshape(2, 1, 1, 1)
    solved = gauss_seidel(
        network, Implicit(NONE, 2.0 * one, content, 0.0 * content, 1.0, NONE, NOTHING),
        order=(0, 1), sweeps=1, emitted=(),
    )  # fmt: skip
    assert solved.q.ravel() == pytest.approx([0.0, 1.0])
    assert solved.clipped == pytest.approx([0.5, 0.0])
