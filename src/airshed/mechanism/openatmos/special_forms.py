"""Finds rates of uptake on particles and of the two branches of RO2 + NO among expressions."""

from dataclasses import dataclass
from math import log

from airshed.formula.tree import Binary, Call, Expression, Number, Symbol
from airshed.mechanism import rate_forms
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.openatmos.forms import alike, product_form
from airshed.mechanism.openatmos.rates import NUMBER, RADIUS


@dataclass(frozen=True)
class Uptake:
    """A rate of type SURFACE: the name of the particles, and its numbers."""

    name: str
    probability: float
    diffusion: float


@dataclass(frozen=True)
class Branch:
    """One branch of RO2 + NO."""

    alkoxy: bool
    X: float
    Y: float
    a0: float
    n: float


def uptake(rate: Expression) -> Uptake | None:
    """Return the rate as one of uptake on particles, or None; the molar mass is known to the species."""
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
