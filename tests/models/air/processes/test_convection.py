"""Matrix of convection: comparison with a parcel model, columns computed by hand, and conservation laws."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from airshed.models.air.processes import convection

Array = npt.NDArray[np.float64]
LEVELS = 6
SHAPE = (2, 3)


def faces(*inner: float) -> Array:
    return np.array([0.0, *inner, 0.0]).reshape(-1, 1, 1)


def fluxes(largest: float = 1.0) -> st.SearchStrategy[Array]:
    inner = arrays(np.float64, (LEVELS - 1, *SHAPE), elements=st.sampled_from([0.0, 0.0, 0.01, 0.3, 1.0, largest]))
    edge = np.zeros((1, *SHAPE))
    return inner.map(lambda values: np.concatenate([edge, values, edge]))


detrainments = st.none() | arrays(np.float64, (LEVELS, *SHAPE), elements=st.floats(0.0, 0.5))


def off_diagonal(matrix: Array) -> Array:
    other = matrix.copy()
    levels = np.arange(matrix.shape[0])
    other[levels, levels] = 0.0
    return other


def one_plume(matrix: Array, flux: Array, given_detrainment: Array, order: list[int]) -> None:
    """Add the transport by one plume to the matrix of a column, with the air of each layer as a labelled parcel."""
    bag = dict.fromkeys(order, 0.0)
    for place, k in enumerate(order):
        growth = flux[place + 1] - flux[place]
        left = max(-growth, given_detrainment[k], 0.0)
        taken = growth + left
        bag[k] += taken
        matrix[k, k] -= taken
        total = sum(bag.values())
        for origin in order:
            share = bag[origin] / total if total > 0.0 else 0.0
            matrix[k, origin] += left * share
            bag[origin] -= left * share


def by_parcels(up: Array, down: Array, up_left: Array, down_left: Array) -> Array:
    """Return the matrix of one column from a parcel model of its two plumes."""
    nz = up.size - 1
    matrix = np.zeros((nz, nz))
    one_plume(matrix, up, up_left, list(range(nz)))
    one_plume(matrix, down[::-1], down_left, list(range(nz - 1, -1, -1)))
    for face in range(1, nz):
        net = up[face] - down[face]
        source, target = (face, face - 1) if net > 0.0 else (face - 1, face)
        matrix[target, source] += abs(net)
        matrix[source, source] -= abs(net)
    return matrix


@given(fluxes(), fluxes(0.2), detrainments, detrainments)
def test_it_is_what_parcels_do(up: Array, down: Array, up_left: Array | None, down_left: Array | None) -> None:
    matrix = convection.column_matrix(up, down, up_left, down_left)
    nothing = np.zeros((LEVELS, *SHAPE))
    for j, i in np.ndindex(*SHAPE):
        lefts = [(nothing if each is None else each)[:, j, i] for each in (up_left, down_left)]
        expected = by_parcels(up[:, j, i], down[:, j, i], *lefts)
        np.testing.assert_allclose(matrix[:, :, j, i], expected, rtol=1e-12, atol=1e-14)


@given(fluxes(), fluxes(0.2), detrainments, detrainments)
def test_it_conserves_keeps_uniform_air_and_is_never_negative(
    up: Array, down: Array, up_left: Array | None, down_left: Array | None
) -> None:
    matrix = convection.column_matrix(up, down, up_left, down_left)
    scale = max(np.abs(matrix).max(), 1e-300)
    assert np.abs(matrix.sum(axis=1)).max() <= 1e-14 * scale, "a uniform mixing ratio stays"
    assert np.abs(matrix.sum(axis=0)).max() <= 1e-14 * scale, "nothing is lost"
    assert off_diagonal(matrix).min() >= 0.0


def test_one_that_does_not_conserve_would_be_seen() -> None:
    matrix = convection.plume_matrix(faces(1.0, 1.0), *convection.entrainment_and_detrainment(faces(1.0, 1.0)))
    assert np.abs(matrix.sum(axis=1)).max() == 1.0, "without entrainment and without compensating subsidence"


def test_a_hot_tower_by_hand() -> None:
    """2 mol/s of the lowest layer go to the highest, and the layers between sink by 2 mol/s."""
    matrix = convection.column_matrix(faces(2.0, 2.0, 2.0), faces(0.0, 0.0, 0.0))[:, :, 0, 0]
    expected = [[-2.0, 2.0, 0.0, 0.0], [0.0, -2.0, 2.0, 0.0], [0.0, 0.0, -2.0, 2.0], [2.0, 0.0, 0.0, -2.0]]
    assert matrix.tolist() == expected


def test_a_plume_that_takes_in_air_on_its_way_by_hand() -> None:
    """1 of layer 0 and 3 of layer 1 make a plume that leaves 2 in layer 2, a quarter of it from layer 0, and 2 in 3."""
    matrix = convection.column_matrix(faces(1.0, 4.0, 2.0), faces(0.0, 0.0, 0.0))[:, :, 0, 0]
    expected = [[-1.0, 1.0, 0.0, 0.0], [0.0, -4.0, 4.0, 0.0], [0.5, 1.5, -4.0, 2.0], [0.5, 1.5, 0.0, -2.0]]
    assert matrix.tolist() == expected


def test_a_downdraught_mirrors_an_updraught() -> None:
    flux, none = faces(1.0, 4.0, 2.0), faces(0.0, 0.0, 0.0)
    up, down = convection.column_matrix(flux, none), convection.column_matrix(none, flux[::-1])
    np.testing.assert_array_equal(down, up[::-1, ::-1])


def test_equal_fluxes_up_and_down_need_no_sinking() -> None:
    flux = faces(1.0, 1.0, 1.0)
    matrix = convection.column_matrix(flux, flux)[:, :, 0, 0]
    assert matrix.tolist() == [[-1.0, 0, 0, 1.0], [0, 0, 0, 0], [0, 0, 0, 0], [1.0, 0, 0, -1.0]]


def test_more_detrainment_means_more_entrainment() -> None:
    flux = faces(2.0, 2.0)
    taken, left = convection.entrainment_and_detrainment(flux, np.full((3, 1, 1), 0.5))
    assert taken[:, 0, 0].tolist() == [2.5, 0.5, 0.0]
    assert left[:, 0, 0].tolist() == [0.5, 0.5, 2.0], "the plume detrains all of its air at its top"


def test_calm_air_and_one_layer_stay() -> None:
    assert not convection.column_matrix(np.zeros((5, 2, 2)), np.zeros((5, 2, 2))).any()
    assert not convection.column_matrix(np.zeros((2, 2, 2)), np.zeros((2, 2, 2))).any()


@given(fluxes(), fluxes(0.2), detrainments)
def test_a_step_as_long_as_the_rate_allows_keeps_tracers_positive(up: Array, down: Array, left: Array | None) -> None:
    matrix = convection.column_matrix(up, down, left)
    air = np.linspace(10.0, 1.0, LEVELS).reshape(-1, 1, 1) * np.ones(SHAPE)
    rate = convection.outflow_rate(matrix, air)
    assert rate.shape == air.shape
    assert rate.min() >= 0.0
    if rate.max() == 0.0:
        return
    q = (np.random.default_rng(5).random((2, *air.shape)) > 0.6).astype(float)
    after = q + convection.tendency(matrix, q) / air / rate.max()
    assert after.min() >= -1e-15
    assert after.max() <= 1.0 + 1e-14, "no new maximum either"
    np.testing.assert_allclose((air * after).sum(axis=1), (air * q).sum(axis=1), rtol=1e-13)


def test_a_longer_step_does_not() -> None:
    matrix = convection.column_matrix(faces(2.0, 2.0), faces(0.0, 0.0))
    q = np.array([1.0, 0.0, 0.0]).reshape(3, 1, 1)
    rate = convection.outflow_rate(matrix, np.ones((3, 1, 1))).max()
    assert (q + 1.5 / rate * convection.tendency(matrix, q)).min() < 0.0


def test_mass_fluxes_become_moles_and_end_at_ground_and_top() -> None:
    """0.02897 kg m-2 s-1 over 100 m2 carry 100 mol/s."""
    given_flux = np.full((4, 1, 1), 28.9647e-3)
    given_flux[1] = -1.0
    flux = convection.molar_flux(given_flux, np.array([[100.0]]))
    assert flux[:, 0, 0] == pytest.approx([0.0, 0.0, 100.0, 0.0])
    assert given_flux[0, 0, 0] > 0.0, "the given field is left as it is"
    rate = convection.layer_detrainment(np.full((2, 1, 1), 28.9647e-6), np.array([[100.0]]), np.array([10.0, 1000.0]))
    assert rate[:, 0, 0] == pytest.approx([1.0, 100.0])


def test_columns_do_not_see_one_another() -> None:
    random = np.random.default_rng(2)
    up, down = (np.concatenate([np.zeros((1, 5, 7)), random.random((4, 5, 7)), np.zeros((1, 5, 7))]) for _ in range(2))
    whole = convection.column_matrix(up, 0.3 * down)
    part = convection.column_matrix(up[:, 2:3, 3:5], 0.3 * down[:, 2:3, 3:5])
    assert np.ascontiguousarray(whole[:, :, 2:3, 3:5]).tobytes() == part.tobytes()
