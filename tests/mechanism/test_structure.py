"""The pattern of the Jacobian, and suspicious features of a mechanism."""

import numpy as np

from airshed.mechanism import load_mechanism, rates, tendency
from airshed.mechanism.structure import findings, jacobian_pattern

ODD = """#DEFVAR
A = N + O; B = N; C = IGNORE; D = N; E = O;
#DEFFIX
CH4 = IGNORE;
#INITVALUES
CH4 = 1e13;
#CHECK N;
#EQUATIONS
<good> A = B + E : 1;
<bad> A + B = D : 2;
<again> A = B + E : 3;
<other> A + CH4 = B + E : 3;
<none> D + A = A + D : TEMP;
<minus> B = D - 0.5 E : 1;
<open> D = B : tmp;
"""


def test_pattern_is_that_of_the_tendency() -> None:
    """Every entry of the pattern has a nonzero derivative at some state, and no other entry has."""
    for name in ("pollu", "hires", "oregonator", "small_strato", "chapman"):
        network = load_mechanism(name)
        k = rates(network, {"M": 1e6, "TEMP": 250.0, "SUN": 0.7, "O2": 2e5})
        y = np.random.default_rng(3).uniform(0.5, 1.5, len(network.species))
        seen = np.stack([tendency(network, k, y + step) - tendency(network, k, y) for step in np.eye(len(y))], axis=1)
        np.testing.assert_array_equal(seen != 0.0, jacobian_pattern(network))
    assert jacobian_pattern(load_mechanism("small_strato")).sum() == 18  # as in KPP's manual
    assert jacobian_pattern(load_mechanism("tracer")).sum() == 0


def test_everything_odd_is_found(write) -> None:
    found = findings(load_mechanism(write(ODD)))
    assert [(each.kind, each.subject) for each in found] == [
        ("imbalance", "bad"),
        ("never produced", "A"),
        ("unused", "C"),
        ("duplicate", "again"),
        ("empty", "none"),
        ("loss", "minus"),
        ("open", "tmp"),
    ]
    texts = " ".join(each.text for each in found)
    for part in ("loses 1 N: A + B = D", "is <good> again", "uses up E, no reactant", "did you mean 'TEMP'"):
        assert part in texts


def test_shipped_mechanisms_conserve_what_they_say() -> None:
    for name in ("pollu", "small_strato", "chapman"):
        network = load_mechanism(name)
        assert network.checked
        assert not [each for each in findings(network) if each.kind in ("imbalance", "duplicate", "open", "empty")]
