"""Gradients of Strang splitting: the adjoint of its steps as they were taken, with those of chemistry in each cell."""

from dataclasses import replace

import numpy as np
import pytest

import airshed
from airshed.adjoint import (
    CostOfFunction,
    Direction,
    dot_product_test,
    finite_difference_check,
    gradient,
    sensitivity,
    tangent,
    taylor_test,
)
from airshed.adjoint.chance import random_cost
from airshed.adjoint.dot_products import dot_products
from airshed.adjoint.options import Options, Watcher
from airshed.adjoint.recording import recorded
from airshed.adjoint.replay import Replay
from airshed.adjoint.run_function import RunFunction
from airshed.adjoint.schemes.split_reverser import ReversedCells, SplitReverser
from airshed.air import repeated_chemistry
from airshed.air.schemes.taken import Reacted
from airshed.core.errors import CaseError, NumericalError
from airshed.kernels.cpu.chemistry.kernel import ChemistryKernel

from .cases import KINDS, MECHANISM, small_case
from .small import RECEPTOR, measured, small, uneven

APART = {"vertical": "with chemistry"}


def split_case(folder, solver="ros3", **sections):
    chemistry = {"mechanism": "small.kpp", "integrator": "strang", "solver": solver}
    return small_case(folder, **{"chemistry": chemistry, "time": {"step": "10 min"}, **sections})


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return split_case(tmp_path_factory.mktemp("case"))


@pytest.fixture(scope="module")
def run(case):
    return recorded(case, steps=3, allow_code=True)[0]


def test_a_run_is_repeated(run):
    """Steps of chemistry of given lengths are code of their own: the same to round-off."""
    ends, found = [step.parts[-1] for step in run.steps], []

    def look(part, before, after, sums):
        if part is ends[len(found)]:
            level = run.levels[len(found) + 1]
            found.append(np.abs(run.area.layout.unpack(after) - run.area.layout.unpack(level.q)).max())

    replay = Replay(run, random_cost(run, 1))
    replay.value(look=look)
    replay.close()
    assert len(found) == 3
    assert max(found) < 1e-20


@pytest.mark.parametrize("solver", ["ros2", "ros3", "rodas3", "rodas4"])
def test_dot_products(tmp_path, solver):
    """Over a change of the emission and of the weather: from 9:30 an hour begins after three steps."""
    found = dot_product_test(split_case(tmp_path, solver), steps=4, allow_code=True)
    assert set(found.errors) >= KINDS
    assert found.worst < 1e-13
    there = {kind for kind, each in found.by_adjoint.items() if abs(each) > 1e-12}
    assert there >= KINDS - {"top"}  # in turning air nothing comes from above


def test_dot_products_where_vertical_transport_is_apart(tmp_path):
    found = dot_product_test(split_case(tmp_path, transport=APART), steps=4, allow_code=True)
    assert set(found.errors) >= KINDS
    assert found.worst < 1e-13


CONCURRENT = {"mechanism": "small.kpp", "integrator": "strang", "concurrent": True}


@pytest.mark.parametrize("transport", [{}, APART], ids=["together", "apart"])
def test_dot_products_of_concurrent_phases(tmp_path, transport):
    found = dot_product_test(split_case(tmp_path, chemistry=CONCURRENT, transport=transport), steps=4, allow_code=True)
    assert set(found.errors) >= KINDS
    assert found.worst < 1e-13
    there = {kind for kind, each in found.by_adjoint.items() if abs(each) > 1e-12}
    assert there >= KINDS - {"top"}


@pytest.mark.parametrize("kind", ["emission", "rates", "number sea_surface_strength"])
def test_remainders_of_concurrent_phases_are_of_second_order(tmp_path, kind):
    found = taylor_test(split_case(tmp_path, chemistry=CONCURRENT), kind=kind, steps=2, allow_code=True)
    assert found.order == pytest.approx(2.0, abs=0.1)


