"""Rate constant of each reaction type, from the numbers of a file.

OpenAtmos v1 gives them in mol, m3 and s; Camp JSON in molecules, cm3 and s, or min. Open parameters of a type have the
names of MICM: ``PHOTO.x``, ``EMIS.x``, ``LOSS.x``, ``USER.x``, ``SURF.x.effective radius [m]``. Values are in
molecules, cm3 and s as everywhere in a network.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from airshed.core.constants import BOLTZMANN
from airshed.core.errors import MechanismError
from airshed.core.text import printable
from airshed.formula.evaluate import fold
from airshed.formula.tree import Expression, Number
from airshed.mechanism import rate_forms
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.kpp.meaning import read_rate
from airshed.mechanism.location import check_label, nearest
from airshed.mechanism.network import OpenParameter, Reaction
from airshed.mechanism.openatmos.document import Fields, Node
from airshed.mechanism.openatmos.species import DIFFUSION, MASS, Gas
from airshed.mechanism.openatmos.units import MOLECULES_PER_MOLE, rate_from_molar, rate_unit

PREFIXES: Final = {
    "PHOTOLYSIS": "PHOTO.",
    "EMISSION": "EMIS.",
    "FIRST_ORDER_LOSS": "LOSS.",
    "USER_DEFINED": "USER.",
    "LAMBDA_RATE_CONSTANT": "Lambda.",
}
"""Reaction type -> MICM's prefix of the name of its parameter."""

SURFACE: Final = "SURFACE"
BRANCHED: Final = "BRANCHED"
FORMS: Final = (
    "ARRHENIUS",
    "TROE",
    "TERNARY_CHEMICAL_ACTIVATION",
    "TERNARY_CHEMICAL_ACTIVATION_JPL19",
    "TUNNELING",
    "TAYLOR_SERIES",
)
"""Types whose rate depends on the air alone."""

RADIUS: Final = "effective radius [m]"
NUMBER: Final = "particle number concentration [# m-3]"

_MOST_COEFFICIENTS: Final = 16  # of a Taylor series, as in MICM


@dataclass(frozen=True)
class Units:
    """Units of the numbers of a file.

    camp    in molecules, cm3 and s rather than mol, m3 and s
    factor  from the file's unit of time: 1/60 for the minute
    """

    camp: bool
    factor: float = 1.0

    def rate(self, value: float, order: int) -> float:
        """Return a rate constant of `order` reactants in molecules, cm3, s."""
        return self.factor * (value if self.camp else rate_from_molar(value, order))


def form_rate(kind: str, fields: Fields, order: int, units: Units) -> Expression:
    """Return the rate of a type out of :data:`FORMS` for `order` reactants."""
    match kind:
        case "ARRHENIUS":
            return _arrhenius(fields, order, units)
        case "TAYLOR_SERIES":
            return rate_forms.taylor_series(_coefficients(fields), _arrhenius(fields, order, units))
        case "TUNNELING":
            A = units.rate(fields.number("A", 1.0), order)
            return rate_forms.tunneling(A, fields.number("B", 0.0), fields.number("C", 0.0))
    return _falloff(kind, fields, order, units, (_positive(fields, "Fc", 0.6), Number(fields.number("N", 1.0))))


def _falloff(kind: str, fields: Fields, order: int, units: Units, broadening: tuple[Number, Number]) -> Expression:
    def limit(prefix: str, order: int) -> Expression:
        return _limit(fields, prefix, units.rate(fields.number(f"{prefix}_A", 1.0), order))

    if kind == "TROE":
        return rate_forms.troe(limit("k0", order + 1), limit("kinf", order), *broadening)
    if kind == "TERNARY_CHEMICAL_ACTIVATION" and not units.camp:
        return rate_forms.ternary_chemical_activation(limit("k0", order), limit("kinf", order - 1), *broadening)
    if kind == "TERNARY_CHEMICAL_ACTIVATION":
        # MICM converts Camp's like those of TROE, so that its rate is f times that of the numbers.
        low, high = (
            _limit(fields, prefix, MOLECULES_PER_MOLE * units.rate(fields.number(f"{prefix}_A", 1.0), order))
            for prefix in ("k0", "kinf")
        )
        return rate_forms.ternary_chemical_activation(low, high, *broadening)
    low, high, direct = (
        _limit(fields, prefix, units.rate(fields.number(f"{prefix}_A", 1.0), power), f"{prefix}_D")
        for prefix, power in (("k0", order + 1), ("kinf", order), ("kint", order))
    )
    return rate_forms.chemical_activation_jpl19(low, high, direct, *broadening)


