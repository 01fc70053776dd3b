"""The implicit-explicit formulas of steps: of changing length, with a history; and one without, for single steps.

The first is the extrapolated two-step backward differentiation formula: with omega = dt / previous dt, transport T
explicit and column terms C implicit,

    (1 + 2 omega)/(1 + omega) c(n+1) - (1 + omega) c(n) + omega^2/(1 + omega) c(n-1)
        = dt [ (1 + omega) T(n) - omega T(n-1) + C(n+1) ],

second order. The first step, and one after a break, is forward Euler for T and backward Euler for C; starting so is
what keeps the limited scheme positive.

Emission jumps, so that its rate at n+1 does not say what is emitted in a step. With e(n) the amount emitted in the step
that ends at n, the formula is applied to c less all that was emitted, which adds

    e(n+1) - omega^2/(1 + 2 omega) e(n) = g [ E' + omega/(1 + omega) (E' - E) ],     g = (1 + omega)/(1 + 2 omega) dt

to the right side, solved for c(n+1): E' and E are the rates of this step and of the one before. While the rate stays
this is g E', as for any column term. It is negative where the rate falls below omega/(1 + 2 omega) of what it was.

For steps between other ones, without a history: a one-step Runge-Kutta formula of second order, ARS(2,2,2). With
gamma = 1 - 1/sqrt 2 and delta = 1 - 1/(2 gamma),

    c(1) = c(0) + gamma dt T(c(0)) + gamma dt C(c(1))                                          at t + gamma dt
    c(2) = c(0) + dt [delta T(c(0)) + (1 - delta) T(c(1))] + dt [(1 - gamma) C(c(1)) + gamma C(c(2))]     at t + dt

L-stable in C. With dt C(c(1)) from the first line, the second one needs no more than c(0), c(1) and T(c(0)): the terms
that the two-step formula has too, so that one compiled step serves both.

Sources: Verwer, Blom & Hundsdorfer 1996, Appl. Numer. Math. 20, 191-209;
Hundsdorfer, Ruuth & Spiteri 2003, SIAM J. Numer. Anal. 41, 605-623;
ARS(2,2,2): Ascher, Ruuth & Spiteri 1997, Appl. Numer. Math. 25, 151-167.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Final


@dataclass(frozen=True)
class StageWeights:
    """Weights of an application of a formula from n to n+1, for transport T and column terms C.

        A(n+1) q(n+1) = c0 A(n) q(n) + c1 A(n-1) q(n-1) + t0 T(n) + t1 T(n-1) + g C(n+1)

    s0, s1: the iteration for q(n+1) starts at s0 q(n) + s1 q(n-1).
    """

    c0: float
    c1: float
    t0: float
    t1: float
    g: float
    s0: float
    s1: float


GAMMA: Final = 1.0 - 1.0 / sqrt(2.0)
_DELTA: Final = 1.0 - 0.5 / GAMMA

GROWTH: Final = 1.3
"""Greatest ratio of a step to the one before; one that is to be longer begins anew.

The formula is stable in zero for ratios below 1 + sqrt 2 = 2.41 (Grigorieff 1983, Numer. Math. 42, 359-377). With the
limiter less is safe: a single ratio of 2 clipped 2e-5 of a disc's mass, several of 1.6 in a row 3e-4, of 1.3 nothing.
"""

LEAST_SHARE: Final = 1e-7
"""Of what a species emits, what may be emitted negatively: where it falls below zero that is clipped, and counted."""

EULER_STEPS: Final = 7
"""Steps that begin anew where more would be negative.

