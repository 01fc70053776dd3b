"""Forms of rate constants in common formats, as expressions in molecules, cm3, s, K and Pa.

Symbols: T air temperature [K], P air pressure [Pa], M air [molecules cm-3]. A rate constant of n reactants has the unit
(molecules cm-3)^(1-n) s-1, written U(n) here. Factors of one are omitted, so that no kernel computes them.

Sources: the OpenAtmos mechanism format v1 and MICM, which computes it (Dawson et al., The Musica project, 2024); JPL
19-5 (Burkholder et al., 2019) for falloff and chemical activation; Wennberg et al., Chem. Rev. 118 (2018) for RO2 + NO
and for tunneling. Where they differ, MICM's form is used.
"""

from collections.abc import Sequence
from math import exp, log10, pi
from typing import Final

from airshed.core.constants import GAS_CONSTANT
from airshed.formula.tree import Binary, Call, Expression, Negate, Number, Symbol

TEMP: Final = Symbol("TEMP")
PRESS: Final = Symbol("PRESS")
AIR_DENSITY: Final = Symbol("M")
ONE: Final = Number(1.0)
FC: Final = Number(0.6)
REFERENCE: Final = Number(300.0)

BRANCHING_AIR: Final = 2.45e19
"""Air at which the branching of RO2 + NO is a0 [molecules cm-3]; its temperature is 293 K."""


def arrhenius(A: float = 1.0, B: float = 0.0, C: float = 0.0, D: float = 300.0, E: float = 0.0) -> Expression:
    """ARRHENIUS: k = A exp(C/T) (T/D)^B (1 + E P).

    A [U(n)], B [1], C = -Ea/kB [K], D [K], E [1/Pa]. Source: OpenAtmos v1, MICM.
    """
    factors: list[Expression] = [Number(A)]
    if C:
        factors.append(exponential(Number(C)))
    if B:
        factors.append(power(Number(B), Number(D)))
    if E:
        factors.append(one_plus(times(Number(E), PRESS)))
    return times(*factors)


def exponential(C: Expression) -> Expression:
    """Return exp(C/T), C [K]."""
    return Call("exp", (over(C, TEMP),))


def power(B: Expression, D: Expression = REFERENCE) -> Expression:
    """Return (T/D)^B, B [1], D [K]."""
    return Binary("^", over(TEMP, D), B)


def taylor_series(coefficients: Sequence[float], base: Expression) -> Expression:
    """TAYLOR_SERIES: k = base * (c0 + c1 T + c2 T^2 + ...), base as in :func:`arrhenius`.

    c_j [K^-j]. Source: OpenAtmos v1, MICM (whose Python package 0.17.2 leaves out all but c0).
    """
    *lower, highest = coefficients
    series: Expression = Number(highest)
    for coefficient in reversed(lower):
        series = Binary("+", Number(coefficient), times(TEMP, series))
    return times(base, series)


def tunneling(A: float = 1.0, B: float = 0.0, C: float = 0.0) -> Expression:
    """TUNNELING: k = A exp(-B/T + C/T^3).

    A [U(n)], B [K], C [K3]. Source: Wennberg et al. 2018, OpenAtmos v1, MICM.
    """
    exponent = Binary("+", Negate(over(Number(B), TEMP)), over(Number(C), Binary("^", TEMP, Number(3.0))))
    return times(Number(A), Call("exp", (exponent,)))


def troe(low: Expression, high: Expression, Fc: Expression = FC, N: Expression = ONE) -> Expression:
    """TROE: k = k0 M / (1 + x) * Fc^(N / (N + log10(x)^2)), x = k0 M / kinf.

    k0 = low [U(n+1)], kinf = high [U(n)], Fc and N [1]. Source: JPL 19-5, OpenAtmos v1, MICM.
    """
    return falloff(times(low, AIR_DENSITY), high, Fc, N)


def falloff(
    low: Expression, high: Expression, Fc: Expression = FC, N: Expression = ONE, width: Expression = ONE
) -> Expression:
    """k = low / (1 + x) * Fc^(N / (N + (log10(x)/width)^2)), x = low/high.

    low = k0 M and high = kinf, both [U(n)]; Fc, N and width [1]. Source: as :func:`troe`.
    """
    ratio = over(low, high)
    return times(over(low, one_plus(ratio)), _broadening(ratio, Fc, N, width))


def ternary_chemical_activation(
    low: Expression, high: Expression, Fc: Expression = FC, N: Expression = ONE
) -> Expression:
    """TERNARY_CHEMICAL_ACTIVATION: k = k0 / (1 + x) * Fc^(N / (N + log10(x)^2)), x = k0 M / kinf.

    k0 = low [U(n)], kinf = high [U(n-1)], Fc and N [1]. Source: JPL 15-10, OpenAtmos v1, MICM.
    """
    ratio = over(times(low, AIR_DENSITY), high)
    return times(over(low, one_plus(ratio)), _broadening(ratio, Fc, N))