def branched_rates(fields: Fields, order: int, units: Units) -> tuple[Expression, Expression]:
    """Return the rates of the alkoxy and of the nitrate branch."""
    X, Y = units.rate(fields.number("X", 0.0), order), fields.number("Y", 0.0)
    share, atoms = fields.need("a0"), fields.number("n", 0.0)
    a0 = share.number()
    if not 0.0 < a0 <= 1.0:
        raise share.error(f"the nitrate's share a0 is above 0 and at most 1, not {a0:g}")
    if not 0.0 <= atoms <= 100.0:
        raise fields.need("n").error(f"the number of heavy atoms n is 0 to 100, not {atoms:g}")
    return rate_forms.branched_alkoxy(X, Y, a0, atoms), rate_forms.branched_nitrate(X, Y, a0, atoms)


def open_rate(kind: str, name: str, fields: Fields, order: int) -> tuple[Expression, OpenParameter]:
    """Return the rate of a type out of :data:`PREFIXES`, and its open parameter."""
    if kind == "LAMBDA_RATE_CONSTANT":
        fields.ignore("lambda function")  # code in another language, which MICM does not run either
    parameter = _opened(PREFIXES[kind] + name, rate_unit(order), TEXTS[kind], fields)
    return rate_forms.scaled(fields.number("scaling factor", 1.0), Parameter(parameter.name)), parameter


def _opened(name: str, unit: str, text: str, fields: Fields) -> OpenParameter:
    """Return the open parameter of a reaction; raise MechanismError with its location for an invalid label."""
    check_label("the open parameter", name, fields.node.location)
    return OpenParameter(name, unit, text)


def surface_rate(name: str, fields: Fields, gas: Gas) -> tuple[Expression, tuple[OpenParameter, OpenParameter]]:
    """Return the rate of uptake on particles, and its open parameters, their radius and number."""
    probability = fields.number("reaction probability", 1.0)
    if not 0.0 <= probability <= 1.0:
        raise fields.need("reaction probability").error(f"a probability is 0 to 1, not {probability:g}")
    mass, diffusion = gas.species.molar_mass, gas.diffusion
    for value, key in ((mass, MASS), (diffusion, DIFFUSION)):
        if value is None or value <= 0.0:
            raise fields.node.error(f"a reaction on surfaces needs {key!r} of {gas.species.name!r}")
    radius = _opened(f"SURF.{name}.{RADIUS}", "m", TEXTS[RADIUS], fields)
    number = _opened(f"SURF.{name}.{NUMBER}", "1/m3", TEXTS[NUMBER], fields)
    assert mass is not None
    assert diffusion is not None
    rate = rate_forms.surface(Parameter(radius.name), Parameter(number.name), probability, diffusion, mass)
    return rate, (radius, number)


TEXTS: Final[Mapping[str, str]] = {
    "PHOTOLYSIS": "rate of a light reaction",
    "EMISSION": "emission",
    "FIRST_ORDER_LOSS": "rate of loss",
    "USER_DEFINED": "rate given by the user",
    "LAMBDA_RATE_CONSTANT": "rate computed by the user's function",
    RADIUS: "effective radius of the particles",
    NUMBER: "number of particles",
}


def _arrhenius(fields: Fields, order: int, units: Units) -> Expression:
    numbers = {key: fields.number(key, default) for key, default in (("B", 0.0), ("C", 0.0), ("E", 0.0))}
    energy = fields.get("Ea")
    if energy is not None:
        if numbers["C"]:
            raise energy.error("either 'Ea' or 'C', not both: C = -Ea/kB")
        numbers["C"] = -energy.number() / BOLTZMANN
    A = units.rate(fields.number("A", 1.0), order)
    return rate_forms.arrhenius(A, D=_positive(fields, "D", 300.0).value, **numbers)


