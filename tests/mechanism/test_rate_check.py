"""Bounds hold, ordinary rates are accepted, and the others are checked in a run; faults are reported."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.core.errors import MechanismError
from airshed.mechanism import Reaction, ReactionNetwork, Species, load_mechanism, shipped_mechanisms
from airshed.mechanism.expressions import evaluate
from airshed.mechanism.kpp.meaning import read_rate
from airshed.mechanism.rate_check import AIR, RateCheck, bounds

TEXTS = (
    "2*TEMP - 3", "-TEMP*M", "TEMP/(TEMP - 100)", "1/(TEMP - 300)", "1e-2*(TEMP - 300)", "(TEMP - 300)^2",
    "(TEMP - 300)^3", "(TEMP/300)^(-2.8)", "exp(-2000/TEMP)", "log10(TEMP/300)^2", "log(TEMP - 300)",
    "sqrt(TEMP - 300)", "abs(TEMP - 300)", "min(TEMP, 300)", "max(0, TEMP - 300)", "pow(TEMP - 300, 2)", "SUN - 0.5",
    "PHOTO(1e-2, 0.4)", "exp(-0.5/SUN)", "FALL(1e-30, 0, 3, 1e-12, 0, 1, 0.6)", "exp(9e5/TEMP)", "TEMP^TEMP",
    "-(SUN*SUN)",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=20)
@given(st.data())
def test_values_lie_between_bounds(text: str, data: st.DataObject) -> None:
    rate = read_rate(text)
    air = {name: data.draw(st.floats(*limits)) for name, limits in AIR.items()}
    with np.errstate(all="ignore"):
        value = evaluate(rate, air)
    low, high = bounds(rate, AIR)
    if np.isnan(value):
        assert (low, high) == (-np.inf, np.inf)
    else:
        assert low <= value or value == pytest.approx(low, rel=1e-12)
        assert value <= high or value == pytest.approx(high, rel=1e-12)


def network(*rates: str) -> ReactionNetwork:
    species = Species("A"), Species("B")
    reactions = tuple(Reaction(f"R{n}", (("A", 1.0),), (("B", 1.0),), read_rate(rate)) for n, rate in enumerate(rates))
    return ReactionNetwork("test", species, (), reactions)


def test_shipped_mechanisms_need_no_look() -> None:
    for name in shipped_mechanisms():
        found = load_mechanism(name).with_defaults()
        assert RateCheck(found, {each.name: (0.0, 1e60) for each in found.parameters}).doubtful == ()


def test_what_needs_a_look_is_looked_at() -> None:
    check = RateCheck(network("1e-12*exp(-500/TEMP)*M", "1e-2*(TEMP - 300)", "SUN - 0.5", "k_open"))
    assert check.doubtful == (1, 2, 3)
    assert check.depends_on_sun
    air = {"TEMP": np.array([[310.0, 305.0]]), "M": 2e19, "SUN": 1.0, "k_open": 1.0}
    check(air)
    with pytest.raises(MechanismError, match=r"of <R1> is negative: -0\.5 at TEMP = 250, t = 60; write"):
        check({**air, "TEMP": np.array([[310.0, 250.0]])}, t=np.array([[0.0, 60.0]]))
    with pytest.raises(MechanismError, match=r"of <R2> is negative: -0\.5 at SUN = 0;"):
        check({**air, "SUN": 0.0})
    with pytest.raises(MechanismError, match=r"of <R3> is not finite: nan at k_open = nan;"):
        check({**air, "k_open": np.nan})
    with pytest.raises(MechanismError, match=r"of <R3> is larger than any: 1e\+150 at k_open = 1e\+150;"):
        check({**air, "k_open": 1e150})


def test_air_beyond_all_bounds_is_looked_at_for_every_rate() -> None:
    check = RateCheck(network("1e-12*exp(30000/TEMP)*M"))
    assert check.doubtful == ()
    with pytest.raises(MechanismError, match=r"of <R0> is not finite: inf at M = 2e\+19, TEMP = 25;"):
        check({"TEMP": 25.0, "M": 2e19})
    assert RateCheck(replace(check.network, reactions=())).doubtful == ()
