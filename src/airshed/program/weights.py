"""Implicit-explicit formulas of steps: two-step BDF with a history, and ARS(2,2,2) without one.

The first is the extrapolated two-step backward differentiation formula. With omega = dt / previous dt, transport T
explicit and column terms C implicit it reads

    (1 + 2 omega)/(1 + omega) c(n+1) - (1 + omega) c(n) + omega^2/(1 + omega) c(n-1)
        = dt [ (1 + omega) T(n) - omega T(n-1) + C(n+1) ],

second order. The first step, and one that restarts the formula, is forward Euler for T and backward Euler for C: this
Euler start keeps the limited scheme positive.

Emission jumps, so that its rate at n+1 does not determine the amount emitted in a step. With e(n) the amount emitted in
the step that ends at n, the formula is applied to c minus the cumulative emission, which adds

    e(n+1) - omega^2/(1 + 2 omega) e(n) = g [ E' + omega/(1 + omega) (E' - E) ],     g = (1 + omega)/(1 + 2 omega) dt

to the right side, solved for c(n+1). E' and E are the rates of this step and of the one before. At constant rate it is
g E', as for any column term. It is negative where the rate falls below omega/(1 + 2 omega) of its earlier value.

Stages of a splitting take a one-step Runge-Kutta formula of second order, ARS(2,2,2), which has no history. With
gamma = 1 - 1/sqrt 2 and delta = 1 - 1/(2 gamma),

    c(1) = c(0) + gamma dt T(c(0)) + gamma dt C(c(1))                                          at t + gamma dt
    c(2) = c(0) + dt [delta T(c(0)) + (1 - delta) T(c(1))] + dt [(1 - gamma) C(c(1)) + gamma C(c(2))]     at t + dt

L-stable in C. With dt C(c(1)) from the first line, the second one needs c(0), c(1), T(c(0)) and T(c(1)) alone: the
terms of the two-step formula, so that one compiled step serves both.

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
    """Weights of one application of a formula from n to n+1, for transport T and column terms C.

        A(n+1) q(n+1) = c0 A(n) q(n) + c1 A(n-1) q(n-1) + t0 T(n) + t1 T(n-1) + g C(n+1)

    The iteration for q(n+1) starts at s0 q(n) + s1 q(n-1).
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
"""Greatest ratio of a step to the one before; a longer step restarts the formula.

The formula is zero-stable for ratios below 1 + sqrt 2 = 2.41 (Grigorieff 1983, Numer. Math. 42, 359-377). The limiter
requires less. In an experiment with a disc, one ratio of 2 clipped 2e-5 of the mass, several of 1.6 in a row 3e-4, and
ratios of 1.3 nothing.
"""

MOST_NEGATIVE: Final = 1e-7
"""Largest share of the emission of a species that may be negative after a jump; beyond it the formula restarts.

Concentrations below zero that follow from it are clipped, and counted in the budget.
"""

EULER_STEPS: Final = 7
"""Number of Euler steps after a jump that would make more than :data:`MOST_NEGATIVE` of the emission negative.

One Euler step makes the emitted amount exact. The formula then makes a part of a species negative if that lives for a
step or less and is no longer emitted. Each further Euler step reduces this part to a third; after seven it is 6e-6 of a
release at most. Euler steps are of first order, but few: one each hour does not change the error of ozone and its
precursors over western Europe, six raise that of NO2 from 0.09 to 0.14 %.
"""

_MOST_AHEAD: Final = 20.0
"""Limit of the extrapolation from which the iteration starts, in lengths of the last step."""


def two_step_weights(step: float, previous: float | None, *, restart: bool = False) -> StageWeights:
    """Return the weights for a step [s] after a step of length `previous` [s]; None for the first one.

    restart  whether the step is an Euler start after an earlier one, which then gives the start of the iteration alone
    """
    if previous is None:
        return StageWeights(c0=1.0, c1=0.0, t0=step, t1=0.0, g=step, s0=1.0, s1=0.0)
    ratio = step / previous
    ahead = min(ratio, _MOST_AHEAD)
    if restart:
        return StageWeights(c0=1.0, c1=0.0, t0=step, t1=0.0, g=step, s0=1.0 + ahead, s1=-ahead)
    scale = (1.0 + ratio) / (1.0 + 2.0 * ratio)
    # c0 and c1 add up to one exactly, so that a constant field keeps its bits: the difference 1 - c0 is not rounded
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
    """Return the weight of the jump E' - E of an emission in the first step [s] after it, omega/(1 + omega)."""
    return step / (step + previous)


def one_step_weights(step: float, *, euler_columns: bool = False) -> tuple[StageWeights, StageWeights]:
    """Return the weights of both applications in a step [s]: the first ends at GAMMA of it, the second at its end.

    euler_columns  whether the second one is backward Euler along columns, from the end of the first: first order and
                   positive. Transport has the weights of ARS(2,2,2).
    """
    own = GAMMA * step
    first = StageWeights(c0=1.0, c1=0.0, t0=own, t1=0.0, g=own, s0=1.0, s1=0.0)
    if euler_columns:
        t0, t1 = step * (1.0 - _DELTA), step * (_DELTA - GAMMA)
        return first, StageWeights(c0=1.0, c1=0.0, t0=t0, t1=t1, g=step - own, s0=1.0, s1=0.0)
    c0 = (1.0 - GAMMA) / GAMMA
    second = StageWeights(
        c0=c0, c1=1.0 - c0, t0=step * (1.0 - _DELTA), t1=step * (_DELTA - 1.0 + GAMMA), g=own, s0=1.0, s1=0.0
    )
    return first, second


@dataclass(frozen=True)
class Formula:
    """Formula that advances operators over the span of a stage.

    Parameters
    ----------
    name
        The name by which stages choose it, see :attr:`airshed.program.stage.Stage.weights`.
    order
        Order of accuracy in the length of a step.
    history
        Number of earlier time levels that it reads.
    applications
        Function of the length of a step and of the step before [s], None for an Euler start. It returns the weights of
        each application of the formula in the step.
    source
        Publication.
    """

    name: str
    order: int
    history: int
    applications: Callable[[float, float | None], tuple[StageWeights, ...]]
    source: str

    def advances(self, step: float, previous: float | None) -> list[tuple[float, float]]:
        """Return by how much [s] transport and column terms have advanced the state after each application.

        Rates are constant. Both are equal to the whole step after the last application of a consistent formula.
        """
        found: list[list[float]] = []
        for of_transport in (1.0, 0.0):
            newest, older = step, step - (previous or 0.0)  # any nonzero start: it shows errors in c0 + c1
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
