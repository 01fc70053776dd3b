"""The EMEP mechanism against the published facts: monomials, rates, the tendency, the end of five days."""

import re
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from airshed.mechanism import ReactionNetwork, rates, tendency
from airshed.mechanism.expressions import dependencies, evaluate

HOURS = (4.0, 6.5, 12.0, 19.9, 23.0)
DEPOSITION = re.compile(r"rc(4[7-9]|5[0-3])")


def fact_rates(facts, air: Mapping[str, float]) -> dict[str, float]:
    """Return the rate symbols of the facts, computed from their formulas by Python itself."""
    names = {"T": air["TEMP"], **{name: air[name] for name in ("M", "O2", "H2O")}, "exp": np.exp}
    values = {name: eval(text.replace("^", "**"), {}, names) for name, text in facts["rate_constants"].items()}
    for name, photolysis in facts["photolysis"].items():
        values[name] = air["daylight"] * photolysis["a [1/s]"] * np.exp(-photolysis["b [1]"] * air["sec_zenith"])
    return values | {"H2O*rc8": air["H2O"] * values["rc8"]}


def chemistry(facts) -> list:
    return [monomial for monomial in facts["reactions"] if not DEPOSITION.fullmatch(monomial["rate"])]


def fact_changes(facts, values: Mapping[str, float]) -> dict[tuple[str, ...], dict[str, float]]:
    """Return reactants -> species -> sum of rate * net over the monomials of the facts."""
    changes: dict = defaultdict(lambda: defaultdict(float))
    for monomial in chemistry(facts):
        for species, net in monomial["net"].items():
            changes[tuple(sorted(monomial["reactants"]))][species] += values[monomial["rate"]] * net
    return changes


def network_changes(network: ReactionNetwork, k: np.ndarray) -> dict[tuple[str, ...], dict[str, float]]:
    changes: dict = defaultdict(lambda: defaultdict(float))
    for number, net in enumerate(network.net_stoichiometry):
        reactants = tuple(sorted(network.names[i] for i in network.reactant_indices[number]))
        for species, coefficient in net:
            changes[reactants][network.names[species]] += k[number] * coefficient
    return changes


def test_species_in_the_order_of_the_facts(emep, facts) -> None:
    assert list(emep.names) == facts["species"]
    assert len(emep.reactions) == 135
    assert len(facts["reactions"]) - len(chemistry(facts)) == 25
    assert all(species.molar_mass and species.text for species in emep.species)


@pytest.mark.parametrize("hour", HOURS)
@pytest.mark.parametrize("temperature", [298.0, 265.0])
def test_every_monomial(emep, facts, conditions, hour: float, temperature: float) -> None:
    air = conditions(hour * 3600.0) | {"TEMP": temperature}
    expected = fact_changes(facts, fact_rates(facts, air))
    found = network_changes(emep, rates(emep, air))
    assert set(found) == set(expected)
    for reactants, changes in expected.items():
        assert set(found[reactants]) == set(changes)
        for species, change in found[reactants].items():
            assert change == pytest.approx(changes[species], rel=1e-14, abs=0.0), (reactants, species)


def test_a_changed_yield_would_be_seen(emep, facts, conditions) -> None:
    air = conditions(43200.0)
    facts = {**facts, "reactions": [dict(monomial) for monomial in facts["reactions"]]}
    monomial = next(monomial for monomial in facts["reactions"] if monomial["reactants"] == ["NO", "O3"])
    monomial["net"] = {**monomial["net"], "NO2": 0.99}
    expected = fact_changes(facts, fact_rates(facts, air))
    found = network_changes(emep, rates(emep, air))
    assert found[("NO", "O3")]["NO2"] != pytest.approx(expected[("NO", "O3")]["NO2"], rel=1e-14, abs=0.0)


def test_rates_by_label(emep, facts, conditions) -> None:
    air = conditions(43200.0)
    values = fact_rates(facts, air)
    for number, reaction in enumerate(emep.reactions):
        kind, digits = re.match(r"([RJ])(\d+)", reaction.label).groups()
        symbol = f"rc{digits}" if kind == "R" else f"dj{digits}"
        factor = {"R8": air["H2O"], "J7_GLYOX": 2.0}.get(reaction.label, 1.0)
        assert evaluate(emep.rate_constants[number], air) == pytest.approx(factor * values[symbol], rel=1e-14, abs=0.0)


