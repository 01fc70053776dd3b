"""The forms of rate constants that the field's formats name, as expressions in molecules, cm3, s, K and Pa.

Symbols: T air temperature [K], P air pressure [Pa], M air [molecules cm-3]. A rate constant of n reactants has the unit
(molecules cm-3)^(1-n) s-1, written U(n) here. Factors that are one are left out, so that no kernel computes them.

Sources: the OpenAtmos mechanism format v1 and MICM, which computes it (Dawson et al., The Musica project, 2024);
JPL 19-5 (Burkholder et al., 2019) for falloff and chemical activation; Wennberg et al., Chem. Rev. 118 (2018) for
RO2 + NO and for tunneling. Where they differ, MICM's form stands here.
"""

from collections.abc import Sequence
from math import exp, log10, pi
from typing import Final

from airshed.core.constants import GAS_CONSTANT
from airshed.mechanism.expressions import Binary, Call, Expression, Negate, Number, Operator, Symbol

TEMP: Final = Symbol("TEMP")
PRESS: Final = Symbol("PRESS")
AIR: Final = Symbol("M")
ONE: Final = Number(1.0)
FC: Final = Number(0.6)

BRANCHING_AIR: Final = 2.45e19
"""Air at which the branching of RO2 + NO is a0 [molecules cm-3]; its temperature is 293 K."""


def arrhenius(A: float = 1.0, B: float = 0.0, C: float = 0.0, D: float = 300.0, E: float = 0.0) -> Expression:
    """ARRHENIUS: k = A exp(C/T) (T/D)^B (1 + E P).

    A [U(n)], B [1], C = -Ea/kB [K], D [K], E [1/Pa]. Source: OpenAtmos v1, MICM.
    """
    factors: list[Expression] = [Number(A)]
    if C:
        factors.append(Call("EXP", (_over(Number(C), TEMP),)))
    if B:
        factors.append(Binary("^", _over(TEMP, Number(D)), Number(B)))
    if E:
        factors.append(Binary("+", ONE, _times(Number(E), PRESS)))
    return _product(factors)


def taylor_series(coefficients: Sequence[float], base: Expression) -> Expression:
    """TAYLOR_SERIES: k = base * (c0 + c1 T + c2 T^2 + ...), base as in :func:`arrhenius`.

    c_j [K^-j]. Source: OpenAtmos v1, MICM (whose Python package 0.17.2 leaves out all but c0).
    """
    *lower, highest = coefficients
    series: Expression = Number(highest)
    for coefficient in reversed(lower):
        series = Binary("+", Number(coefficient), _times(TEMP, series))
    return _times(base, series)


def tunneling(A: float = 1.0, B: float = 0.0, C: float = 0.0) -> Expression:
    """TUNNELING: k = A exp(-B/T + C/T^3).

    A [U(n)], B [K], C [K3]. Source: Wennberg et al. 2018, OpenAtmos v1, MICM.
    """
    exponent = Binary("+", Negate(_over(Number(B), TEMP)), _over(Number(C), Binary("^", TEMP, Number(3.0))))
    return _times(Number(A), Call("EXP", (exponent,)))


def troe(low: Expression, high: Expression, Fc: Expression = FC, N: Expression = ONE) -> Expression:
    """TROE: k = k0 M / (1 + x) * Fc^(N / (N + log10(x)^2)), x = k0 M / kinf.

    k0 = low [U(n+1)], kinf = high [U(n)], Fc and N [1]. Source: JPL 19-5, OpenAtmos v1, MICM.
    """
    return _times(_over(_times(low, AIR), _one_plus(_ratio(low, high))), _broadening(_ratio(low, high), Fc, N))


def ternary_chemical_activation(
    low: Expression, high: Expression, Fc: Expression = FC, N: Expression = ONE
) -> Expression:
    """TERNARY_CHEMICAL_ACTIVATION: k = k0 / (1 + x) * Fc^(N / (N + log10(x)^2)), x = k0 M / kinf.

    k0 = low [U(n)], kinf = high [U(n-1)], Fc and N [1]. Source: JPL 15-10, OpenAtmos v1, MICM.
    """
    return _times(_over(low, _one_plus(_ratio(low, high))), _broadening(_ratio(low, high), Fc, N))


