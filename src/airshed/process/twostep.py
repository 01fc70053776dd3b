"""The implicit-explicit extrapolated two-step backward differentiation formula, with steps of changing length.

With omega = dt / previous dt, transport T explicit and column terms C implicit,

    (1 + 2 omega)/(1 + omega) c(n+1) - (1 + omega) c(n) + omega^2/(1 + omega) c(n-1)
        = dt [ (1 + omega) T(n) - omega T(n-1) + C(n+1) ],

second order. The first step, and one after a break, is forward Euler for T and backward Euler for C; starting so is
what keeps the limited scheme positive.

Emission jumps, so that its rate at n+1 does not say what is emitted in a step. With e(n) the amount emitted in the step
that ends at n, the formula is applied to c less all that was emitted, which adds

    e(n+1) - omega^2/(1 + 2 omega) e(n) = g [ E' + omega/(1 + omega) (E' - E) ],     g = (1 + omega)/(1 + 2 omega) dt

to the right side, solved for c(n+1): E' and E are the rates of this step and of the one before. While the rate stays
this is g E', as for any column term. It is negative where the rate falls below omega/(1 + 2 omega) of what it was.

Sources: Verwer, Blom & Hundsdorfer 1996, Appl. Numer. Math. 20, 191-209;
Hundsdorfer, Ruuth & Spiteri 2003, SIAM J. Numer. Anal. 41, 605-623.
"""

from itertools import accumulate
from math import ceil, log
from typing import Final

from airshed.core.errors import CaseError
from airshed.kernels.step_data import TwoStepWeights

GROWTH: Final = 2.0
"""Greatest ratio of a step to the one before.

The formula is stable in zero for ratios below 1 + sqrt 2 = 2.41 (Grigorieff 1983, Numer. Math. 42, 359-377). With the
limiter, by experiment, winds that fall from 40 to 2 m/s clip nothing of a puff at ratios of 2, up to 4e-6 of a disc's
mass at 2.4 to 4, and 8 % where the ratio is 11.
"""

LEAST_SHARE: Final = 1e-7
"""Of what a species emits, what may be emitted negatively: where it falls below zero that is clipped, and counted."""

_LEFT, _MOST_ANEW = 3e-4, 7

MOST_STEPS: Final = 2_000_000
"""Steps from one change of the forcing to the next: a month of steps of a second."""

_ROUND_OFF: Final = 1e-9


def two_step_weights(step: float, previous: float | None) -> TwoStepWeights:
    """Return the weights for a step [s] after a step of length `previous` [s]; None begins anew."""
    if previous is None:
        return TwoStepWeights(c0=1.0, c1=0.0, t0=step, t1=0.0, g=step, s0=1.0, s1=0.0)
    ratio = step / previous
    scale = (1.0 + ratio) / (1.0 + 2.0 * ratio)
    # c0 and c1 add up to one exactly, so that what does not change keeps its bits: the difference 1 - c0 is not rounded
    c0 = 1.0 + ratio**2 / (1.0 + 2.0 * ratio)
    return TwoStepWeights(
        c0=c0,
        c1=1.0 - c0,
        t0=scale * step * (1.0 + ratio),
        t1=-scale * step * ratio,
        g=scale * step,
        s0=1.0 + ratio,
        s1=-ratio,
    )


def weight_of_jump(step: float, previous: float) -> float:
    """Return what the jump E' - E of an emission weighs in the first step [s] after it, omega/(1 + omega)."""
    return step / (step + previous)


def steps_anew(share: float) -> int:
    """Return how many steps are to begin anew where so much of what a species emitted ends; 0 where hardly any does.

    One makes what is emitted exact without being negative. Of a species that lives for a step or less, and is no longer
    made, the formula then makes a part negative. Each further step by Euler leaves a third of it or so, and they go on
    until that is little. They are of first order: one each hour doubles the errors of ozone and its precursors over
    western Europe (NO2 from 0.13 to 0.23 %), three bring NO2 to 0.5 %, six to 1 %.
    """
    if share <= LEAST_SHARE:
        return 0
    return min(max(ceil(log(share / _LEFT, 3.0)), 1), _MOST_ANEW)


def spread_steps(now: float, until: float, longest: float, previous: float | None) -> list[float]:
    """Return the ends [s] of steps from `now` to `until`, each at most `longest` [s] and GROWTH times the one before.

    As few as there can be. They are equal where the step before them, of length `previous` [s], allows it, or is None.
    Raises CaseError for so many that no run would end.
    """
    span = until - now
    if not span / longest < MOST_STEPS:  # also where it is no number
        raise CaseError(
            f"from {now:g} s to {until:g} s the case takes steps of {longest:.3g} s, more than {MOST_STEPS}; "
            "raise time.step, time.longest or time.courant, or take larger cells (grid.spacing) or weaker winds"
        )
    if previous is None or previous * GROWTH >= longest * (1.0 - _ROUND_OFF):
        count = max(1, ceil(span / longest - _ROUND_OFF))
        return [now + span / count * number for number in range(1, count)] + [until]
    lengths, total = [], 0.0
    while total < span * (1.0 - _ROUND_OFF):
        previous = min(longest, previous * GROWTH)
        lengths.append(previous)
        total += previous
    ends = [now + span * part / total for part in accumulate(lengths)]
    return [*ends[:-1], until]
