"""A run as a function of JAX arrays: an optimiser recovers emission factors with the exact gradient."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.inverse.function.run_function import RunFunction

from .fitting import INPUTS, OUTPUTS, TRUE, spread, swapped
from .small import small

DOCS = (Path(__file__).parents[2] / "docs" / "how-to" / "adjoint.md").read_text(encoding="utf-8")
SINGLE = 1e-5
"""Relative error of derivatives in single precision, the default of JAX."""

Misfit = Callable[[Any], Any]


@pytest.fixture(scope="module")
def jax() -> Any:
    import jax

    return jax


@pytest.fixture(scope="module")
def run(jax: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from airshed.inverse.jax import differentiable

    with differentiable(small(tmp_path_factory.mktemp("small")), OUTPUTS, INPUTS) as made:
        yield made


@pytest.fixture(scope="module")
def misfit(run: Any) -> Misfit:
    """Return a function for the mean square misfit of the fields of a run."""
    seen, first = run(factors=TRUE), run()
    scales = {name: spread(seen[name], first[name]) for name in seen}

    def of(factors: Any) -> Any:
        fields = run(factors=factors)
        return sum((((fields[name] - seen[name]) / scales[name]) ** 2).mean() for name in fields)

    return of


def descend(jax: Any, misfit: Misfit, steps: int = 16) -> dict[str, float]:
    """Run gradient descent from factors of one, in compiled code."""
    gradient = jax.jit(jax.grad(misfit))
    factors = {name: jax.numpy.ones(()) for name in TRUE}
    for _ in range(steps):
        factors = jax.tree.map(lambda factor, slope: factor - 0.12 * slope, factors, gradient(factors))
    return {name: float(factor) for name, factor in factors.items()}


def test_gradient_descent_recovers_the_factors(jax: Any, misfit: Misfit) -> None:
    assert descend(jax, misfit) == pytest.approx(TRUE, rel=1e-3)


def test_with_a_wrong_gradient_it_does_not(jax: Any, misfit: Misfit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunFunction, "vjp", swapped(RunFunction.vjp))
    assert descend(jax, misfit, 4) != pytest.approx(TRUE, rel=0.1)


def test_the_gradient_is_that_of_differences_and_the_same_inside_and_outside_of_jit(jax: Any, misfit: Misfit) -> None:
    at = {name: jax.numpy.asarray(value) for name, value in {"NO": 1.2, "VOC": 0.8}.items()}
    inside, outside = jax.jit(jax.grad(misfit))(at), jax.grad(misfit)(at)
    for name in at:
        near, far = (float(misfit({**at, name: at[name] + change})) for change in (0.1, -0.1))
        assert float(outside[name]) == pytest.approx((near - far) / 0.2, rel=1e-3)
        assert float(inside[name]) == pytest.approx(float(outside[name]), rel=SINGLE)


def test_fields_are_those_of_the_run_and_come_one_by_one_under_vmap(jax: Any, run: Any) -> None:
    exact = run._function({("factors", "NO"): np.asarray(2.0)})["NO"]
    both = jax.vmap(lambda factor: run(factors={"NO": factor})["NO"])(jax.numpy.array([1.0, 2.0]))
    assert both.shape == (2, *exact.shape)
    assert np.asarray(both[1]) == pytest.approx(exact, rel=SINGLE)
    assert not np.allclose(both[0], both[1], rtol=SINGLE, atol=0.0)


def test_in_double_precision_nothing_is_lost(jax: Any, run: Any) -> None:
    with jax.enable_x64(True):
        fields = run(factors={"NO": 2.0})
        slope = jax.grad(lambda factor: run(factors={"NO": factor})["NO"].sum())(2.0)
    exact = run._function({("factors", "NO"): np.asarray(2.0)})
    adjoints = run._function.vjp(
        {("factors", "NO"): np.asarray(2.0)},
        {name: np.ones(s) * (name == "NO") for name, s in run._function.shapes.items()},
    )
    assert np.array_equal(np.asarray(fields["NO"]), exact["NO"])
    assert float(slope) == float(adjoints["factors", "NO"])


def test_errors_are_its_own_and_inside_of_jit_in_the_message_of_another(jax: Any, run: Any) -> None:
    with pytest.raises(CaseError, match="input factors NO has values that are not finite"):
        run(factors={"NO": np.nan})
    with pytest.raises(CaseError, match=r"has the shape \(2,\); it must be \(\)"):
        jax.jit(lambda factor: run(factors={"NO": factor}))(jax.numpy.ones(2))
    with pytest.raises(jax.errors.JaxRuntimeError, match="input factors NO has values that are not finite"):
        jax.block_until_ready(jax.jit(lambda factor: run(factors={"NO": factor}))(np.nan))


def test_the_example_of_the_docs_runs(jax: Any, tmp_path: Path) -> None:
    (example,) = (code for code in re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL) if "inverse.jax" in code)
    names: dict[str, Any] = {"case": small(tmp_path)}
    exec(compile(example, "docs/how-to/adjoint.md", "exec"), names)
    assert names["slope"].shape == (5, 6)
