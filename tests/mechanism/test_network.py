"""Reaction networks: terms, reference values, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.core.errors import MechanismError
from airshed.formula.tree import Binary, Number, Symbol
from airshed.mechanism import Reaction, ReactionNetwork, Species, Term, rates, tendency
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.location import Location
from airshed.mechanism.network import sum_terms

A, B, C = Species("A", {"N": 1, "O": 2}), Species("B"), Species("C")


def network(*reactions: Reaction, **extra) -> ReactionNetwork:
    return ReactionNetwork("test", (A, B, C), reactions=reactions, **extra)


def reaction(left: str, right: str, label: str = "R", rate=Number(2.0)) -> Reaction:  # noqa: B008
    def side(text: str) -> tuple[tuple[str, float], ...]:
        parts = [part.split() for part in text.split("+")] if text else []
        return tuple((part[-1], float(part[0]) if len(part) > 1 else 1.0) for part in parts)

    return Reaction(label, side(left), side(right), rate, location=Location("test.eqn", 7, 3))


def test_self_reaction_loses_two() -> None:
    net = network(reaction("A + A", "B"))
    assert net.net_stoichiometry == (((0, -2.0), (1, 1.0)),)
    assert net.loss_terms[0] == (Term(2.0, 0, (0,)),)
    assert net.production_terms[1] == (Term(1.0, 0, (0, 0)),)
    assert network(reaction("2 A", "B")).net_stoichiometry == net.net_stoichiometry
    y = np.array([3.0, 1.0, 1.0])
    np.testing.assert_array_equal(tendency(net, rates(net, {}), y), [-2 * 2 * 9, 2 * 9, 0])


def test_species_on_both_sides() -> None:
    net = network(reaction("A + B", "0.12 A + 1.5 B + C", "R1"), reaction("A + C", "C", "R2"))
    assert net.net_stoichiometry == (((0, -0.88), (1, 0.5), (2, 1.0)), ((0, -1.0),))
    assert net.loss_terms == ((Term(0.88, 0, (1,)), Term(1.0, 1, (2,))), (), ())
    assert net.production_terms == ((), (Term(0.5, 0, (0, 1)),), (Term(1.0, 0, (0, 1)),))


def test_fixed_species_go_into_the_rate_constant() -> None:
    fixed = (Species("m", fixed=True), Species("X", fixed=True))
    net = network(reaction("A + M + 2 X", "B + X"), fixed=fixed, initial={"x": 3.0})
    assert net.rate_constants == (
        Binary("*", Binary("*", Binary("*", Number(2.0), Symbol("M")), Parameter("X")), Parameter("X")),
    )
    net = net.with_defaults()
    assert net.net_stoichiometry == (((0, -1.0), (1, 1.0)),)
    np.testing.assert_array_equal(rates(net, {"M": np.array([1.0, 2.0])}), [[18.0, 36.0]])


def test_index_and_molar_mass() -> None:
    net = network()
    assert net.names == ("A", "B", "C")
    assert net.index("b") == 1
    assert A.molar_mass == pytest.approx(46.005e-3)
    assert B.molar_mass is None
    assert Species("X", {"Qq": 1}).molar_mass is None


@pytest.mark.parametrize(
    ("build", "parts"),
    [
        (lambda: network(reaction("A + D", "B")), ["test.eqn:7:3", "'D' is not declared"]),
        (lambda: network(reaction("0.5 A", "B")), ["test.eqn:7:3", "<R>", "whole, not 0.5"]),
        (lambda: network(reaction("A", "B"), reaction("B", "A", "r")), ["label 'r' occurs twice"]),
        (lambda: network(fixed=(Species("a", fixed=True),)), ["species 'a' occurs twice"]),
        (lambda: network().index("Bb"), ["'Bb'", "did you mean 'B'"]),
        (lambda: network(reaction("A", "B")).bind({"j_A": 1.0}), ["no open parameter", "'j_A'"]),
    ],
)
def test_refusals(build, parts) -> None:
    with pytest.raises(MechanismError) as error:
        build()
    for part in parts:
        assert part in str(error.value)


@st.composite
def networks(draw) -> ReactionNetwork:
    names = ["A", "B", "C"]
    reactions = []
    for number in range(draw(st.integers(0, 6))):
        left = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))
        right = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from([0.1, 0.5, 1.0, 2.0])), max_size=4))
        reactions.append(
            Reaction(f"R{number}", tuple((name, 1.0) for name in left), tuple(right), Number(number + 0.5))
        )
    return network(*reactions)


@settings(max_examples=50)
@given(networks(), st.lists(st.floats(0.0, 10.0), min_size=6, max_size=6))
def test_terms_add_up_to_the_tendency(net: ReactionNetwork, values: list[float]) -> None:
    y = np.array(values).reshape(3, 2)
    k = rates(net, {"TEMP": np.array([280.0, 290.0])})
    change = tendency(net, k, y)
    for species in range(3):
        production = sum_terms(net.production_terms[species], k, y)
        loss = sum_terms(net.loss_terms[species], k, y)
        scale = production + loss * y[species]
        np.testing.assert_allclose(
            production - loss * y[species], change[species], rtol=0, atol=1e-12 * scale.max() + 1e-300
        )
        assert (production >= 0).all()
        assert (loss >= 0).all()


def test_no_reactions_no_change() -> None:
    net = network()
    assert rates(net, {}).shape == (0,)
    np.testing.assert_array_equal(tendency(net, rates(net, {}), np.ones((3, 4))), np.zeros((3, 4)))


def test_a_species_that_is_used_up_without_reacting_is_a_negative_production() -> None:
    net = network(reaction("A", "-1 B"))
    assert net.loss_terms[1] == ()
    assert net.production_terms[1] == (Term(-1.0, 0, (0,)),)


def test_fixed_species_and_rates_that_are_left_open_are_parameters_until_they_are_bound() -> None:
    light = Reaction("J", (("A", 1.0), ("X", 1.0)), (("B", 1.0),), Parameter("j_A"))
    net = replace(network(light, fixed=(Species("X", fixed=True),)), initial={"x": 3.0})
    assert [(each.name, each.unit, each.default) for each in net.parameters] == [
        ("j_A", "", None),
        ("X", "molecules cm-3", 3.0),
    ]
    assert [each.name for each in net.open_parameters] == ["j_A"]
    with pytest.raises(MechanismError, match="j_A, which the mechanism leaves open"):
        rates(net, {"X": 3.0})
    assert rates(net, {"j_A": 2.0, "X": 5.0}) == 10.0
    partly = net.bind({"J_a": Binary("*", Parameter("scale"), Symbol("TEMP"))})
    assert [each.name for each in partly.parameters] == ["scale", "X"]
    assert rates(partly.bind({"scale": 0.5}).with_defaults(), {"TEMP": 10.0}) == 15.0
    assert partly.bind({"scale": 0.5}).with_defaults().parameters == ()
