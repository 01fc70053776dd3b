"""A formula in one pass has the bits of the same formula in NumPy, whatever lies how in memory."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import FormulaError, KernelError
from airshed.kernels.one_pass import one_pass

from .numpy_work import formula

Array = np.ndarray

compiled = one_pass(formula)


@st.composite
def shapes(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """Return three shapes that broadcast: of some axes one or another is missing or of size one."""
    full = draw(st.lists(st.integers(0, 4), max_size=4))
    return [
        tuple(
            size if keep else 1
            for size, keep in zip(full[skipped:], draw(st.tuples(*[st.booleans()] * 4)), strict=False)
        )
        for skipped in draw(st.tuples(*[st.integers(0, len(full))] * 3))
    ]


@pytest.mark.compiles
@given(shapes(), st.integers(0, 2**32 - 1))
def test_arrays_of_any_shape_have_the_bits_of_numpy(given: list[tuple[int, ...]], seed: int) -> None:
    random = np.random.default_rng(seed)
    fields = [random.normal(size=shape) for shape in given]
    expected, found = formula(*fields), compiled(*fields)
    assert found.shape == np.shape(expected)
    assert found.tobytes() == np.asarray(expected).tobytes()


@pytest.mark.compiles
def test_views_have_the_bits_of_numpy() -> None:
    """Neighbours along each axis, every other value, other orders of the axes: as they lie, or copied."""
    whole = np.random.default_rng(0).normal(size=(4, 5, 6))
    views: list[Callable[[Array], Array]] = [
        lambda a: a[:3, :4, :5], lambda a: a[1:, 1:, 1:], lambda a: a[:3, :4, :5].copy(order="F"),
        lambda a: np.repeat(a, 2, axis=2)[:3, :4, 1:11:2], lambda a: a[::-1][:3, :4, :5], lambda a: a[0, 0, 0],
    ]  # fmt: skip
    for some in product(views, repeat=3):
        fields = [view(whole) for view in some]
        assert np.array_equal(compiled(*fields), formula(*fields))


@pytest.mark.compiles
def test_the_result_goes_where_it_is_wanted() -> None:
    a, b, c = np.random.default_rng(0).normal(size=(3, 4, 5))
    whole = np.zeros((6, 7))
    assert compiled(a, b, c, out=whole[1:5, 2:]) is not None
    assert np.array_equal(whole[1:5, 2:], formula(a, b, c))
    assert whole[1:5, 2:].size == np.count_nonzero(whole)


@pytest.mark.compiles
def test_numbers_from_elsewhere_are_constants() -> None:
    scaled = [one_pass(lambda a, factor=factor: factor * a) for factor in (2.0, np.float64(0.1))]
    assert [float(each(np.array(3.0))) for each in scaled] == [6.0, 0.1 * 3.0]
    assert float(one_pass(lambda a: a / -np.inf + np.minimum(a, np.inf))(np.array(3.0))) == 3.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda a: np.exp(a), "cannot have exp"),
        (lambda a: np.add.reduce(a), "cannot have add"),
        (lambda a: a + np.arange(3.0), "array that is not an argument"),
    ],
)
def test_what_cannot_be_compiled_is_refused(wrong: Callable[[Array], Array], message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        one_pass(wrong)(np.ones(3))


def test_five_axes_are_too_many() -> None:
    with pytest.raises(KernelError, match="at most 4 axes"):
        compiled(np.ones((1, 2, 1, 2, 1)), 1.0, 1.0)
