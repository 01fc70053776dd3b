"""The checks of the chemistry solvers: negative controls, random networks by hypothesis, a large mechanism."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.formula.tree import Binary, Number
from airshed.kernels.backends.cpu.cells import compile_chemistry
from airshed.kernels.cells import METHODS, Tableau
from airshed.kernels.cells import emit as chemistry_emit
from airshed.mechanism import load_mechanism
from airshed.mechanism.openatmos import NO_MUSICA, has_musica
from airshed.mechanism.structure import track_elements
from airshed.verify.chemistry import cells, emep, micm, networks, orders, problems

RODAS4 = METHODS["rodas4"]

needs_musica = pytest.mark.skipif(not has_musica(), reason=f"needs {NO_MUSICA}")


class UncheckedTableau(Tableau):
    """Method without validation of its coefficients."""

    def __post_init__(self) -> None:
        pass


def with_wrong_digit(tableau: Tableau, by: float) -> Tableau:
    given_ones = {name: getattr(tableau, name) for name in ("name", "order", "gamma", "a", "c", "e")}
    return UncheckedTableau(**given_ones, m=(tableau.m[0] + by, *tableau.m[1:]))


def missed(figures):
    return {figure.what for figure in figures if not figure.ok}


POLLU = problems.PROBLEMS["POLLU, t = 60 min"]
TIGHT = "greatest relative error, rodas4 at 1e-10"


@pytest.mark.compiles
def test_rates_with_an_error_of_a_millionth_miss_the_end_state():
    """Rates of two molecules, which depend on the air in POLLU."""
    denser = replace(POLLU, air={"M": POLLU.air["M"] * (1.0 + 1e-6)})
    assert missed(problems.check({"denser": denser}, (RODAS4,))) == {TIGHT}


@pytest.mark.compiles
def test_an_unreached_end_is_nan(monkeypatch):
    def impatient(*arguments, most_steps, **options):
        return solver(*arguments, most_steps=20, **options)

    solver = problems.CellSolver
    monkeypatch.setattr(problems, "CellSolver", impatient)
    assert len(missed(problems.check({"POLLU": POLLU}, (RODAS4,)))) == 2


@pytest.mark.compiles
def test_a_method_with_a_wrong_digit_misses_the_end_state():
    wrong = with_wrong_digit(RODAS4, 1e-4)
    assert missed(problems.check({"POLLU": POLLU}, (wrong,))) == {"the same, worst method at 1e-07"}


def test_emep_misses_its_end_state_in_air_that_is_a_millionth_warmer(monkeypatch):
    air = emep.Conditions.air

    def warmer(self, times, middle):
        values = air(self, times, middle)
        return {**values, "TEMP": values["TEMP"] * (1.0 + 1e-6)}

    monkeypatch.setattr(emep.Conditions, "air", warmer)
    assert missed(emep.check())


@pytest.mark.thorough
def test_emep_misses_its_end_state_with_a_restart_left_out(monkeypatch):
    """Without the restart at 20 h, a series in time contains the jump of the sun."""
    monkeypatch.setattr(emep, "JUMPS", emep.JUMPS[:2])
    assert missed(emep.check())


@pytest.mark.compiles
@pytest.mark.parametrize("name", METHODS)
def test_a_wrong_digit_lowers_the_order(monkeypatch, name):
    monkeypatch.setattr(orders, "METHODS", {name: with_wrong_digit(METHODS[name], 1e-3)})
    assert len(missed(orders.check())) == 2


@pytest.mark.compiles
def test_a_wrong_entry_of_the_jacobian_lowers_the_order(monkeypatch):
    right = chemistry_emit._Writer.entries.func
    wrong = property(lambda self: [Binary("*", Number(2.0), right(self)[0]), *right(self)[1:]])
    monkeypatch.setattr(chemistry_emit._Writer, "entries", wrong)
    found = {(figure.test, figure.ok) for figure in orders.check()}
    assert {("order of ros3", False), ("order of rodas3", False), ("order of rodas4", False)} <= found


@pytest.mark.compiles
def test_rates_constant_in_time_lower_the_order(monkeypatch):
    monkeypatch.setattr(orders, "_DEGREE", 0)
    assert missed(orders.check()) == {"rates that change with time"}


NETWORK = networks.template()


@pytest.mark.compiles
@settings(max_examples=5)
@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans(), st.sampled_from(["rodas3", "rodas4"]))
def test_random_networks_agree_with_radau(seed, species, conserving, method):
    trial = networks.draw(NETWORK, seed, species, conserving=conserving)
    kernel = compile_chemistry(NETWORK)
    assert networks.difference(kernel, NETWORK, trial, METHODS[method]) < networks.LIMIT


@pytest.mark.compiles
def test_conserving_random_networks_conserve_mass():
    masses = np.array(list(networks.MASSES.values()))
    kept, lost = (
        [networks.draw(NETWORK, seed, 5, conserving=conserving) for seed in range(4)] for conserving in (True, False)
    )
    kernel = compile_chemistry(NETWORK)
    for trials, holds in ((kept, True), (lost, False)):
        ends = [masses @ networks.compiled(kernel, trial, RODAS4) for trial in trials]
        starts = [masses @ trial.start for trial in trials]
        assert np.allclose(ends, starts, rtol=1e-12, atol=0.0) == holds


@pytest.mark.compiles
def test_a_rate_error_of_a_millionth_is_detected_in_random_networks(monkeypatch):
    compiled = networks.compiled

    def other(kernel, trial, method):
        rates = {name: value * (1.0 + 1e-6) for name, value in trial.rates.items()}
        return compiled(kernel, replace(trial, rates=rates), method)

    monkeypatch.setattr(networks, "compiled", other)
    assert len(missed(networks.check(6))) == 2


@pytest.mark.compiles
def test_uncounted_atoms_drift(monkeypatch):
    """Two reactions of emep lose nitrogen; all conserve sulphur."""
    right = cells.atom_weights

    def forgetful(network, element):
        weights = right(network, element)
        weights[network.index(f"atoms_of_{element}_lost")] = 0.0
        return weights

    monkeypatch.setattr(cells, "atom_weights", forgetful)
    found = missed(cells.check(200))
    assert "drift of N" in found
    assert "drift of S" not in found


@pytest.mark.compiles
def test_failed_cells_and_losses_are_counted():
    network = track_elements(load_mechanism("emep"), cells.ELEMENTS)
    spread = cells.spread(cells.emep_state(network), 30)
    spread.y[3, 7] = np.nan
    found = cells.solve(network, spread, METHODS["rodas3"])
    figures = {figure.what: figure for figure in cells.figures_of("cells", found)}
    assert figures["cells that failed"].value == 1.0
    assert figures["numbers not finite or below zero"].value >= 1.0
    spread = cells.spread(cells.emep_state(network), 30)
    found = cells.solve(network, spread, METHODS["rodas3"])
    assert cells.invariants_figure("cells", network, spread, found).ok
    leaking = replace(found, y=found.y * (1.0 - 1e-9))
    assert not cells.invariants_figure("cells", network, spread, leaking).ok
    uncounted = replace(found, y=found.y + 1e-9 * spread.y, clipped=1e-9 * spread.y)
    assert cells.invariants_figure("cells", network, spread, uncounted).ok


@pytest.mark.parametrize("name", ["chapman", "robertson"])
def test_weights_of_invariants_are_orthogonal_to_all_reactions(name):
    network = load_mechanism(name)
    weights = cells.invariants(network)
    assert np.abs(weights @ cells.stoichiometry(network)).max(initial=0.0) < 1e-12
    assert len(weights) == {"chapman": 0, "robertson": 1}[name]


@pytest.mark.thorough
@needs_musica
def test_a_large_mechanism_in_many_cells():
    assert not missed(micm.check_many(200))


@pytest.mark.compiles
@needs_musica
def test_light_other_than_that_of_micm_is_detected(monkeypatch):
    ours = micm.ours

    def brighter(begin):
        return ours(replace(begin, parameters={name: 1.0001 * value for name, value in begin.parameters.items()}))

    monkeypatch.setattr(micm, "ours", brighter)
    assert missed(micm.check(("chapman",)))


@needs_musica
def test_a_loose_tolerance_of_micm_is_detected(monkeypatch):
    monkeypatch.setattr(micm, "ours", lambda begin: micm.micm(begin, 1e-3))
    assert missed(micm.check(("carbon_bond",)))


def test_no_figures_without_musica(monkeypatch):
    monkeypatch.setattr(micm, "has_musica", lambda: False)
    assert micm.check() == micm.check_many() == []
