"""Replayed steps equal the accepted ones; their tangent equals that of the NumPy reference."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import KernelError
from airshed.formula.tree import Binary, Symbol
from airshed.kernels.backends.cpu.cells import CellTangent, compile_tangent
from airshed.kernels.cells import METHODS, AcceptedSteps, Sources, Tableau, Tolerances, pack_cells, unpack_cells
from airshed.kernels.cells.derivatives import TangentWriter, emit_tangent
from airshed.kernels.cells.emit import ChemistrySource

from ..planted import DECLARATION, acting
from .reversal import EXACT, SINGLE, TINY, Array, Chemistry, Trial, adjoints, inputs_of, recorded, taken, trial


def still(kernel: Any, tableau: Tableau, cells: int, seed: int = 0) -> Trial:
    """Return cells in air that stays, without emission and loss: those of a model of three dimensions."""
    each = trial(kernel, tableau, cells, seed, moving=False)
    nothing = lambda t: np.zeros((0, cells))  # noqa: E731
    return replace(each, sources=Sources(), emission=nothing, loss=nothing)


def along(
    each: Trial, record: AcceptedSteps, change: Array, of_factors: Array, tangent: Any = None
) -> tuple[Array, Array]:
    """Return the result of recorded steps, and its tangent, (species, cell) each."""
    width, inputs = each.kernel.shape.width, inputs_of(each, gains=False)
    y, moved = pack_cells(each.y, width), pack_cells(change, width)
    tangent = tangent or each.solver.tangent()
    tangent.repeat(y, inputs, record, np.ones(len(each.kernel.network.reactions)))
    tangent.along(moved, inputs, record, of_factors)
    return unpack_cells(y, each.cells), unpack_cells(moved, each.cells)


def worst(each: Trial, most: int, first: float = 0.0, tangent: Any = None, exact: float = 1e-11) -> float:
    """Return the largest difference of tangents from the reference, over the largest tangent of the species of a cell.

    exact  relative error of the states that steps of given lengths arrive at
    """
    record, end = recorded(each, most, first)
    random = np.random.default_rng(3)
    change = random.normal(size=each.y.shape) * each.y
    of_factors = random.normal(size=len(each.kernel.network.reactions))
    again, found = along(each, record, change, of_factors, tangent)
    np.testing.assert_allclose(again, end, rtol=exact, atol=exact * end.max())
    errors = []
    for number in range(each.cells):
        changes = {"y": change, "rates": np.broadcast_to(of_factors[:, None], (len(of_factors), each.cells))}
        expected = taken(each, record, number, changes).imag / TINY
        errors.append(np.abs(found[:, number] - expected).max() / np.abs(expected).max())
    return float(max(errors))


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_the_tangent_is_that_of_the_twin(chemistry: Chemistry, tableau: Tableau) -> None:
    assert worst(still(chemistry("toy"), tableau, 9), 6) < EXACT


@pytest.mark.thorough
def test_the_tangent_in_single_precision(chemistry: Chemistry) -> None:
    each = still(chemistry("toy", "single"), METHODS["rodas4"], 9)
    assert EXACT < worst(each, 6, exact=1e-4) < SINGLE


@pytest.mark.thorough
def test_the_tangent_of_a_shipped_mechanism(chemistry: Chemistry) -> None:
    assert worst(still(chemistry("emep"), METHODS["rodas3"], 2), 4) < EXACT


def test_what_comes_out_below_zero_changes_as_it_was_made_positive(chemistry: Chemistry) -> None:
    each = replace(still(chemistry("toy"), METHODS["ros3"], 4), tolerances=Tolerances(0.9, 1e12))
    assert worst(each, 1, first=300.0) < EXACT
    assert recorded(each, 1, 300.0)[0].clipped.any()


def test_the_adjoint_is_the_transpose_of_the_tangent(chemistry: Chemistry) -> None:
    each, random = still(chemistry("toy"), METHODS["rodas4"], 9), np.random.default_rng(1)
    record, end = recorded(each, 30)
    weights = random.normal(size=end.shape) / (end + each.tolerances.absolute)
    found = adjoints(each, record, weights, each.solver.reversed())
    change, of_factors = random.normal(size=end.shape) * each.y, random.normal(size=len(found["rates"]))
    moved = along(each, record, change, of_factors)[1]
    backward = float(np.sum(found["y"] * change) + np.sum(found["rates"] * of_factors[:, None]))
    assert float(np.sum(weights * moved)) == pytest.approx(backward, rel=EXACT)


def switched(place_of: Mapping[tuple[str, int, int, int], int], name: str) -> Callable[..., Any]:
    """Return a writer whose terms are zero where the planted error is that of their place."""
    writing = getattr(TangentWriter, name)

    def write(self: TangentWriter, reaction: int) -> Any:
        return tuple(
            [
                Binary("*", Symbol(f"real(airshed_planted != {place_of[name, reaction, part, at]})"), term)
                for at, term in enumerate(terms)
            ]
            for part, terms in enumerate(writing(self, reaction))
        )

    return write


def terms(writer: TangentWriter) -> Iterator[tuple[str, int, int, int]]:
    for name in ("of_tendency", "of_product"):
        for number, reactants in enumerate(writer.network.reactant_indices):
            if reactants:
                parts = getattr(writer, name)(number)
                yield from ((name, number, part, at) for part in (0, 1) for at in range(len(parts[part])))


def missed(chemistry: Chemistry, patch: pytest.MonkeyPatch, every: int) -> list[tuple[str, int, int, int]]:
    """Return the generated terms that may be left away without notice, of each so many one."""
    kernel = chemistry("toy")
    each = still(kernel, METHODS["rodas3"], 1, 1)
    y = 1e12 * np.random.default_rng(1).uniform(0.5, 2.0, each.y.shape)  # so that all reactions matter
    each = replace(each, y=y, tolerances=Tolerances(0.5, 1e12))
    place_of = defaultdict(lambda: -2)  # of reactions without reactants
    place_of |= {
        term: place for place, term in enumerate(terms(TangentWriter(kernel.network, kernel.source.elimination)))
    }

    def declaring(*given: Any) -> ChemistrySource:
        source = emit_tangent(*given)
        return replace(source, text=f"{DECLARATION}{source.text}")

    patch.setattr("airshed.kernels.backends.cpu.cells.emit_tangent", declaring)
    for name in ("of_tendency", "of_product"):
        patch.setattr(TangentWriter, name, switched(place_of, name))
    compiled = compile_tangent(kernel)
    tangent = CellTangent(compiled, each.solver)
    assert worst(each, 4, tangent=tangent) < 1e2 * EXACT
    found = []
    for term, place in [*place_of.items()][::every]:
        with acting(compiled.functions, place):
            if not worst(each, 4, tangent=tangent) > 1e2 * EXACT:
                found.append(term)
    return found


@pytest.mark.compiles
def test_a_forgotten_term_is_noticed(chemistry: Chemistry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: some generated terms in turn are left away."""
    assert missed(chemistry, monkeypatch, 5) == []


@pytest.mark.thorough
def test_any_forgotten_term_is_noticed(chemistry: Chemistry, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missed(chemistry, monkeypatch, 1) == []


def test_emission_and_inputs_in_time_are_refused(chemistry: Chemistry) -> None:
    for each in (trial(chemistry("toy"), METHODS["ros3"], 2, moving=True), trial(chemistry("toy"), METHODS["ros3"], 2)):
        record, _ = recorded(each, 4)
        with pytest.raises(KernelError, match="require constant inputs"):
            along(each, record, each.y, np.zeros(len(each.kernel.network.reactions)))