def _coefficients(fields: Fields) -> list[float]:
    node = fields.get("taylor coefficients")
    if node is None:
        return [1.0]
    numbers = [item.number() for item in node.items()]
    if not 1 <= len(numbers) <= _MOST_COEFFICIENTS:
        raise node.error(f"a series has 1 to {_MOST_COEFFICIENTS} coefficients, not {len(numbers)}")
    return numbers


def _limit(fields: Fields, prefix: str, A: float, reference: str = "") -> Expression:
    """Return a limit k(T) = A exp(C/T) (T/D)^B; only some types have a reference temperature D."""
    D = _positive(fields, reference, 298.0).value if reference else 300.0
    return rate_forms.arrhenius(A, fields.number(f"{prefix}_B", 0.0), fields.number(f"{prefix}_C", 0.0), D)


def _positive(fields: Fields, key: str, default: float) -> Number:
    value = fields.number(key, default)
    if value <= 0.0:
        raise fields.need(key).error(f"{key} is above zero, not {value:g}")
    return Number(value)


def expression_text(expression: Expression, where: str) -> str:
    """Return the text of a rate for a comment of a file: ``"__rate": "5.7e-34*(TEMP/300)^-2.8*M"`` [molecules, cm3, s].

    :func:`read_expression` converts it into the same folded expression.

    Raises MechanismError, which names the reaction, for a parameter whose name is invalid in a formula.
    """
    folded = fold(expression)
    text = str(folded)
    try:
        same = read_rate(text) == folded
    except MechanismError:
        same = False
    if not same:
        raise MechanismError(f"{where}: the rate {text[:80]!r} cannot be written as text: rename its open parameter")
    return text


def read_expression(node: Node) -> Expression:
    """Return the expression of a text; raise MechanismError with the location."""
    try:
        return read_rate(node.text())
    except MechanismError as error:
        raise node.error(str(error)) from None


# Reactions of a file with their open parameters.


RATE: Final = "__rate"
LABEL: Final = "__label"

KINDS: Final = (*FORMS, BRANCHED, SURFACE, *PREFIXES)
"""Types of gas-phase reactions."""

_NO_GAS: Final = (
    "AQUEOUS_EQUILIBRIUM", "CONDENSED_PHASE_ARRHENIUS", "CONDENSED_PHASE_PHOTOLYSIS", "DISSOLVED_EQUILIBRIUM",
    "DISSOLVED_REACTION", "DISSOLVED_REVERSIBLE_REACTION", "HENRYS_LAW_EQUILIBRIUM", "HENRYS_LAW_PHASE_TRANSFER",
    "HL_PHASE_TRANSFER", "LINEAR_CONSTRAINT", "SIMPOL_PHASE_TRANSFER", "WET_DEPOSITION",
)  # fmt: skip

Amounts = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Equation:
    """Both sides of a reaction."""

    reactants: Amounts
    products: Amounts

    @property
    def order(self) -> int:
        """Number of reactant molecules, including a third body."""
        return int(sum(coefficient for _, coefficient in self.reactants))


