"""A run as a function of PyTorch tensors: optimisers recover emission factors with the exact gradient."""

import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.inverse.function.run_function import RunFunction

from .fitting import INPUTS, OUTPUTS, TRUE, spread, swapped
from .small import small

pytestmark = [
    pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.filterwarnings("ignore:Failed to initialize NumPy"),  # a PyTorch built for an earlier NumPy
]
DOCS = (Path(__file__).parents[2] / "docs" / "how-to" / "adjoint.md").read_text(encoding="utf-8")

Misfit = Callable[[Any], Any]


@pytest.fixture(scope="module")
def torch() -> Any:
    import torch

    return torch


@pytest.fixture(scope="module")
def run(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from airshed.inverse.torch import differentiable

    with differentiable(small(tmp_path_factory.mktemp("small")), OUTPUTS, INPUTS) as made:
        yield made


@pytest.fixture(scope="module")
def misfit(torch: Any, run: Any) -> Misfit:
    """Return a function for the mean square misfit of the fields of a run."""
    seen, first = run(factors=TRUE), run()
    assert not any(field.requires_grad for field in seen.values())
    scales = {name: spread(numbers(seen[name]), numbers(first[name])) for name in seen}

    def of(factors: Any) -> Any:
        fields = run(factors=factors)
        return sum((((fields[name] - seen[name]) / scales[name]) ** 2).mean() for name in fields)

    return of


def numbers(tensor: Any) -> np.ndarray:
    return np.from_dlpack(tensor.detach())


def ones(torch: Any, *, dtype: Any = None) -> dict[str, Any]:
    return {name: torch.ones((), dtype=dtype or torch.float64, requires_grad=True) for name in TRUE}


def fitted(torch: Any, misfit: Misfit, iterations: int = 20) -> dict[str, float]:
    """Run L-BFGS from factors of one."""
    factors = ones(torch)
    optimiser = torch.optim.LBFGS(list(factors.values()), max_iter=iterations, line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimiser.zero_grad()
        loss = misfit(factors)
        loss.backward()
        return loss

    optimiser.step(closure)
    return {name: float(factor.detach()) for name, factor in factors.items()}


def test_lbfgs_recovers_the_factors(torch: Any, misfit: Misfit) -> None:
    assert fitted(torch, misfit) == pytest.approx(TRUE, rel=1e-5)


def test_with_a_wrong_gradient_it_does_not(torch: Any, misfit: Misfit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunFunction, "vjp", swapped(RunFunction.vjp))
    assert fitted(torch, misfit, 4) != pytest.approx(TRUE, rel=0.1)


def test_adam_comes_nearer_in_single_precision(torch: Any, misfit: Misfit) -> None:
    factors = ones(torch, dtype=torch.float32)
    optimiser = torch.optim.Adam(list(factors.values()), lr=0.1)
    losses = []
    for _ in range(12):
        optimiser.zero_grad()
        loss = misfit(factors)
        loss.backward()
        losses.append(float(loss.detach()))
        optimiser.step()
    assert all(factor.grad.dtype == torch.float32 for factor in factors.values())
    assert losses[-1] < 0.2 * losses[0]


def test_the_gradient_is_that_of_differences(torch: Any, misfit: Misfit) -> None:
    at = {
        name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
        for name, value in (("NO", 1.2), ("VOC", 0.8))
    }
    misfit(at).backward()
    for name, value in at.items():
        near, far = (float(misfit({**at, name: value.detach() + change}).detach()) for change in (1e-4, -1e-4))
        assert float(value.grad) == pytest.approx((near - far) / 2e-4, rel=1e-6)


def test_gradients_of_an_earlier_run_are_its_own(torch: Any, run: Any) -> None:
    first, second = ones(torch), ones(torch)
    earlier = run(factors={"NO": first["NO"] ** 2})["NO"].sum()
    later = run(factors={"NO": 3.0 * second["NO"], "VOC": second["VOC"]})["NO"].sum()
    later.backward(retain_graph=True)
    earlier.backward()
    alone = ones(torch)
    run(factors={"NO": alone["NO"] ** 2})["NO"].sum().backward()
    assert float(first["NO"].grad) == float(alone["NO"].grad)
    later.backward()
    assert float(second["NO"].grad) > 0.0
    assert first["VOC"].grad is None


def test_errors_are_its_own(torch: Any, run: Any) -> None:
    with pytest.raises(CaseError, match="input factors NO has values that are not finite"):
        run(factors={"NO": float("nan")})
    with pytest.raises(CaseError, match=r"has the shape \(2,\); it must be \(\)"):
        run(factors={"NO": torch.ones(2)})
    with pytest.raises(CaseError, match="'O3' is not an input initial of this run"):
        run(initial={"O3": np.zeros((3, 5, 6))})


def test_the_example_of_the_docs_runs(torch: Any, tmp_path: Path) -> None:
    (example,) = (code for code in re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL) if "inverse.torch" in code)
    names: dict[str, Any] = {"case": small(tmp_path)}
    exec(compile(example, "docs/how-to/adjoint.md", "exec"), names)
    assert [float(each) for each in names["logarithms"].detach().exp()] == pytest.approx([1.6, 0.5], rel=1e-4)
