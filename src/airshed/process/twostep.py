"""The implicit-explicit extrapolated two-step backward differentiation formula, with steps of changing length.

With omega = dt / previous dt, transport T explicit and column terms C implicit,

    (1 + 2 omega)/(1 + omega) c(n+1) - (1 + omega) c(n) + omega^2/(1 + omega) c(n-1)
        = dt [ (1 + omega) T(n) - omega T(n-1) + C(n+1) ],

second order. The first step, and one after a break, is forward Euler for T and backward Euler for C; starting so is
what keeps the limited scheme positive. Sources: Verwer, Blom & Hundsdorfer 1996, Appl. Numer. Math. 20, 191-209;
Hundsdorfer, Ruuth & Spiteri 2003, SIAM J. Numer. Anal. 41, 605-623.
"""

from airshed.kernels.step_data import TwoStepWeights


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
