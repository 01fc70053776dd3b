"""Gradients of Strang splitting compared with whole runs; tests/laws/test_adjoint.py verifies its steps."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from tests.laws.cases import MECHANISM, small_case
from tests.laws.derivatives import record

import airshed
from airshed.core.errors import CaseError
from airshed.inverse import CostOfFunction, Direction, dot_product_test, gradient, sensitivity, tangent
from airshed.inverse.function.run_function import RunFunction
from airshed.inverse.gradient import Options, Watcher
from airshed.models.air.programs.records import CellsRecord

from .small import FASTER, RECEPTOR, measured, small, uneven

STRANG = {"chemistry": {"integrator": "strang"}}
OTHER_LIBRARIES = pytest.mark.thorough, pytest.mark.compiles


def test_dot_products_without_chemistry(tmp_path):
    data = small_case(tmp_path, **STRANG).to_dict()
    (tmp_path / "small.kpp").write_text(MECHANISM.partition("#EQUATIONS")[0] + "#EQUATIONS\n")
    found = dot_product_test(airshed.Case.from_dict(data, base=tmp_path).allowing_code(), steps=3)
    assert found.worst < 1e-13
    assert abs(found.by_adjoint["initial"]) > 1e-6


def mean(seconds):
    return CostOfFunction(
        seconds, ["O3"], lambda q: (float(q["O3"].mean()), {"O3": np.ones_like(q["O3"]) / q["O3"].size})
    )


def test_the_tangent_of_a_run_agrees_with_the_gradient(tmp_path):
    case, rates = small_case(tmp_path, **STRANG), np.arange(1.0, 8.0)
    found = tangent(case, lambda model: Direction(rates=rates), mean(2400.0))
    adjoint = gradient(case, mean(2400.0))
    assert found.cost == adjoint.value
    assert found.derivative == pytest.approx(np.sum(rates * adjoint.adjoints.reactions), rel=1e-11, abs=0.0)


def few_columns(folder, **more):
    """Return the case of `small`, with tolerances for which whole runs are differentiable."""
    exact = {"integrator": "strang", "relative_tolerance": 1e-9, "absolute_tolerance": "1 molecules/cm3"}
    return small(folder, chemistry=exact, **more)


@pytest.mark.thorough
@pytest.mark.compiles
def test_a_sensitivity_to_a_rate_agrees_with_whole_runs(tmp_path):
    """Each run chooses its own steps: the error decreases with the tolerances."""

    def value(factor):
        with closing(RunFunction(few_columns(tmp_path), {"O3": "1 h"}, {"rates": FASTER})) as run:
            return float(run({("rates", "R3"): factor})["O3"][0, 0, 2, 2])

    found = sensitivity(few_columns(tmp_path), RECEPTOR)
    assert float(found.rate[2]) == pytest.approx((value(1.01) - value(0.99)) / 0.02, rel=1e-3)


def test_a_sensitivity_has_the_value_of_the_run(tmp_path):
    found = sensitivity(few_columns(tmp_path), RECEPTOR)
    assert float(found.value) == measured(few_columns(tmp_path))
    assert float(found.contribution.sum()) == pytest.approx(float(found.value), rel=0.2)


class JumpRecorder(Watcher):
    """Watcher that stores the sensitivities to jumps."""

    def __init__(self):
        self.worth = {}

    def on_step(self, seconds, worth):
        self.worth[seconds] = worth()


def test_the_sensitivity_to_a_jump_agrees_with_a_run(tmp_path):
    case, passing = few_columns(tmp_path), JumpRecorder()
    found = gradient(case, mean(1200.0), options=Options(watcher=passing), initial=uneven(case))
    assert np.array_equal(passing.worth[0.0], found.adjoints.initial)
    way = np.random.default_rng(0).uniform(-1.0, 1.0, found.adjoints.initial.shape)

    def value(size):
        with airshed.Simulation(case, initial=uneven(case)) as simulation:
            simulation.run(until=600.0)
            model = simulation.model
            q = model.mixing_ratios()
            model.stepper.state.q[...] = model.layout.pack(q * (1.0 + size * way))
            simulation.run(until=1200.0)
            return float(model.value("O3").mean()), q

    (more, q), (less, _) = value(1e-4), value(-1e-4)
    assert float(np.sum(passing.worth[600.0] * q * way)) == pytest.approx((more - less) / 2e-4, rel=1e-4)


RATES = {"rates": ["R1"]}


@pytest.mark.parametrize(
    ("vertical", "rates"),
    [
        ("with horizontal", {}),
        pytest.param("with horizontal", RATES, marks=OTHER_LIBRARIES),
        pytest.param("with chemistry", RATES, marks=OTHER_LIBRARIES),
    ],
)
def test_a_run_as_a_function_uses_its_boundary_and_rates(tmp_path, vertical, rates):
    case = few_columns(tmp_path, transport={"vertical": vertical})
    function = RunFunction(case, {"O3": "20 min"}, {"boundary": ["O3"], "factors": {"NO": ["NO"]}, **rates})
    for key, off in ((("boundary", "O3"), 1.3), (("factors", "NO"), 0.7), *((("rates", "R1"), 1.2) for _ in rates)):
        point = {key: off * function.own[key]}
        fields = function(point)
        weights = {"O3": 1.0 / fields["O3"]}

        def value(size, key=key, point=point, weights=weights):
            return float(np.sum(weights["O3"] * function({key: size * point[key]})["O3"]))

        slope = (value(1.001) - value(0.999)) / 0.002
        adjoint = np.sum(function.vjp(point, weights)[key] * point[key])
        assert adjoint == pytest.approx(slope, rel=1e-4), key
        assert abs(adjoint) > 1e-3
    function.close()


GIVEN = {
    "threads": {"run": {"threads": 2}},
    "all levels": {"adjoint": {"plan": "all"}},
    "from restarts": {"adjoint": {"plan": "two-level"}},
    "little memory": {"adjoint": {"memory": "1 MiB"}},
}


def test_threads_and_plans_give_the_same_bits(tmp_path, monkeypatch):
    """Repeat steps from restarts with little memory, as when a stopped gradient resumes."""
    budget = airshed.inverse.checkpoints.trajectory.storage_budget
    monkeypatch.setitem(
        gradient.__globals__, "storage_budget",
        lambda section, sizes: replace(budget(section, sizes), memory=120_000) if section.memory.value == 2**20
        else budget(section, sizes),
    )  # fmt: skip
    runs = {name: gradient(few_columns(tmp_path, **each), mean(1500.0)) for name, each in {"": {}, **GIVEN}.items()}
    plain = runs[""].adjoints
    assert runs["little memory"].recomputed > 0 == runs[""].recomputed == runs["all levels"].recomputed
    for name, each in runs.items():
        found = each.adjoints
        for part in ("initial", "boundary_profile", "top", "reactions"):
            assert np.array_equal(getattr(found, part), getattr(plain, part)), (name, part)
        assert all(np.array_equal(found.sources[begin], plain.sources[begin]) for begin in plain.sources), name
        relative = plain.read.relative
        assert all(np.array_equal(found.read.relative[field], relative[field]) for field in relative), name


def test_cases_without_an_adjoint_are_refused(tmp_path):
    with pytest.raises(CaseError, match=r"adjoint\.rounding = 'single' would change the repeated steps"):
        gradient(few_columns(tmp_path, adjoint={"rounding": "single"}), mean(3000.0))


def test_records_of_steps_are_counted(tmp_path):
    """Each level has 12 bytes for each cell and stage of chemistry."""
    run = record(tmp_path, STRANG, steps=1)
    integrated = [each.integrated for each in run.steps[0].stages if isinstance(each, CellsRecord)]
    assert run.derivatives.record_bytes == sum(each.first.nbytes + each.accepted.nbytes for each in integrated)
