"""Recognition of the format's rate forms in an expression, however it is written."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import exp, isclose, log
from typing import Final

from airshed.formula.tree import Binary, Call, Expression, Negate, Number, Symbol
from airshed.mechanism import rate_forms
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.openatmos.rates import NUMBER, RADIUS
from airshed.mechanism.rate_forms import TEMP


@dataclass(frozen=True)
class Form:
    """Rate as a form with numbers in molecules, cm3, s.

    numbers     key of the file -> value
    orders      key of a rate constant -> its order beyond that of the reaction
    expression  of the form with these numbers; it may differ from the rate in notation
    """

    kind: str
    numbers: dict[str, float | list[float]]
    orders: dict[str, int]
    expression: Expression


def recognise(rate: Expression) -> Form | None:
    """Return the rate as one of the forms that depend on the air alone, or None."""
    return product_form(rate) or _falloff_form(rate)


def alike(first: Expression, second: Expression) -> bool:
    """Return whether two expressions are the same except for the last digits of their numbers."""
    if isinstance(first, Number) and isinstance(second, Number):
        return isclose(first.value, second.value, rel_tol=1e-15)
    if type(first) is not type(second) or len(first.children) != len(second.children):
        return False
    for one, two in zip(first.children, second.children, strict=True):
        if not alike(one, two):
            return False
    return (bool(first.children) and _head(first) == _head(second)) or (not first.children and first == second)


def _head(node: Expression) -> str:
    match node:
        case Binary(operator, _, _):
            return operator
        case Call(name, _):
            return name
    return ""


@dataclass
class _Product:
    """A exp(C/T) exp(cubic/T^3) (T/D)^B (1 + E P) (c0 + c1 T + ...)."""

    A: float = 1.0
    B: float = 0.0
    C: float = 0.0
    D: float = 300.0
    E: float = 0.0
    cubic: float = 0.0
    series: list[float] = field(default_factory=list)


def product_form(rate: Expression) -> Form | None:
    """Return the rate as ARRHENIUS, TUNNELING or TAYLOR_SERIES, or None."""
    product = _Product()
    for factor, sign in _factors(rate, 1):
        if not _take(product, factor, sign):
            return None
    if product.cubic and not (product.B or product.E or product.series):
        numbers: dict[str, float | list[float]] = {"A": product.A, "B": 0.0 - product.C, "C": product.cubic}
        return Form("TUNNELING", numbers, {"A": 0}, rate_forms.tunneling(product.A, 0.0 - product.C, product.cubic))
    if product.cubic:
        return None
    numbers = {key: getattr(product, key) for key in "ABCDE"}
    base = rate_forms.arrhenius(product.A, product.B, product.C, product.D, product.E)
    if not product.series:
        return Form("ARRHENIUS", numbers, {"A": 0}, base)
    numbers["taylor coefficients"] = product.series
    return Form("TAYLOR_SERIES", numbers, {"A": 0}, rate_forms.taylor_series(product.series, base))


def _factors(rate: Expression, sign: int) -> Iterator[tuple[Expression, int]]:
    match rate:
        case Binary("*", left, right):
            yield from _factors(left, sign)
            yield from _factors(right, sign)
        case Binary("/", left, right):
            yield from _factors(left, sign)
            yield from _factors(right, -sign)
        case Negate(operand):
            yield Number(-1.0), 1
            yield from _factors(operand, sign)
        case _:
            yield rate, sign


def _take(product: _Product, factor: Expression, sign: int) -> bool:
    """Assign a factor to the product; return whether it has a place for it."""
    match factor:
        case Number(value):
            if sign < 0 and value == 0.0:
                return False
            product.A = product.A * value if sign > 0 else product.A / value
            return True
        case Call("exp", (argument,)):
            return all(
                _take_exponent(product, power, sign * number) for power, number in _inverse_powers(argument, 1.0)
            )
        case Symbol("TEMP"):
            return _take_power(product, 1.0, float(sign))
        case Binary("^", Symbol("TEMP"), Number(power)):
            return _take_power(product, 1.0, sign * power)
        case Binary("^", Binary("/", Symbol("TEMP"), Number(scale)), Number(power)):
            return _take_power(product, scale, sign * power)
        case Binary("^", Binary("/", Number(scale), Symbol("TEMP")), Number(power)):
            return _take_power(product, scale, -sign * power)
        case Binary("+", Number(1.0), Binary("*", Number(value), Symbol("PRESS"))) if sign > 0 and not product.E:
            product.E = value
            return True
    series = _series(factor) if sign > 0 and not product.series else None
    product.series = series or product.series
    return series is not None


def _take_power(product: _Product, scale: float, power: float) -> bool:
    if product.B or scale <= 0.0:
        return False
    product.B, product.D = power, scale
    return True


def _take_exponent(product: _Product, power: int, number: float) -> bool:
    match power:
        case 0 if abs(number) < 700.0:
            product.A *= exp(number)
        case 1:
            product.C += number
        case 3:
            product.cubic += number
        case _:
            return False
    return True


def _inverse_powers(exponent: Expression, scale: float) -> Iterator[tuple[int, float]]:
    """Yield the summands number / T^power of an exponent; power -1 for anything else."""
    match exponent:
        case Number(value):
            yield 0, scale * value
        case Negate(operand):
            yield from _inverse_powers(operand, -scale)
        case Binary("+" | "-" as operator, left, right):
            yield from _inverse_powers(left, scale)
            yield from _inverse_powers(right, scale if operator == "+" else -scale)
        case Binary("/", Number(value), Symbol("TEMP")):
            yield 1, scale * value
        case Binary("/", Negate(operand), Symbol("TEMP")):
            yield from _inverse_powers(Binary("/", operand, TEMP), -scale)
        case Binary("/", Number(value), Binary("^", Symbol("TEMP"), Number(3.0))):
            yield 3, scale * value
        case Binary("*", Number(value), inner) | Binary("*", inner, Number(value)):
            yield from _inverse_powers(inner, scale * value)
        case _:
            yield -1, 0.0


def _series(factor: Expression) -> list[float] | None:
    """Return the coefficients of c0 + T (c1 + T (...))."""
    match factor:
        case Binary("+", Number(value), Binary("*", Symbol("TEMP"), Number(last))):
            return [value, last]
        case Binary("+", Number(value), Binary("*", Symbol("TEMP"), inner)):
            rest = _series(inner)
            return None if rest is None else [value, *rest]
    return None


_LOW, _HIGH, _DIRECT, _FC, _N = (Parameter(name) for name in ("?k0", "?kinf", "?kint", "?Fc", "?N"))
_FALLOFFS: Final = (
    ("TROE", {"k0": 1, "kinf": 0}, rate_forms.troe(_LOW, _HIGH, _FC, _N)),
    (
        "TERNARY_CHEMICAL_ACTIVATION",
        {"k0": 0, "kinf": -1},
        rate_forms.ternary_chemical_activation(_LOW, _HIGH, _FC, _N),
    ),
    (
        "TERNARY_CHEMICAL_ACTIVATION_JPL19",
        {"k0": 1, "kinf": 0, "kint": 0},
        rate_forms.chemical_activation_jpl19(_LOW, _HIGH, _DIRECT, _FC, _N),
    ),
)


def _falloff_form(rate: Expression) -> Form | None:
    for kind, orders, pattern in _FALLOFFS:
        found: dict[str, Expression] = {}
        if _matches(pattern, rate, found):
            return _falloff(kind, orders, found, rate)
    return None


def _falloff(kind: str, orders: dict[str, int], found: dict[str, Expression], rate: Expression) -> Form | None:
    broadening = found["?Fc"], found["?N"]
    if not all(isinstance(each, Number) for each in broadening):
        return None
    numbers: dict[str, float | list[float]] = {
        key[1:]: each.value for key, each in found.items() if isinstance(each, Number) and key in ("?Fc", "?N")
    }
    for prefix in orders:
        form = product_form(found[f"?{prefix}"])
        reference = 300.0 if len(orders) == 2 else 298.0
        if form is None or form.kind != "ARRHENIUS" or form.numbers["E"]:
            return None
        same = form.numbers["D"] == reference or not form.numbers["B"]
        if not same and len(orders) == 2:
            return None
        numbers |= {f"{prefix}_{key}": form.numbers[key] for key in "ABC"}
        if not same:
            numbers[f"{prefix}_D"] = form.numbers["D"]
    return Form(kind, numbers, {f"{prefix}_A": order for prefix, order in orders.items()}, rate)


def _matches(pattern: Expression, rate: Expression, found: dict[str, Expression]) -> bool:
    """Return whether a rate matches the pattern, with any expression for names that start with ``?``."""
    if isinstance(pattern, Parameter) and pattern.name.startswith("?"):
        return found.setdefault(pattern.name, rate) == rate
    if type(pattern) is not type(rate) or _head(pattern) != _head(rate):
        return False
    parts, others = pattern.children, rate.children
    if not parts:
        return pattern == rate
    return len(parts) == len(others) and all(_matches(*pair, found) for pair in zip(parts, others, strict=True))


# Uptake on particles, and the branches of RO2 + NO.


@dataclass(frozen=True)
class Uptake:
    """Rate of type SURFACE: the name of the particles, and its numbers."""

    name: str
    probability: float
    diffusion: float


@dataclass(frozen=True)
class Branch:
    """Branch of RO2 + NO."""

    alkoxy: bool
    X: float
    Y: float
    a0: float
    n: float


def uptake(rate: Expression) -> Uptake | None:
    """Return the rate as one of uptake on particles, or None; the molar mass is that of the species."""
    match rate:
        case Binary(
            "/",
            Binary("*", Binary("*", Binary("*", Number(_), Parameter(number)), Parameter(radius)), Parameter(_)),
            Binary("+", Binary("/", Parameter(_), Number(diffusion)), Binary("/", Number(inverse), Call("sqrt", _))),
        ):
            name = radius.removeprefix("SURF.").removesuffix(f".{RADIUS}")
            named = number == f"SURF.{name}.{NUMBER}" and radius == f"SURF.{name}.{RADIUS}"
            return Uptake(name, 4.0 / inverse, diffusion) if named and inverse else None
    return None


def branch(rate: Expression) -> Branch | None:
    """Return the rate as one branch of RO2 + NO, or None."""
    match rate:
        case Binary("*", front, Binary("/", top, Binary("+", share, Number(other)))):
            form, n = product_form(front), _heavy_atoms(share)
            if form is None or form.kind != "ARRHENIUS" or n is None:
                return None
            even = rate_forms.branching_ratio(0.5, n)
            X, Y = form.numbers["A"], form.numbers["C"]
            if other < 0.0 or not isinstance(X, float) or not isinstance(Y, float):
                return None
            found = Branch(top != share, X, 0.0 - Y, round(even / (even + other), 12), n)
            build = rate_forms.branched_alkoxy if found.alkoxy else rate_forms.branched_nitrate
            return found if alike(build(found.X, found.Y, found.a0, n), rate) else None
    return None


def _heavy_atoms(share: Expression) -> float | None:
    match share:
        case Binary("*", Binary("/", Binary("*", Number(limit), Symbol("M")), _), _) if limit > 0.0:
            n = round(log(limit / rate_forms.branching_limit(0.0)), 9)
            return n if 0.0 <= n <= 100.0 else None
    return None