def clipped_sums(folder):
    """In the dark ozone takes all of the NO in half a step, and transport some of it besides."""
    (folder / "dark.kpp").write_text(MECHANISM.replace("PHOTO(1e-2, 0.4)", "1e-9"))
    return split_case(
        folder, chemistry={**CONCURRENT, "mechanism": "dark.kpp"}, time={"step": "30 min"},
        initial={"values": {"O3": "50 ppb", "NO": "5 ppb"}}, boundary={"values": {"O3": "50 ppb"}},
    )  # fmt: skip


def test_dot_products_of_clipped_sums(tmp_path, monkeypatch):
    """The negative control: not so where what was clipped counts as if it were not."""
    run, clipped = recorded(clipped_sums(tmp_path), steps=2, allow_code=True)[0], []
    back = SplitReverser._take_both_back

    def note(self, done, sources):
        clipped.append(np.count_nonzero(~done.kept))
        back(self, done, sources)

    monkeypatch.setattr(SplitReverser, "_take_both_back", note)
    assert dot_products(run).worst < 1e-13
    assert max(clipped) > 10

    def off(self, done, sources):
        back(self, replace(done, kept=np.ones_like(done.kept)), sources)

    monkeypatch.setattr(SplitReverser, "_take_both_back", off)
    assert "initial" in wrong(run)


@pytest.mark.parametrize("share", ["of_columns", "of_moved", "of_first"])
def test_a_wrong_share_of_a_sum_is_seen(tmp_path, monkeypatch, share):
    run, _ = recorded(split_case(tmp_path, chemistry=CONCURRENT), steps=3, allow_code=True)
    back = SplitReverser._take_both_back

    def off(self, done, sources):
        back(self, replace(done, **{share: getattr(done, share) * (1.0 + 1e-9)}), sources)

    monkeypatch.setattr(SplitReverser, "_take_both_back", off)
    assert "initial" in wrong(run)


@pytest.mark.parametrize("transport", [{}, APART], ids=["together", "apart"])
def test_dot_products_in_single_precision(tmp_path, transport):
    """Found: 7e-7 at most; the same with EMEP on real winds."""
    chemistry = {"mechanism": "small.kpp", "integrator": "strang", "precision": "single"}
    found = dot_product_test(split_case(tmp_path, chemistry=chemistry, transport=transport), steps=4, allow_code=True)
    assert set(found.errors) >= KINDS
    assert 1e-9 < found.worst < 1e-5 < found.limit


def test_remainders_in_single_precision_are_of_second_order(tmp_path):
    chemistry = {"mechanism": "small.kpp", "integrator": "strang", "precision": "single"}
    found = taylor_test(split_case(tmp_path, chemistry=chemistry), kind="rates", steps=2, allow_code=True)
    assert found.order == pytest.approx(2.0, abs=0.1)


def test_dot_products_without_chemistry():
    case = airshed.Case.load("tracer-rotation", ['grid.spacing="1 deg"', "chemistry.integrator=strang"])
    found = dot_product_test(case, steps=3)
    assert found.worst < 1e-13
    assert abs(found.by_adjoint["initial"]) > 1e-6


def test_dot_products_of_what_is_clipped(tmp_path):
    """With a fast reaction and loose tolerances concentrations come out negative, which are set to zero."""
    (tmp_path / "fast.kpp").write_text(MECHANISM.replace("2e-16", "2e-11"))
    chemistry = {"mechanism": "fast.kpp", "integrator": "strang", "relative_tolerance": 0.9,
                 "absolute_tolerance": "1e13 molecules/cm3"}  # fmt: skip
    case = split_case(tmp_path, chemistry=chemistry, initial={"values": {"O3": "1 ppb", "NO2": "50 ppb"}})
    with airshed.Simulation(case, allow_code=True) as simulation:
        simulation.run("30 min")
        assert simulation.model.cell_counts.clipped > 100
    assert dot_product_test(case, steps=3, allow_code=True).ok