def chemical_activation_jpl19(
    low: Expression, high: Expression, direct: Expression, Fc: Expression = FC, N: Expression = ONE
) -> Expression:
    """TERNARY_CHEMICAL_ACTIVATION_JPL19: k = kf + kint (1 - kf/kinf), kf the falloff of :func:`troe`.

    k0 = low [U(n+1)], kinf = high and kint = direct [U(n)], Fc and N [1]. Source: JPL 19-5 section 2, MICM.
    """
    limited = troe(low, high, Fc, N)
    return Binary("+", limited, times(direct, Binary("-", ONE, over(limited, high))))


def branched_nitrate(X: float, Y: float, a0: float, n: float) -> Expression:
    """BRANCHED, the nitrate of RO2 + NO: k = X exp(-Y/T) A / (A + Z), A(T, M) the falloff below.

    A = a / (1 + a/b) * 0.41^(1 / (1 + log10(a/b)^2)), a = 2e-22 e^n M, b = 0.43 (T/298)^-8,
    Z = A(293 K, 2.45e19) (1 - a0)/a0. X [U(n)], Y [K], a0 [1] the nitrate's share there, n the heavy atoms of RO2
    without the peroxy group. Source: Wennberg et al. 2018, OpenAtmos v1, MICM.
    """
    share, other = _nitrate(n), Number(branching_ratio(a0, n))
    return times(arrhenius(X, C=-Y), over(share, Binary("+", share, other)))


def branched_alkoxy(X: float, Y: float, a0: float, n: float) -> Expression:
    """BRANCHED, the alkoxy radical of RO2 + NO: k = X exp(-Y/T) Z / (A + Z), as in :func:`branched_nitrate`."""
    share, other = _nitrate(n), Number(branching_ratio(a0, n))
    return times(arrhenius(X, C=-Y), over(other, Binary("+", share, other)))


def branching_ratio(a0: float, n: float) -> float:
    """Return Z of :func:`branched_nitrate` [1]."""
    low, high = branching_limit(n) * BRANCHING_AIR, 0.43 * (293.0 / 298.0) ** -8.0
    share: float = low / (1.0 + low / high) * 0.41 ** (1.0 / (1.0 + log10(low / high) ** 2))
    return share * (1.0 - a0) / a0


def branching_limit(n: float) -> float:
    """Return 2e-22 e^n of :func:`branched_nitrate` [cm3 molecules-1]."""
    return 2.0e-22 * exp(n)


def surface(
    radius: Expression, number: Expression, probability: float, diffusion: float, molar_mass: float
) -> Expression:
    """SURFACE, uptake on particles: k = 4 pi N r^2 / (r/D + 4/(v g)), v = sqrt(8 R T / (pi m)) [1/s].

    r radius [m], N number of particles [1/m3], g probability [1], D diffusion [m2/s], m molar mass [kg/mol],
    v mean speed [m/s]. Source: Fuchs and Sutugin 1971 as in OpenAtmos v1, MICM.
    """
    if probability == 0.0:
        return times(Number(0.0), times(number, radius))  # the limit, without a division by zero
    speed = Call("sqrt", (times(Number(speed_factor(molar_mass)), TEMP),))
    area = times(times(times(Number(4.0 * pi), number), radius), radius)
    resistance = Binary("+", over(radius, Number(diffusion)), over(Number(4.0 / probability), speed))
    return over(area, resistance)


def speed_factor(molar_mass: float) -> float:
    """Return 8 R / (pi m) of a molar mass [kg/mol]: the square of the mean speed over T [m2 s-2 K-1]."""
    return 8.0 * GAS_CONSTANT / (pi * molar_mass)


def scaled(factor: float, rate: Expression) -> Expression:
    """PHOTOLYSIS, EMISSION, FIRST_ORDER_LOSS, USER_DEFINED: k = factor * rate, a factor of one left out."""
    return rate if factor == 1.0 else times(Number(factor), rate)


def times(first: Expression, *others: Expression) -> Expression:
    """Return the product of expressions, multiplied from the left."""
    for other in others:
        first = Binary("*", first, other)
    return first


def over(dividend: Expression, divisor: Expression) -> Expression:
    """Return dividend/divisor."""
    return Binary("/", dividend, divisor)


def one_plus(value: Expression) -> Expression:
    """Return 1 + value."""
    return Binary("+", ONE, value)


def _nitrate(n: float) -> Expression:
    low = times(Number(branching_limit(n)), AIR_DENSITY)
    return falloff(low, times(Number(0.43), power(Number(-8.0), Number(298.0))), Number(0.41))


def _broadening(ratio: Expression, Fc: Expression, N: Expression, width: Expression = ONE) -> Expression:
    logarithm: Expression = Call("log10", (ratio,))
    if width is not ONE:
        logarithm = over(logarithm, width)
    return Binary("^", Fc, over(N, Binary("+", N, Binary("^", logarithm, Number(2.0)))))
