"""The elimination of a sparse matrix in its own order, against dense algebra."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.kernels.cells.sparsity import Elimination, Pattern, eliminate, pattern_of

from .conftest import network as network_of

Array = npt.NDArray[np.float64]


@st.composite
def patterns(draw: st.DrawFn, largest: int = 9) -> Pattern:
    size = draw(st.integers(0, largest))
    return tuple(frozenset(draw(st.sets(st.integers(0, size - 1))) | {row}) for row in range(size))


def dense(pattern: Pattern, seed: int) -> Array:
    """Return a matrix with a dominant diagonal and exactly the non-zero entries of a pattern."""
    random, matrix = np.random.default_rng(seed), np.zeros((len(pattern), len(pattern)))
    for row, columns in enumerate(pattern):
        for column in sorted(columns):
            matrix[row, column] = random.uniform(0.5, 1.0) * random.choice([-1.0, 1.0])
        matrix[row, row] = 1.0 + len(pattern)
    return matrix


def factors(matrix: Array, elimination: Elimination) -> tuple[Array, Array]:
    """Return L and U of the permuted matrix, computed with stored entries alone."""
    order = list(elimination.order)
    work = matrix[np.ix_(order, order)]
    stored = np.zeros(work.shape, bool)
    for pair in elimination.entry:
        stored[pair] = True
    for pivot in range(len(work)):
        for row in range(pivot + 1, len(work)):
            if stored[row, pivot]:
                work[row, pivot] /= work[pivot, pivot]
                ahead = np.flatnonzero(stored[pivot, pivot + 1 :]) + pivot + 1
                kept = ahead[stored[row, ahead]]
                work[row, kept] -= work[row, pivot] * work[pivot, kept]
    return np.tril(work, -1) + np.eye(len(work)), np.triu(work)


def misfit(matrix: Array, elimination: Elimination) -> float:
    low, up = factors(matrix, elimination)
    order = list(elimination.order)
    return float(np.max(np.abs(low @ up - matrix[np.ix_(order, order)]), initial=0.0))


def filled(pattern: Pattern, order: tuple[int, ...]) -> set[tuple[int, int]]:
    """Return the places that elimination in an order fills, the slow way."""
    stored = np.array([[column in pattern[row] for column in order] for row in order], bool)
    stored = stored.reshape(len(order), len(order))
    for pivot in range(len(order)):
        below = np.flatnonzero(stored[pivot + 1 :, pivot]) + pivot + 1
        stored[np.ix_(below, range(pivot + 1, len(order)))] |= stored[pivot, pivot + 1 :]
    return {(int(row), int(column)) for row, column in np.argwhere(stored)}


@given(patterns(), st.integers(0, 99))
def test_factors_multiply_to_the_matrix(pattern: Pattern, seed: int) -> None:
    assert misfit(dense(pattern, seed), eliminate(pattern)) < 1e-12


@given(patterns())
def test_stored_is_what_elimination_fills_and_nothing_more(pattern: Pattern) -> None:
    elimination = eliminate(pattern)
    assert sorted(elimination.order) == list(range(len(pattern)))
    assert set(elimination.entry) == filled(pattern, elimination.order)
    assert list(elimination.entry.values()) == list(range(elimination.size))


@given(patterns())
def test_operations_are_those_that_factoring_takes(pattern: Pattern) -> None:
    elimination = eliminate(pattern)
    stored, size = set(elimination.entry), range(len(pattern))
    counted = sum(
        (row, pivot) in stored and (pivot, column) in stored
        for pivot in size
        for row in size[pivot + 1 :]
        for column in size[pivot + 1 :]
    )
    assert elimination.operations == counted


def test_a_forgotten_fill_shows() -> None:
    """A ring: elimination must fill in."""
    size = 6
    pattern = tuple(frozenset({row, (row + 1) % size, (row - 1) % size}) for row in range(size))
    elimination, matrix = eliminate(pattern), dense(pattern, 1)
    assert misfit(matrix, elimination) < 1e-12
    place = elimination.place
    fill = set(elimination.entry) - {(place[r], place[c]) for r, columns in enumerate(pattern) for c in columns}
    assert fill
    for row, column in fill:
        columns = [tuple(c for c in each if (r, c) != (row, column)) for r, each in enumerate(elimination.columns)]
        assert misfit(matrix, replace(elimination, columns=tuple(columns))) > 1e-6


def test_an_arrow_is_eliminated_from_its_feathers() -> None:
    """The hub comes last, or last but one, where it is all the same: in any other order all fills in."""
    size = 12
    pattern = (frozenset(range(size)), *(frozenset({0, row}) for row in range(1, size)))
    elimination = eliminate(pattern)
    assert 0 in elimination.order[-2:]
    assert elimination.size == 3 * size - 2


@pytest.mark.parametrize("name", ["toy", "emep"])
def test_the_pattern_of_a_network_is_that_of_its_terms(name: str) -> None:
    network = network_of(name)
    rows = pattern_of(network)
    found = np.array([[column in row for column in range(len(rows))] for row in rows])
    wanted = np.eye(len(rows), dtype=bool)
    for terms_of in (network.production_terms, network.loss_terms):
        for species, terms in enumerate(terms_of):
            for term in terms:
                wanted[species, list(network.reactant_indices[term.reaction])] = True
    np.testing.assert_array_equal(found, wanted)


def test_little_fills_in_emep() -> None:
    pattern = pattern_of(network_of("emep"))
    assert eliminate(pattern).size <= 1.2 * sum(map(len, pattern))