def test_tendency_is_the_sum_over_the_facts(emep, facts, conditions) -> None:
    air = conditions(43200.0)
    values = fact_rates(facts, air)
    y = dict(facts["reference_end"])
    expected = defaultdict(float)
    for monomial in chemistry(facts):
        speed = values[monomial["rate"]] * np.prod([y[name] for name in monomial["reactants"]])
        for species, net in monomial["net"].items():
            expected[species] += speed * net
    state = np.array([y[name] for name in emep.names])
    k = rates(emep, air)
    gross = np.zeros(66)
    for number, net in enumerate(emep.net_stoichiometry):
        for species, coefficient in net:
            gross[species] += abs(coefficient) * k[number] * np.prod(state[list(emep.reactant_indices[number])])
    change = tendency(emep, k, state)
    assert np.all(np.abs(change - [expected[name] for name in emep.names]) <= 1e-13 * gross)


def test_no_photolysis_at_night(emep, conditions) -> None:
    k = rates(emep, conditions(3600.0))
    light = np.array(["photolysis" in dependencies(constant) for constant in emep.rate_constants])
    assert light.sum() == 24
    assert (k[light] == 0.0).all()
    assert (k[~light] > 0.0).all()


class Box:
    """The EMEP box problem, vectorised over reactions: chemistry, emission and deposition in a mixed layer."""

    def __init__(self, network: ReactionNetwork, facts, conditions) -> None:
        self.network, self.conditions = network, conditions
        count, height = len(network.names), facts["conditions of the test problem"]["hmix [cm]"]
        self.net = np.zeros((count, len(network.reactions)))
        for number, net in enumerate(network.net_stoichiometry):
            for species, coefficient in net:
                self.net[species, number] = coefficient
        # A second reactant that is not there points behind the state, at a concentration of one.
        self.reactants = np.array([(*indices, count)[:2] for indices in network.reactant_indices]).T
        self.k, self.moment = rates(network, conditions(43200.0)), ()
        self.varying = defaultdict(list)
        for number, constant in enumerate(network.rate_constants):
            if dependencies(constant) & {"photolysis", "water"}:
                self.varying[constant].append(number)
        self.emission, self.deposition = np.zeros(count), np.zeros(count)
        for name, flux in facts["emissions"].items():
            self.emission[network.index(name)] = flux / height
        for monomial in facts["reactions"]:
            velocity = facts["deposition_velocity"].get(monomial["rate"], 0.0)
            self.deposition[network.index(monomial["reactants"][0])] += velocity / height

    def integrate(self, y: np.ndarray, times: list[float], tolerance: float) -> np.ndarray:
        """Return the state at the last time, with the integration restarted at each time."""
        for start, end in pairwise(times):
            day = self.conditions(start)["daylight"]
            loss = self.deposition * (1.0 if day else 0.25)
            solution = solve_ivp(
                lambda t, y, day=day, loss=loss: self.change(t, y, day) - loss * y,
                (start, end),
                y,
                method="BDF",
                jac=lambda t, y, day=day, loss=loss: self.jacobian(t, y, day) - np.diag(loss),
                rtol=tolerance,
                atol=1e4 * tolerance,
            )
            assert solution.success, solution.message
            y = solution.y[:, -1]
        return y

    def rates(self, seconds: float, day: float) -> np.ndarray:
        if self.moment != (seconds, day):  # the solver evaluates one time repeatedly
            air, self.moment = self.conditions(seconds) | {"daylight": day}, (seconds, day)
            for constant, numbers in self.varying.items():
                self.k[numbers] = evaluate(constant, air)
        return self.k

    def change(self, seconds: float, y: np.ndarray, day: float) -> np.ndarray:
        first, second = np.append(y, 1.0)[self.reactants]
        return self.net @ (self.rates(seconds, day) * first * second) + self.emission

    def jacobian(self, seconds: float, y: np.ndarray, day: float) -> np.ndarray:
        first, second = np.append(y, 1.0)[self.reactants]
        k, rows = self.rates(seconds, day), np.arange(len(self.k))
        speeds = np.zeros((len(self.k), len(y) + 1))
        np.add.at(speeds, (rows, self.reactants[0]), k * second)
        np.add.at(speeds, (rows, self.reactants[1]), k * first)
        return self.net @ speeds[:, :-1]


@pytest.mark.thorough
def test_five_days_of_the_box_problem(emep, facts, conditions) -> None:
    """The published state, with tolerance 1e-8 (Radau) to 8e-10; here faster and to 1e-5."""
    day = 86400.0
    switches = [facts["t0"] + change for n in range(5) for change in (n * day, n * day + 16 * 3600.0)]
    times = [time for time in switches if time < facts["t_end"]] + [facts["t_end"]]
    start = np.array([facts["initial"][name] for name in emep.names])
    end = Box(emep, facts, conditions).integrate(start, times, 1e-6)
    reference = np.array([facts["reference_end"][name] for name in emep.names])
    error = np.abs(end - reference) / reference
    abundant = reference > 1e3
    assert abundant.sum() == 64
    assert error[abundant].max() < 1e-5
    assert error[emep.index("O3")] < 1e-6