def chemical_activation_jpl19(
    low: Expression, high: Expression, direct: Expression, Fc: Expression = FC, N: Expression = ONE
) -> Expression:
    """TERNARY_CHEMICAL_ACTIVATION_JPL19: k = kf + kint (1 - kf/kinf), kf the falloff of :func:`troe`.

    k0 = low [U(n+1)], kinf = high and kint = direct [U(n)], Fc and N [1]. Source: JPL 19-5 section 2, MICM.
    """
    falloff = troe(low, high, Fc, N)
    return Binary("+", falloff, _times(direct, Binary("-", ONE, _over(falloff, high))))


def branched_nitrate(X: float, Y: float, a0: float, n: float) -> Expression:
    """BRANCHED, the nitrate of RO2 + NO: k = X exp(-Y/T) A / (A + Z), A(T, M) the falloff below.

    A = a / (1 + a/b) * 0.41^(1 / (1 + log10(a/b)^2)), a = 2e-22 e^n M, b = 0.43 (T/298)^-8,
    Z = A(293 K, 2.45e19) (1 - a0)/a0. X [U(n)], Y [K], a0 [1] the nitrate's share there, n the heavy atoms of RO2
    without the peroxy group. Source: Wennberg et al. 2018, OpenAtmos v1, MICM.
    """
    share, other = _nitrate(n), Number(branching_ratio(a0, n))
    return _times(arrhenius(X, C=-Y), _over(share, Binary("+", share, other)))


def branched_alkoxy(X: float, Y: float, a0: float, n: float) -> Expression:
    """BRANCHED, the alkoxy radical of RO2 + NO: k = X exp(-Y/T) Z / (A + Z), as in :func:`branched_nitrate`."""
    share, other = _nitrate(n), Number(branching_ratio(a0, n))
    return _times(arrhenius(X, C=-Y), _over(other, Binary("+", share, other)))


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
        return _times(Number(0.0), _times(number, radius))  # the limit, which no division by zero must stand for
    speed = Call("SQRT", (_times(Number(speed_factor(molar_mass)), TEMP),))
    area = _times(_times(_times(Number(4.0 * pi), number), radius), radius)
    resistance = Binary("+", _over(radius, Number(diffusion)), _over(Number(4.0 / probability), speed))
    return _over(area, resistance)


def speed_factor(molar_mass: float) -> float:
    """Return 8 R / (pi m) of a molar mass [kg/mol]: the square of the mean speed over T [m2 s-2 K-1]."""
    return 8.0 * GAS_CONSTANT / (pi * molar_mass)


def scaled(factor: float, rate: Expression) -> Expression:
    """PHOTOLYSIS, EMISSION, FIRST_ORDER_LOSS, USER_DEFINED: k = factor * rate, a factor of one left out."""
    return rate if factor == 1.0 else _times(Number(factor), rate)


def _nitrate(n: float) -> Expression:
    low = _times(Number(branching_limit(n)), AIR)
    ratio = _over(low, _times(Number(0.43), Binary("^", _over(TEMP, Number(298.0)), Number(-8.0))))
    return _times(_over(low, _one_plus(ratio)), _broadening(ratio, Number(0.41), ONE))


def _ratio(low: Expression, high: Expression) -> Expression:
    return _over(_times(low, AIR), high)


def _broadening(ratio: Expression, Fc: Expression, N: Expression) -> Expression:
    square = Binary("^", Call("LOG10", (ratio,)), Number(2.0))
    return Binary("^", Fc, _over(N, Binary("+", N, square)))


def _one_plus(value: Expression) -> Expression:
    return Binary("+", ONE, value)


def _times(left: Expression, right: Expression) -> Expression:
    return _binary("*", left, right)


def _over(left: Expression, right: Expression) -> Expression:
    return _binary("/", left, right)


def _binary(operator: Operator, left: Expression, right: Expression) -> Expression:
    return Binary(operator, left, right)


def _product(factors: Sequence[Expression]) -> Expression:
    product = factors[0]
    for factor in factors[1:]:
        product = _times(product, factor)
    return product