def test_cells_that_were_tried_again_are_taken_back_over_the_steps_that_counted(tmp_path, monkeypatch):
    make = ChemistryKernel.solver

    def hasty(self, *given, **more):
        return make(self, *given, **{**more, "most_steps": 3})

    monkeypatch.setattr(ChemistryKernel, "solver", hasty)
    case = split_case(tmp_path, "rodas4")
    with airshed.Simulation(case, allow_code=True) as simulation:
        simulation.run("20 min")
        assert simulation.model.cell_counts.retried > 10
    assert dot_product_test(case, steps=2, allow_code=True).ok


@pytest.mark.parametrize("kind", ["emission", "rates", "number sea_surface_strength"])
def test_remainders_are_of_second_order(case, kind):
    found = taylor_test(case, kind=kind, steps=2, allow_code=True)
    assert found.order == pytest.approx(2.0, abs=0.1)


def test_gradients_are_beside_central_differences(case):
    kinds = "emission", "rates", "number sea_surface_strength"
    found = finite_difference_check(case, kinds=kinds, steps=2, allow_code=True)
    assert max(found.errors.values()) < 1e-6


def wrong(run):
    return {kind for kind, error in dot_products(run).errors.items() if error > 1e-12}


def test_rates_that_are_off_in_single_precision_are_seen(tmp_path, monkeypatch):
    reverse = ReversedCells.reverse

    def off(self, x, done):
        reverse(self, x, done)
        self.reactions[...] *= 1.0 + 1e-3

    monkeypatch.setattr(ReversedCells, "reverse", off)
    chemistry = {"mechanism": "small.kpp", "integrator": "strang", "precision": "single"}
    found = dot_product_test(split_case(tmp_path, chemistry=chemistry), steps=3, allow_code=True)
    assert {kind for kind, error in found.errors.items() if error > found.limit} == {"rates"}


def test_rates_that_are_off_are_seen(run, monkeypatch):
    """The negative control, in what chemistry gives to rates."""
    reverse = ReversedCells.reverse

    def off(self, x, done):
        reverse(self, x, done)
        self.reactions[...] *= 1.0 + 1e-9

    monkeypatch.setattr(ReversedCells, "reverse", off)
    assert wrong(run) == {"rates"}


def test_a_half_step_of_another_air_is_seen(run, monkeypatch):
    reverse = ReversedCells.reverse

    def off(self, x, done):
        reverse(self, x, replace(done, air=replace(done.air, temperature=done.air.temperature + 1e-6)))

    monkeypatch.setattr(ReversedCells, "reverse", off)
    assert wrong(run) >= {"initial", "rates"}


def test_a_stage_left_away_is_seen(run, monkeypatch):
    carry = SplitReverser._carry_back

    def off(self, done, sources):
        carry(self, replace(done, part=replace(done.part, stages=done.part.stages[:-1])), sources)

    monkeypatch.setattr(SplitReverser, "_carry_back", off)
    assert wrong(run) >= {"initial", "emission", "rates"}


def test_other_steps_the_second_time_are_refused(run, monkeypatch):
    again = repeated_chemistry.integrate_again

    def off(chemistry, done, air, q, *others):
        q *= 1.5
        return again(chemistry, done, air, q, *others)

    monkeypatch.setattr("airshed.adjoint.schemes.split_again.integrate_again", off)
    with pytest.raises(NumericalError, match="other steps the second time"):
        dot_products(run)


def mean(seconds):
    return CostOfFunction(
        seconds, ["O3"], lambda q: (float(q["O3"].mean()), {"O3": np.ones_like(q["O3"]) / q["O3"].size})
    )


def test_the_tangent_beside_a_run_is_worth_what_the_gradient_says(case):
    found = tangent(case, lambda model: Direction(rates=np.arange(1.0, 5.0)), mean(2400.0), allow_code=True)
    adjoint = gradient(case, mean(2400.0), allow_code=True)
    assert found.cost == adjoint.value
    assert found.derivative == pytest.approx(
        np.sum(np.arange(1.0, 5.0) * adjoint.adjoints.reactions), rel=1e-11, abs=0.0
    )


