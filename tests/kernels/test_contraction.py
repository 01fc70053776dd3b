"""Optimised work on arrays gives the bits of the same work in NumPy: no product is contracted into a sum.

Compilers contract only where they optimise as for users.
"""

from collections.abc import Callable

import numpy as np
import pytest

from airshed.kernels import arrays
from airshed.kernels import one_pass as module
from airshed.kernels import toolchain as compiled_host
from airshed.kernels.host import processor

from .numpy_work import Array, at_faces, formula, integrals, some_columns

pytestmark = [pytest.mark.compiles, pytest.mark.usefixtures("product_compiler")]

FUSED = "fma" in processor().features
"""Whether the processor has a * b + c in one rounding."""


def fields_of(seed: int) -> list[Array]:
    return [*np.random.default_rng(seed).normal(size=(3, 1000))]


def test_formulas_have_the_bits_of_numpy() -> None:
    assert np.array_equal(module.one_pass(formula)(*fields_of(0)), formula(*fields_of(0)))


@pytest.mark.parametrize(("compiled", "twin"), [(arrays.column_integrals, integrals), (arrays.column_values, at_faces)])
def test_columns_have_the_bits_of_numpy(compiled: Callable[..., Array], twin: Callable[..., Array]) -> None:
    for columns in (1, 7, 64):
        heights, values, faces = some_columns(12, columns, seed=columns)
        expected = np.array([twin(heights, field, faces) for field in values])
        assert np.array_equal(compiled(heights, values, faces), expected)


@pytest.mark.skipif(not FUSED, reason="the processor rounds products before it adds them")
def test_contracted_products_of_formulas_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_host, "NUMPY_FLAGS", ())
    assert not np.array_equal(module.one_pass(formula)(*fields_of(0)), formula(*fields_of(0)))


@pytest.mark.skipif(not FUSED, reason="the processor rounds products before it adds them")
def test_contracted_products_of_columns_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its option the compiler rounds a * b + c once: other bits than NumPy's."""
    heights, values, faces = some_columns(12, 64, seed=1)
    expected = np.array([integrals(heights, field, faces) for field in values])
    monkeypatch.setattr(compiled_host, "NUMPY_FLAGS", ())
    found = arrays.column_integrals(heights, values, faces)
    assert found == pytest.approx(expected, abs=1e-12)
    assert not np.array_equal(found, expected)