One makes what is emitted exact. Of a species that lives for a step or less, and is no longer made, the formula then
makes a part negative; each further step by Euler leaves a third of that or so, and seven 6e-6 of a release at most.
They are of first order, but small beside the formula's own error: one each hour leaves that of ozone and its precursors
over western Europe as it is, six bring NO2 from 0.09 to 0.14 %.
"""

_FARTHEST: Final = 20.0
"""By how many lengths of the last step the start of an iteration looks ahead at most, where steps grow."""


def two_step_weights(step: float, previous: float | None, *, anew: bool = False) -> StageWeights:
    """Return the weights for a step [s] after a step of length `previous` [s]; None for the first one.

    anew  whether it begins anew after an earlier one, which then gives the start of the iteration alone
    """
    if previous is None:
        return StageWeights(c0=1.0, c1=0.0, t0=step, t1=0.0, g=step, s0=1.0, s1=0.0)
    ratio = step / previous
    ahead = min(ratio, _FARTHEST)
    if anew:
        return StageWeights(c0=1.0, c1=0.0, t0=step, t1=0.0, g=step, s0=1.0 + ahead, s1=-ahead)
    scale = (1.0 + ratio) / (1.0 + 2.0 * ratio)
    # c0 and c1 add up to one exactly, so that what does not change keeps its bits: the difference 1 - c0 is not rounded
    c0 = 1.0 + ratio**2 / (1.0 + 2.0 * ratio)
    return StageWeights(
        c0=c0,
        c1=1.0 - c0,
        t0=scale * step * (1.0 + ratio),
        t1=-scale * step * ratio,
        g=scale * step,
        s0=1.0 + ahead,
        s1=-ahead,
    )


def weight_of_jump(step: float, previous: float) -> float:
    """Return what the jump E' - E of an emission weighs in the first step [s] after it, omega/(1 + omega)."""
    return step / (step + previous)


def one_step_weights(step: float, *, again: bool = False) -> tuple[StageWeights, StageWeights]:
    """Return the weights of both stages of a step [s]: the first ends at GAMMA of it, the second at its end.

    again  whether the second one is backward Euler along columns, from the end of the first: first order and positive.
           Transport has the weights of ARS(2,2,2).
    """
    own = GAMMA * step
    first = StageWeights(c0=1.0, c1=0.0, t0=own, t1=0.0, g=own, s0=1.0, s1=0.0)
    if again:
        t0, t1 = step * (1.0 - _DELTA), step * (_DELTA - GAMMA)
        return first, StageWeights(c0=1.0, c1=0.0, t0=t0, t1=t1, g=step - own, s0=1.0, s1=0.0)
    c0 = (1.0 - GAMMA) / GAMMA
    second = StageWeights(
        c0=c0, c1=1.0 - c0, t0=step * (1.0 - _DELTA), t1=step * (_DELTA - 1.0 + GAMMA), g=own, s0=1.0, s1=0.0
    )
    return first, second


@dataclass(frozen=True)
class Formula:
    """A formula that advances operators over the span of a stage.

    Parameters
    ----------
    name
        As in the weights of a stage.
    order
        Of accuracy in the length of a step.
    history
        The number of earlier time levels that it reads.
    applications
        Returns the weights of its applications in a step [s] after a step of a length [s], which is None at a start.
    source
        Publication.
    """

    name: str
    order: int
    history: int
    applications: Callable[[float, float | None], tuple[StageWeights, ...]]
    source: str

    def advances(self, step: float, previous: float | None) -> list[tuple[float, float]]:
        """Return by how much [s] the state has advanced after each application, at constant rates.

        By transport alone, and by column terms alone: equal, and the whole step after the last application.
        """
        found: list[list[float]] = []
        for of_transport in (1.0, 0.0):
            newest, older = step, step - (previous or 0.0)  # at the start it is the length of the step, not zero
            found.append([])
            for w in self.applications(step, previous):
                right = w.c0 * newest + w.c1 * older + (w.t0 + w.t1) * of_transport + w.g * (1.0 - of_transport)
                older, newest = newest, right
                found[-1].append(newest - step)
        return list(zip(*found, strict=True))


FORMULAS: Final = {
    each.name: each
    for each in (
        Formula(
            "two-step", 2, 1, lambda step, previous: (two_step_weights(step, previous),),
            "Verwer, Blom & Hundsdorfer 1996, Appl. Numer. Math. 20, 191-209",
        ),
        Formula(
            "ARS(2,2,2)", 2, 0, lambda step, previous: one_step_weights(step),
            "Ascher, Ruuth & Spiteri 1997, Appl. Numer. Math. 25, 151-167",
        ),
    )
}  # fmt: skip
"""Formulas of stages by their names."""
