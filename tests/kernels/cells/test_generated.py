"""Generated rate constants, dy/dt and Jacobian against the network's own plain sums, in every kind of code."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from airshed.formula.tree import Binary, Number
from airshed.kernels.backends.cpu.cells import CellKernel, compile_chemistry
from airshed.kernels.cells import pack_cells, stack_inputs, unpack_cells
from airshed.kernels.cells.reference import Cell
from airshed.kernels.host import address, aligned_zeros
from airshed.kernels.schedule import noon
from airshed.mechanism import Reaction, ReactionNetwork, Species
from airshed.mechanism.network import rates, tendency

from .conftest import network as network_of

Array = npt.NDArray[np.float64]
Chemistry = Callable[..., CellKernel]

KINDS: dict[str, dict[str, Any]] = {"unrolled": {}, "single": {"precision": "single"}}
OTHER_KINDS: dict[str, dict[str, Any]] = {"looped": {"looped": True}, "four lanes": {"width": 4}}
PRECISION = {"double": 1e-13, "single": 3e-6}


def air(network: ReactionNetwork, cells: int, seed: int = 0) -> dict[str, Array]:
    """Return air from 210 to 310 K, by day and night, and parameters over two decades."""
    random = np.random.default_rng(seed)
    values = {name: value * np.exp(random.uniform(-1.0, 1.0, cells)) for name, value in noon(network).items()}
    values["TEMP"] = random.uniform(210.0, 310.0, cells)
    values["daylight"] = np.where(random.uniform(size=cells) < 0.3, 0.0, random.uniform(0.1, 1.0, cells))
    values["SUN"] = np.where(values["daylight"] > 0.0, 1.0 / values["sec_zenith"], 0.0)
    return values


def state(network: ReactionNetwork, cells: int, seed: int = 0) -> Array:
    """Return concentrations over eight decades, some of them zero."""
    random = np.random.default_rng(seed)
    values = 10.0 ** random.uniform(4.0, 12.0, (len(network.species), cells))
    return np.where(random.uniform(size=values.shape) < 0.1, 0.0, values)


def evaluate(kernel: CellKernel, values: dict[str, Array], y: Array) -> tuple[Array, Array, Array]:
    """Return k (reaction, cell), dy/dt (species, cell) and the Jacobian (species, species, cell) as compiled."""
    cells, network, elimination = y.shape[1], kernel.network, kernel.source.elimination
    width, dtype = kernel.shape.width, kernel.dtype
    inputs, packed = stack_inputs(kernel, values, (), cells), pack_cells(y, width, dtype)
    sizes = len(network.reactions), len(network.species), elimination.size
    types = np.float64, dtype, dtype
    k, f, a = (aligned_zeros((len(packed), size, width), kind) for size, kind in zip(sizes, types, strict=True))
    for pack in range(len(packed)):
        arrays = (inputs[pack, 0], packed[pack], k[pack], f[pack], a[pack])
        kernel.functions.airshed_evaluate(*map(address, arrays))
    jacobian = np.zeros((sizes[1], sizes[1], cells))
    entries = unpack_cells(a, cells)
    for (row, column), index in elimination.entry.items():
        jacobian[elimination.order[row], elimination.order[column]] = entries[index]
    return unpack_cells(k, cells), unpack_cells(f, cells), jacobian


def turnover(network: ReactionNetwork, k: Array, y: Array) -> Array:
    """Return production plus loss: dy/dt is their difference."""
    total = np.zeros_like(y)
    for number, net in enumerate(network.net_stoichiometry):
        speed = np.abs(k[number] * np.prod(y[list(network.reactant_indices[number])], axis=0))
        for species, coefficient in net:
            total[species] += abs(coefficient) * speed
    return total


def slopes(network: ReactionNetwork, k: Array, y: Array) -> tuple[Array, Array]:
    """Return the Jacobian (species, species, cell), and the sum of the magnitudes of its terms."""
    signed, parts = np.zeros((2, len(y), *y.shape))
    for number, net in enumerate(network.net_stoichiometry):
        reactants = network.reactant_indices[number]
        for place, reactant in enumerate(reactants):
            slope = k[number] * np.prod(y[list(reactants[:place] + reactants[place + 1 :])], axis=0)
            for species, coefficient in net:
                signed[species, reactant] += coefficient * slope
                parts[species, reactant] += abs(coefficient * slope)
    return signed, parts


def misfits(kernel: CellKernel, network: ReactionNetwork, cells: int, seed: int = 0) -> tuple[float, float, float]:
    """Return the errors of k, dy/dt and Jacobian of the compiled code, each relative to its terms."""
    values, y = air(network, cells, seed), state(network, cells, seed)
    k, f, jacobian = evaluate(kernel, values, y)
    plain = rates(network, values)
    wanted, parts = slopes(network, plain, y)
    return (
        beside(k - plain, np.abs(plain)),
        beside(f - tendency(network, plain, y), turnover(network, plain, y)),
        beside(jacobian - wanted, parts),
    )


def beside(error: Array, scale: Array) -> float:
    return float(np.max(np.abs(error) / np.maximum(scale, 1e-200)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cells", [1, 8, 21])
def test_generated_code_is_the_network(chemistry: Chemistry, kind: str, cells: int) -> None:
    kernel = chemistry("toy", **KINDS[kind])
    assert max(misfits(kernel, kernel.network, cells, seed=cells)) < PRECISION[kernel.shape.precision]


@pytest.mark.compiles
@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_other_generated_code_is_the_network(chemistry: Chemistry, kind: str) -> None:
    for cells in (1, 8, 21):
        kernel = chemistry("toy", **OTHER_KINDS[kind])
        assert max(misfits(kernel, kernel.network, cells, seed=cells)) < PRECISION[kernel.shape.precision]


@pytest.mark.compiles
def test_generated_code_of_a_large_mechanism_is_the_network(chemistry: Chemistry) -> None:
    kernel = chemistry("emep")
    assert max(misfits(kernel, kernel.network, 9)) < PRECISION["double"]


@pytest.mark.parametrize("number", range(0, 18, 4))
def test_a_rate_that_is_off_by_a_billionth_shows(chemistry: Chemistry, number: int) -> None:
    kernel = chemistry("toy")
    reactions = list(kernel.network.reactions)
    wrong = Binary("*", Number(1.0 + 1e-9), reactions[number].rate)
    reactions[number] = replace(reactions[number], rate=wrong)
    other = replace(kernel.network, reactions=tuple(reactions))
    assert misfits(kernel, other, 21)[0] > 0.5e-9


def test_a_coefficient_that_is_off_by_a_millionth_shows(chemistry: Chemistry) -> None:
    kernel = chemistry("toy")
    reactions = list(kernel.network.reactions)
    last = next(number for number, each in enumerate(reactions) if each.label == "falloff")
    reactions[last] = replace(reactions[last], products=(("C", 1.0), ("B", 1.000001)))
    _, change, slope = misfits(kernel, replace(kernel.network, reactions=tuple(reactions)), 21)
    assert min(change, slope) > 1e-10


@pytest.mark.parametrize("name", ["toy", "emep"])
def test_the_plain_jacobian_is_the_slope_of_f(name: str) -> None:
    """Central differences of a polynomial of degree three at most, with a step far above round-off."""
    network = network_of(name)
    values = {name: np.array([value]) for name, value in noon(network).items()}
    cell, y = Cell.still(network, noon(network)), state(network, 1, seed=3)[:, 0] + 1e4
    plain, parts = slopes(network, rates(network, values), y[:, None])
    np.testing.assert_allclose(cell.jacobian(0.0, y), plain[..., 0], rtol=1e-12)
    for species in range(len(y)):
        step = np.zeros_like(y)
        step[species] = 1e-3 * y[species]
        slope = (cell.change(0.0, y + step) - cell.change(0.0, y - step)) / (2.0 * step[species])
        round_off = 1e-12 * turnover(network, rates(network, values), y[:, None])[:, 0] / step[species]
        assert np.all(np.abs(plain[:, species, 0] - slope) <= 2e-6 * parts[:, species, 0] + round_off)


@pytest.mark.compiles
def test_looped_tables_are_the_unrolled_code(chemistry: Chemistry) -> None:
    """The same mechanism solved by both, to round-off."""
    unrolled, looped = chemistry("toy"), chemistry("toy", looped=True)
    assert "static const int32_t target[]" in looped.source.text
    assert "static const int32_t target[]" not in unrolled.source.text
    values, y = air(unrolled.network, 5), state(unrolled.network, 5)
    for one, other in zip(evaluate(unrolled, values, y), evaluate(looped, values, y), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=0.0)


@pytest.mark.compiles
def test_single_precision_keeps_the_rate_constants_that_are_too_small_for_it() -> None:
    """k of N2O5 + 2 H2O is 1.8e-39 [cm6 s-1]: below the least number of single precision, no slow reaction."""
    rates = {"slow": 1.8e-39, "slower": 2.4e-54}
    reactions = (
        Reaction("slow", (("A", 1.0), ("B", 2.0)), (("C", 1.0),), Number(rates["slow"])),
        Reaction("slower", (("A", 1.0), ("B", 3.0)), (("C", 2.0),), Number(rates["slower"])),
    )
    network = ReactionNetwork("tiny", tuple(map(Species, "ABC")), reactions=reactions)
    y = np.array([[1e10], [3e17], [0.0]])
    found = evaluate(compile_chemistry(network, "single", inspected=True), noon(network), y)[1][:, 0]
    speeds = rates["slow"] * 1e10 * 3e17**2, rates["slower"] * 1e10 * 3e17**3
    expected = [-sum(speeds), -2.0 * speeds[0] - 3.0 * speeds[1], speeds[0] + 2.0 * speeds[1]]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
