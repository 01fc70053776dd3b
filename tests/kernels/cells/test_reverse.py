"""Reversed steps are the exact adjoint of the solver: dot products with the complex step of the NumPy reference.

    <w, dF/dx d> = <(dF/dx)' w, d>

for the state F that the accepted steps arrive at and any of their inputs x: w, d at random, steps of fixed length.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import KernelError
from airshed.kernels.backends.cpu.cells import CellDerivative, CellKernel, CellReverser, compile_reverse
from airshed.kernels.cells import (
    METHODS,
    Tableau,
    Tolerances,
    positivity,
)
from airshed.kernels.cells.derivatives import ReverseWriter, emit_reverse
from airshed.kernels.cells.emit import ChemistrySource

from ..planted import DECLARATION, acting, without
from .reversal import EXACT, SINGLE, TINY, Chemistry, adjoints, recorded, taken, trial, worst

SHIPPED = sorted(path.stem for path in (Path(__file__).parents[3] / "mechanisms").glob("*.def"))


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_dot_products(chemistry: Chemistry, tableau: Tableau) -> None:
    """A cell in constant air, and more cells in varying air than fill a pack, each with its own steps."""
    for seed, cells in enumerate((1, 9)):
        assert worst(trial(chemistry("toy"), tableau, cells, seed, moving=cells > 1), 5, seed=seed) < EXACT


@pytest.mark.thorough
@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_dot_products_the_other_way_round(chemistry: Chemistry, tableau: Tableau) -> None:
    for seed, cells in enumerate((1, 9)):
        assert worst(trial(chemistry("toy"), tableau, cells, seed, moving=cells == 1), 5, seed=seed) < EXACT


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [{"looped": True}, {"width": 4}], ids=["looped", "four lanes"])
def test_dot_products_of_other_code(chemistry: Chemistry, kind: dict[str, Any]) -> None:
    assert worst(trial(chemistry("toy", **kind), METHODS["rodas4"], 3), 5) < EXACT


@pytest.mark.thorough
@pytest.mark.parametrize("moving", [False, True], ids=["still", "moving"])
@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_dot_products_in_single_precision(chemistry: Chemistry, tableau: Tableau, moving: bool) -> None:
    each = trial(chemistry("toy", "single"), tableau, 9, 1, moving=moving)
    assert EXACT < worst(each, 5, seed=1) < SINGLE


def test_a_record_of_another_precision_is_refused(chemistry: Chemistry) -> None:
    each = trial(chemistry("toy"), METHODS["ros3"], 2)
    record, end = recorded(each, 5)
    with pytest.raises(KernelError, match="a record of cells is float32, not float64"):
        adjoints(each, replace(record, y=record.y.astype(np.float32)), end, each.solver.reversed())


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHIPPED)
def test_dot_products_of_mechanisms(chemistry: Chemistry, name: str) -> None:
    for tableau in (METHODS["rodas4"], METHODS["ros3"]):
        each = trial(chemistry(name), tableau, 2, 3)
        assert recorded(each, 4)[0].count.reshape(-1)[:2].min() > 0
        assert worst(each, 4) < EXACT


def test_what_comes_out_below_zero_is_reversed_as_it_was_made_positive(
    chemistry: Chemistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = trial(chemistry("toy"), METHODS["ros3"], 4, 0, moving=False)
    each = replace(each, tolerances=Tolerances(0.9, 1e12))
    assert recorded(each, 1, first=300.0)[0].clipped.any()
    assert worst(each, 1, first=300.0) < EXACT
    monkeypatch.setattr(positivity, "REFLECTED", 0.0)
    assert worst(each, 1, first=300.0) > 1e-3


def test_any_threads_give_the_same_bits(chemistry: Chemistry) -> None:
    each = trial(chemistry("toy"), METHODS["rodas4"], 37, 2)
    record, end = recorded(each, 30)
    one, three = (
        adjoints(each, record, 1.0 / (end + each.tolerances.absolute), replace(each.solver, threads=threads).reversed())
        for threads in (1, 3)
    )
    assert [name for name in one if not np.array_equal(one[name], three[name])] == []


def test_a_cell_does_not_depend_on_its_neighbours(chemistry: Chemistry) -> None:
    each = trial(chemistry("toy"), METHODS["rodas4"], 5, 2, moving=False)
    record, end = recorded(each, 30)
    all_of_them = adjoints(each, record, 1.0 / (end + each.tolerances.absolute), each.solver.reversed())
    one = replace(
        each, y=each.y[:, 3:4], values=lambda t: {n: v[..., 3:4] for n, v in each.values(t).items()},
        emission=lambda t: each.emission(t)[..., 3:4], loss=lambda t: each.loss(t)[..., 3:4],
    )  # fmt: skip
    alone = adjoints(one, recorded(one, 30)[0], 1.0 / (end[:, 3:4] + each.tolerances.absolute), one.solver.reversed())
    for name, values in alone.items():
        assert np.array_equal(values[:, 0], all_of_them[name][:, 3]), name


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_taylor_remainders_are_of_second_order(chemistry: Chemistry, tableau: Tableau) -> None:
    """|F(x + e d) - F(x) - e dF/dx d| for e = 1e-2, 1e-3, of steps of the reference with fixed lengths."""
    each, random = trial(chemistry("toy"), tableau, 1, 7), np.random.default_rng(7)
    record, end = recorded(each, 8)
    weights = random.normal(size=end.shape) / (end + each.tolerances.absolute)
    found = adjoints(each, record, weights, each.solver.reversed())
    change = {name: random.normal(size=values.shape) for name, values in found.items()}
    change["y"] *= each.y
    slope = sum(float(np.sum(found[name] * change[name])) for name in found)

    def remainder(part: float) -> float:
        along = {name: -1j * part / TINY * values for name, values in change.items()}
        moved = taken(each, record, 0, along).real  # -i i = 1: a real change
        return abs(float(weights[:, 0] @ (moved - end[:, 0])) - part * slope)

    order = np.log10(remainder(1e-3) / remainder(1e-4))
    assert order == pytest.approx(2.0, abs=0.05)


def lines() -> Iterator[tuple[str, int, int]]:
    """Yield the place of each generated statement of the toy: its writer, its reaction or row, its number there."""
    from .conftest import chemistry

    kernel = chemistry("toy")
    writer = ReverseWriter(kernel.network, kernel.source.elimination)
    for name in ("of_tendency", "of_product"):
        for number, reactants in enumerate(kernel.network.reactant_indices):
            if name == "of_product" and not reactants:
                continue
            yield from ((name, number, place) for place, _ in enumerate(getattr(writer, name)(number)))
    for name in ("forward", "backward"):
        yield from ((name, 0, place) for place, _ in enumerate(getattr(writer, name)()))


def switched(place_of: dict[tuple[str, int, int], int], name: str) -> Callable[..., Any]:
    """Return a writer whose statements are not carried out where the planted error is that of their place."""
    writing = getattr(ReverseWriter, name)

    def write(self: ReverseWriter, *reaction: int) -> list[str]:
        number = reaction[0] if reaction else 0
        return [without(place_of[name, number, at], line) for at, line in enumerate(writing(self, *reaction))]

    return write


def compiled_with_switch(kernel: CellKernel, patch: pytest.MonkeyPatch) -> CellDerivative:
    """Return the adjoint that does without one statement, whose place is the number of the planted error."""
    place_of = {line: place for place, line in enumerate(lines())}

    def declaring(*given: Any) -> ChemistrySource:
        source = emit_reverse(*given)
        return replace(source, text=f"{DECLARATION}{source.text}")

    patch.setattr("airshed.kernels.backends.cpu.cells.emit_reverse", declaring)
    for name in ("of_tendency", "of_product", "forward", "backward"):
        patch.setattr(ReverseWriter, name, switched(place_of, name))
    return compile_reverse(kernel)


def missed(chemistry: Chemistry, patch: pytest.MonkeyPatch, every: int) -> list[tuple[str, int, int]]:
    """Return the generated statements that may be left away without notice, of each so many one."""
    kernel = chemistry("toy")
    each = trial(kernel, METHODS["rodas3"], 1, 1)
    y = 1e12 * np.random.default_rng(1).uniform(0.5, 2.0, each.y.shape)  # so that all reactions matter
    each = replace(each, y=y, tolerances=Tolerances(0.5, 1e12))
    assert recorded(each, 4)[0].count[0, 0] > 2
    compiled = compiled_with_switch(kernel, patch)
    reverser = CellReverser(compiled, each.solver)
    assert worst(each, 4, reverser=reverser, even=True) < 1e2 * EXACT
    found = []
    for place, line in [*enumerate(lines())][::every]:
        with acting(compiled.functions, place):
            if not worst(each, 4, reverser=reverser, even=True) > 1e2 * EXACT:
                found.append(line)
    return found


@pytest.mark.compiles
def test_a_forgotten_term_is_noticed(chemistry: Chemistry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: some generated statements in turn are left away."""
    assert missed(chemistry, monkeypatch, 7) == []


@pytest.mark.thorough
def test_any_forgotten_term_is_noticed(chemistry: Chemistry, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missed(chemistry, monkeypatch, 1) == []