def few_columns(folder, factor=1.0, **more):
    """The case of `small`, with tolerances that make whole runs differentiable."""
    data = small(folder, factor).to_dict() | more
    data["chemistry"] |= {"integrator": "strang", "relative_tolerance": 1e-9, "absolute_tolerance": "1 molecules/cm3"}
    return airshed.Case.from_dict(data, base=folder)


def test_a_sensitivity_is_what_whole_runs_say(tmp_path):
    """Runs choose their steps anew: the smaller the tolerances, the closer."""
    found = sensitivity(few_columns(tmp_path), RECEPTOR)
    assert float(found.value) == measured(few_columns(tmp_path))
    rate = (measured(few_columns(tmp_path, 1.01)) - measured(few_columns(tmp_path, 0.99))) / 0.02
    assert float(found.rate[2]) == pytest.approx(rate, rel=1e-3)
    assert float(found.contribution.sum()) == pytest.approx(float(found.value), rel=0.2)


class Passing(Watcher):
    """Keeps what jumps are worth."""

    def __init__(self):
        self.worth = {}

    def passed(self, seconds, worth):
        self.worth[seconds] = worth()


def test_a_jump_is_worth_what_a_run_with_the_jump_says(tmp_path):
    case, passing = few_columns(tmp_path), Passing()
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


@pytest.mark.parametrize("vertical", ["with horizontal", "with chemistry"])
def test_a_run_as_a_function_has_the_air_outside_and_rates_that_it_is_given(tmp_path, vertical):
    case = few_columns(tmp_path, transport={"vertical": vertical})
    function = RunFunction(case, {"O3": "20 min"}, {"boundary": ["O3"], "rates": ["R1"], "factors": {"NO": ["NO"]}})
    for key, off in ((("boundary", "O3"), 1.3), (("rates", "R1"), 1.2), (("factors", "NO"), 0.7)):
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
    """With little memory steps are made again from restarts in the middle, as after a stop."""
    room = airshed.adjoint.choice.room_of
    monkeypatch.setitem(
        gradient.__globals__, "room_of",
        lambda section, sizes: replace(room(section, sizes), memory=120_000) if section.memory.value == 2**20
        else room(section, sizes),
    )  # fmt: skip
    runs = {name: gradient(few_columns(tmp_path, **each), mean(3000.0)) for name, each in {"": {}, **GIVEN}.items()}
    plain = runs[""].adjoints
    assert runs["little memory"].recomputed > 0 == runs[""].recomputed == runs["all levels"].recomputed
    for name, each in runs.items():
        found = each.adjoints
        for part in ("initial", "outside", "top", "reactions"):
            assert np.array_equal(getattr(found, part), getattr(plain, part)), (name, part)
        assert all(np.array_equal(found.sources[begin], plain.sources[begin]) for begin in plain.sources), name
        relative = plain.read.relative
        assert all(np.array_equal(found.read.relative[field], relative[field]) for field in relative), name


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"adjoint": {"rounding": "single"}}, "adjoint.rounding = 'single' takes other steps"),
    ],
)
def test_what_has_no_adjoint_is_refused(tmp_path, settings, words):
    data = few_columns(tmp_path).to_dict()
    for section, values in settings.items():
        data[section] = {**data.get(section, {}), **values}
    with pytest.raises(CaseError, match=words):
        gradient(airshed.Case.from_dict(data, base=tmp_path), mean(3000.0))


def test_noted_steps_are_counted(run):
    """What is kept beside a level: 12 bytes for each cell and half step."""
    integrated = [part.integrated for part in run.steps[0].parts if isinstance(part, Reacted)]
    assert run.derivatives.noted == sum(each.first.nbytes + each.accepted.nbytes for each in integrated)