@dataclass
class Collection:
    """Reactions of a file, in order."""

    gases: Mapping[str, Gas]
    reactions: list[Reaction] = field(default_factory=list)
    parameters: dict[str, OpenParameter] = field(default_factory=dict)
    _labels: set[str] = field(default_factory=set)

    def add(self, kind: str, name: str, fields: Fields, equation: Equation, units: Units) -> None:
        """Add a reaction of any type except BRANCHED; our comment ``__rate`` takes precedence over its type."""
        order = equation.order
        if kind in PREFIXES:
            rate, parameter = open_rate(kind, name, fields, order)
            opened: tuple[OpenParameter, ...] = (parameter,)
        elif kind == SURFACE:
            rate, opened = surface_rate(name, fields, self._gas(equation.reactants[0][0]))
        else:
            rate, opened = form_rate(kind, fields, order, units), ()
        text = fields.get(RATE)
        if text is not None:
            rate, opened = read_expression(text), ()
        for parameter in opened:
            self._open(parameter, fields.node)
        label = fields.get(LABEL)
        self._append(label.text() if label is not None else name, rate, equation, fields.node)

    def add_branched(self, name: str, fields: Fields, sides: tuple[Amounts, Amounts, Amounts], units: Units) -> None:
        """Add the alkoxy and the nitrate branch as two reactions."""
        reactants, alkoxy, nitrate = sides
        rates = branched_rates(fields, Equation(reactants, ()).order, units)
        label = name or f"R{len(self.reactions) + 1}"
        for branch, products, rate in zip(("alkoxy", "nitrate"), (alkoxy, nitrate), rates, strict=True):
            self._append(f"{label}_{branch}", rate, Equation(reactants, products), fields.node)

    def amounts(self, members: Iterable[tuple[Node, str, float]], *, reactants: bool) -> Amounts:
        """Return one side of an equation; raise MechanismError for an undeclared species, or a fractional reactant."""
        amounts = []
        for place, name, coefficient in members:
            if name not in self.gases:
                hint = nearest(name, self.gases) or "; declare it, and list it in the gas phase"
                raise place.error(f"species {name[:80]!r} is not declared in the gas phase{hint}")
            if reactants and coefficient not in range(1, 10):
                message = f"a reaction uses up 1, 2, 3, ... of {name}, not {coefficient:g}"
                raise place.error(f"{message}; write the remainder among the products")
            amounts.append((self.gases[name].species.name, coefficient))
        return tuple(amounts)

    def _gas(self, name: str) -> Gas:
        """Return the species with a name in the network."""
        return next(gas for gas in self.gases.values() if gas.species.name == name)

    def _open(self, parameter: OpenParameter, node: Node) -> None:
        known = self.parameters.setdefault(parameter.name, parameter)
        if known.unit != parameter.unit:
            message = f"{parameter.name} is in {known.unit} in a reaction above and in {parameter.unit} here"
            raise node.error(f"{message}: give one of them another name")

    def _append(self, wanted: str, rate: Expression, equation: Equation, node: Node) -> None:
        label = self._label(wanted.strip())
        check_label("reaction label", label, node.location)
        text = f"{_side(equation.reactants)} = {_side(equation.products)}"
        self.reactions.append(Reaction(label, equation.reactants, equation.products, rate, text, node.location))

    def _label(self, wanted: str) -> str:
        """Return a unique label: the format requires neither names nor unique ones."""
        base = wanted or f"R{len(self.reactions) + 1}"
        label, number = base, 2
        while label.casefold() in self._labels:
            label, number = f"{base}_{number}", number + 1
        self._labels.add(label.casefold())
        return label


def refuse_other_kinds(kinds: Sequence[tuple[Node, str]]) -> None:
    """Raise MechanismError that lists the reaction types that are not gas-phase chemistry, or not known."""
    others = [(node, kind) for node, kind in kinds if kind not in KINDS]
    if not others:
        return
    counts: dict[str, int] = {}
    for _, kind in others:
        counts[kind] = counts.get(kind, 0) + 1
    listed = ", ".join(f"{printable(kind[:60])} ({count})" for kind, count in counts.items())
    first, kind = others[0]
    if any(kind in _NO_GAS for kind in counts):
        raise first.error(f"only gas-phase chemistry is read; these types are of clouds or aerosol: {listed}")
    raise first.error(f"unknown type of reaction: {listed}{nearest(kind, KINDS) or f'; known are {_comma(KINDS)}'}")


def _side(amounts: Amounts) -> str:
    text = ""
    for name, coefficient in amounts:
        number = "" if abs(coefficient) == 1.0 else f"{abs(coefficient):.12g} "
        sign = ("-" if coefficient < 0.0 else "") if not text else (" - " if coefficient < 0.0 else " + ")
        text += f"{sign}{number}{name}"
    return text or "nothing"


def _comma(names: Iterable[str]) -> str:
    return ", ".join(names)
