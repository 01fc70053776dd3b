"""Negative controls of the comparison of integrators: each check fails if one of them is broken."""

from dataclasses import replace

import pytest

import airshed.models.air.forcing
import airshed.models.air.model
import airshed.models.air.programs.one_step
from airshed.formula.tree import Binary, Number
from airshed.kernels.backends.cpu.backend import BACKEND
from airshed.models.air.programs.cells import CellsRunner
from airshed.program.weights import GAMMA, one_step_weights
from airshed.verify import column, west_europe
from airshed.verify.west_europe import compare

THOROUGH = pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.thorough)])
"""True if the orders of an hour of full chemistry are compared, which takes long."""


def missed(figures):
    return {(figure.test, figure.what) for figure in figures if not figure.ok}


@pytest.fixture(scope="module")
def references():
    """End states of the references with small steps, computed once, by the text of their cases."""
    return {}


@pytest.fixture
def sound_imex(monkeypatch, references):
    """Compute the unbroken small steps of IMEX once for all controls."""
    plain = west_europe.final_state

    def once(case):
        if case.chemistry.integrator != "imex" or case.chemistry.sweeps != west_europe.FINE["sweeps"]:
            return plain(case)
        key = repr(case.to_dict())
        if key not in references:
            references[key] = plain(case)
        return references[key]

    monkeypatch.setattr(west_europe, "final_state", once)


@pytest.mark.compiles
def test_a_rate_constant_error_of_a_hundredth_is_detected(monkeypatch):
    """The rate constant is that of NO + O3, only in the code of IMEX."""
    compiled = BACKEND.compile_mechanism

    def other(network, *rest, **options):
        changed = [
            replace(each, rate=Binary("*", Number(1.01), each.rate))
            if {name for name, _ in each.reactants} == {"NO", "O3"}
            else each
            for each in network.reactions
        ]
        assert network.reactions == () or changed != list(network.reactions)
        return compiled(replace(network, reactions=tuple(changed)), *rest, **options)

    monkeypatch.setattr(BACKEND, "compile_mechanism", other)
    monkeypatch.setattr(west_europe, "TIMES", {"day": west_europe.TIMES["day"]})
    assert len(missed(west_europe.check_chemistry())) == 2


@pytest.mark.compiles
@THOROUGH
def test_chemistry_for_half_the_time_is_detected(monkeypatch, sound_imex, thorough):
    """Budgets close nevertheless."""
    run = CellsRunner.run

    def lazy(self, number, stage, given):
        ((begin, end),) = given
        return run(self, number, stage, [(begin, 0.5 * (begin + end))] if stage.span[1] == 1.0 else given)

    monkeypatch.setattr(CellsRunner, "run", lazy)
    monkeypatch.setattr(west_europe, "TIMES", {"day": west_europe.TIMES["day"]})
    assert len(missed(west_europe.check_chemistry())) == 2
    if thorough:
        monkeypatch.setattr(west_europe, "LEAST_ORDER", {n: west_europe.LEAST_ORDER[n] for n in ("imex", "strang")})
        assert {test for test, _ in missed(west_europe.check_orders())} == {"strang, an hour of full chemistry"}


@pytest.mark.compiles
def test_a_first_order_formula_of_transport_is_detected(monkeypatch):
    """Euler replaces the second stage of the one-step formula, for the rest of the step."""

    def euler(step):
        first, second = one_step_weights(step)
        rest = (1.0 - GAMMA) * step
        return first, replace(second, c0=1.0, c1=0.0, t0=rest, t1=0.0, g=rest)

    monkeypatch.setattr(airshed.models.air.programs.one_step, "one_step_weights", euler)
    assert "order in time, 600 s to 300 s" in {what for _, what in missed(column.check_sources())}


@pytest.mark.parametrize(
    "integrator", ["imex", pytest.param("strang", marks=[pytest.mark.thorough, pytest.mark.compiles])]
)
def test_an_incomplete_restart_is_detected(monkeypatch, integrator):
    """IMEX needs the length of the previous step, Strang splitting the first steps of cells."""
    save = airshed.models.air.model.AirModel.save

    def forgetful(self):
        saved = save(self)
        if "chemistry.first" in saved.tiled:
            return replace(saved, tiled=saved.tiled | {"chemistry.first": 0.0 * saved.tiled["chemistry.first"]})
        return replace(saved, metadata=saved.metadata | {"previous_step": None})

    monkeypatch.setattr(airshed.models.air.model.AirModel, "save", forgetful)
    monkeypatch.setattr(west_europe, "INTEGRATORS", (integrator,))
    monkeypatch.setattr(west_europe, "_RUHR", west_europe._FEW)
    assert len(missed(west_europe.check_restart())) == 1


@pytest.mark.compiles
def test_a_deposition_error_of_a_hundredth_is_detected(monkeypatch):
    build = airshed.models.air.forcing.Forcing._build_instant

    def other(self, index):
        instant = build(self, index)
        instant.fields["dry_deposition_conductance"][...] *= 1.01
        return instant

    monkeypatch.setattr(airshed.models.air.forcing.Forcing, "_build_instant", other)
    errors = {test for test, what in missed(column.check_sources()) if what.startswith("relative error")}
    assert errors == {f"emission and deposition in still air, {name}" for name in west_europe.INTEGRATORS}


@pytest.mark.thorough
def test_single_precision_is_compared_with_double():
    """The difference is within the tolerance of the steps of Strang splitting."""
    case = west_europe.part("10 min", west_europe._FEW, chemistry={"integrator": "strang"})
    figures = compare(case)
    assert missed(figures) == set()
    assert all(figure.value > 0.0 for figure in figures[1:])
