"""A one-step implicit-explicit Runge-Kutta formula of second order, for transport and column terms between other steps.

ARS(2,2,2): with gamma = 1 - 1/sqrt 2 and delta = 1 - 1/(2 gamma), transport T explicit and column terms C implicit,

    c(1) = c(0) + gamma dt T(c(0)) + gamma dt C(c(1))                                          at t + gamma dt
    c(2) = c(0) + dt [delta T(c(0)) + (1 - delta) T(c(1))] + dt [(1 - gamma) C(c(1)) + gamma C(c(2))]     at t + dt

L-stable in C. With dt C(c(1)) from the first line, the second one needs no more than c(0), c(1) and T(c(0)): the terms
that the two-step formula has too, so that one compiled step serves both. Source: Ascher, Ruuth & Spiteri 1997,
Appl. Numer. Math. 25, 151-167.
"""

from math import sqrt
from typing import Final

from airshed.kernels.step.data import TwoStepWeights

GAMMA: Final = 1.0 - 1.0 / sqrt(2.0)
_DELTA: Final = 1.0 - 0.5 / GAMMA


def one_step_weights(step: float) -> tuple[TwoStepWeights, TwoStepWeights]:
    """Return the weights of both stages of a step [s]: the first ends at GAMMA of it, the second at its end."""
    own = GAMMA * step
    first = TwoStepWeights(c0=1.0, c1=0.0, t0=own, t1=0.0, g=own, s0=1.0, s1=0.0)
    c0 = (1.0 - GAMMA) / GAMMA
    second = TwoStepWeights(
        c0=c0, c1=1.0 - c0, t0=step * (1.0 - _DELTA), t1=step * (_DELTA - 1.0 + GAMMA), g=own, s0=1.0, s1=0.0
    )
    return first, second
