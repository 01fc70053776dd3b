"""Negative concentrations after steps: no cell stalls, and an overdrawn species ends at zero."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from airshed.kernels.backends.cpu.cells import CellKernel, CellSolver, compile_chemistry
from airshed.kernels.cells import METHODS, Tableau, Tolerances, positivity, stack_inputs
from airshed.kernels.cells import reference as rosenbrock
from airshed.kernels.cells.arguments import CellResults, integrate_cells
from airshed.kernels.cells.positivity import overdrawn
from airshed.kernels.cells.reference import Cell, Step, StepControl, integrate
from airshed.kernels.schedule import noon
from airshed.mechanism import ReactionNetwork, load_mechanism

pytestmark = pytest.mark.standard

Array = npt.NDArray[np.float64]

LENGTH, MOST = 3600.0, 300
RATES = 1e2, 1e4, 1e6
"""[molecules cm-3 s-1] of A and of B, which are in balance at their root over K: far below the tolerance."""

MECHANISM = (
    "#DEFVAR\n" + "".join(f"{name} = IGNORE;\n" for name in ("A", "B", "C", "X", "P", *(f"S{n}" for n in range(20))))
    + "#EQUATIONS\n<1> X = X + A : 1;\n<2> X = X + B : 1;\n<3> A + B = C : 6e3;\n<4> C = C - 0.5 P : 1e-3;\n"
)  # fmt: skip
"""Two species that consume each other, and one that is consumed by a reaction which does not need it."""


@pytest.fixture(scope="module", name="network")
def network_fixture(tmp_path_factory: pytest.TempPathFactory) -> ReactionNetwork:
    file = tmp_path_factory.mktemp("titration") / "titration.def"
    file.write_text(MECHANISM, encoding="utf-8")
    return load_mechanism(file)


def state(network: ReactionNetwork, **values: float) -> Array:
    return np.array([values.get(name, 0.0) for name in network.names])


def by_reference(network: ReactionNetwork, tableau: Tableau, rate: float) -> list[Step]:
    control = StepControl(Tolerances(1e-2, 1e4), first=1.0, most_steps=MOST)
    return list(integrate(Cell.still(network, noon(network)), tableau, state(network, X=rate), 0.0, LENGTH, control))


def compiled(kernel: CellKernel, tableau: Tableau, y: Array, most: int = MOST) -> CellResults:
    solver = CellSolver(kernel, tableau, Tolerances(1e-2, 1e4), most_steps=most)
    inputs = stack_inputs(kernel, noon(kernel.network), (), 1)
    return integrate_cells(solver, y[:, None], inputs, 0.0, LENGTH, first=1.0)


def test_no_cell_gets_stuck_where_an_overdrawn_species_reacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P is drawn by A and reacts with B; there is none of it, so that neither changes C, and all A becomes B."""
    file = tmp_path / "drawn.def"
    names = "".join(f"{name} = IGNORE;\n" for name in "ABCP")
    file.write_text(f"#DEFVAR\n{names}#EQUATIONS\n<1> A = B - 0.11 P : 1e-2;\n<2> B + P = C : 1e-12;\n", "utf-8")
    network = load_mechanism(file)
    cell, y = Cell.still(network, noon(network)), state(network, A=1.8e12, B=4.9e6, C=2.9e5)

    def last(name: str) -> Step:
        *_, found = integrate(cell, METHODS[name], y, 0.0, LENGTH, StepControl(Tolerances(1e-2, 1e4), most_steps=MOST))
        return found

    for name in METHODS:
        assert last(name).time == LENGTH, name
        np.testing.assert_allclose(last(name).y, [0.0, y.sum() - 2.9e5, 2.9e5, 0.0], rtol=1e-2, atol=1e5)
    monkeypatch.setattr(rosenbrock, "HELD", 1.0)
    assert last("ros3").time < LENGTH


def test_no_cell_gets_stuck_where_two_species_consume_each_other(
    network: ReactionNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ros2", "ros3"):
        for rate in RATES:
            last = by_reference(network, METHODS[name], rate)[-1]
            assert last.time == LENGTH, (name, rate)
            assert np.all(last.y[:2] < 1e4)
    monkeypatch.setattr(positivity, "REFLECTED", 0.0)
    stuck = [rate for rate in RATES if by_reference(network, METHODS["ros3"], rate)[-1].time < LENGTH]
    assert stuck == list(RATES)


@pytest.mark.compiles
def test_the_compiled_steps_are_those_of_the_reference(network: ReactionNetwork) -> None:
    kernel = compile_chemistry(network)
    for name in ("ros2", "ros3", "rodas3"):
        for rate in RATES:
            steps = by_reference(network, METHODS[name], rate)
            found = compiled(kernel, METHODS[name], state(network, X=rate), min(len(steps), 12))
            taken = steps[: min(len(steps), 12)]
            assert found.accepted[0] == sum(step.accepted for step in taken)
            np.testing.assert_allclose(found.reached[0], taken[-1].time, rtol=1e-6)
            np.testing.assert_allclose(found.y[:, 0], taken[-1].y, rtol=1e-5, atol=1e-3)
            clipped = np.sum([step.clipped for step in taken], axis=0)
            np.testing.assert_allclose(found.clipped[:, 0], clipped, rtol=1e-5, atol=1e-3)
            assert clipped.any()

    overdrawn_species_end_at_zero(kernel)


def overdrawn_species_end_at_zero(kernel: CellKernel) -> None:
    """P falls by half of 1e6 a second, so that there is nothing left of 1e5 at once."""
    network, species = kernel.network, kernel.network.index("P")
    assert overdrawn(network) == {species}
    for tableau in METHODS.values():
        found = compiled(kernel, tableau, state(network, C=1e9, P=1e5))
        assert found.reached[0] == LENGTH
        assert found.y[species, 0] == 0.0
        assert (
            0.0 < found.clipped[species, 0] < 0.05 * 0.5e9 * 1e-3 * LENGTH
        )  # in the step that overdraws it, then held
        control = StepControl(Tolerances(1e-2, 1e4), first=1.0, most_steps=MOST)
        start = state(network, C=1e9, P=1e5)
        last = list(integrate(Cell.still(network, noon(network)), tableau, start, 0.0, LENGTH, control))[-1]
        assert (last.time, last.y[species]) == (LENGTH, 0.0)
