"""Species of the gas phase, as OpenAtmos v1 and Camp JSON declare them.

A third body is the air itself; a species of constant concentration or mixing ratio is fixed. MICM treats a species
whose Camp "tracer type" is CONSTANT as one that chemistry changes, and so does Airshed: both have the same state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from airshed.core.text import printable
from airshed.formula.tree import Binary, Expression, Number, Symbol
from airshed.mechanism.expressions import SYMBOLS
from airshed.mechanism.location import check_label, check_name, legal_names, nearest
from airshed.mechanism.network import Species
from airshed.mechanism.openatmos.document import Fields, Node
from airshed.mechanism.openatmos.units import concentration_from_molar

MASS: Final = "molecular weight [kg mol-1]"
DIFFUSION: Final = "diffusion coefficient [m2 s-1]"
CONSTANT: Final = "constant concentration [mol m-3]"
MIXING_RATIO: Final = "constant mixing ratio [mol mol-1]"
THIRD_BODY: Final = "is third body"
TRACER: Final = "tracer type"
ATOMS: Final = "__atoms"
FIXED: Final = "__fixed"
INITIAL: Final = "__initial concentration [molecules cm-3]"

_ELSEWHERE: Final = (
    "absolute tolerance",
    "density [kg m-3]",
    "HLC(298K) [mol m-3 Pa-1]",
    "HLC exponential factor [K]",
    "N star",
)


@dataclass(frozen=True)
class Gas:
    """Species with properties that a network stores separately.

    binding    its concentration [molecules cm-3], if it is fixed and not a parameter
    initial    [molecules cm-3]; for a fixed species the default of its concentration
    diffusion  diffusion coefficient [m2/s]
    """

    species: Species
    node: Node
    binding: Expression | None = None
    initial: float | None = None
    diffusion: float | None = None


def read_species(nodes: Sequence[Node], *, camp: bool = False) -> dict[str, Gas]:
    """Return the species by the file's names, in order; raise MechanismError with the location of a fault.

    The format allows names that a network does not, such as ``a-pinene``, see `airshed.mechanism.location.legal_names`.
    """
    found: dict[str, Gas] = {}
    folded: dict[str, Gas] = {}
    named = [(node, node.fields().need("name")) for node in nodes]
    for _, place in named:
        check_label("species", place.text(), place.location)
    legal = legal_names(place.text() for _, place in named)
    for node, place in named:
        name = place.text()
        gas = _species(node, legal[name], camp)
        if name.casefold() in folded:
            first = folded[name.casefold()]
            message = f"species {name!r} is declared a second time; the first is at {first.node.location}"
            hint = "" if first.species.name == name else " (names that differ in the case of letters only are one)"
            raise node.error(message + hint)
        found[name] = folded[name.casefold()] = gas
    return found


def in_phase(gases: Mapping[str, Gas], phase: Node) -> dict[str, Gas]:
    """Return the species in a phase, in the order of their declaration, with their diffusion there."""
    members: dict[str, float | None] = {}
    for item in phase.mapping()["species"].items():
        name, diffusion = _member(item)
        if name not in gases:
            raise item.error(f"species {name!r} is not declared{nearest(name, gases)}")
        if name in members:
            raise item.error(f"species {name!r} occurs twice in this phase")
        members[name] = diffusion
    return {
        name: replace(gas, diffusion=gas.diffusion if members[name] is None else members[name])
        for name, gas in gases.items()
        if name in members
    }


def _member(item: Node) -> tuple[str, float | None]:
    if isinstance(item.value, str):
        return item.text(), None
    fields = item.fields()
    name, diffusion = fields.need("name").text(), fields.optional_number(DIFFUSION)
    fields.ignore("density [kg m-3]")
    fields.finish()
    return name, diffusion


def _species(node: Node, name: str, camp: bool) -> Gas:
    fields = node.fields()
    fields.ignore("name")
    mass, diffusion = fields.optional_number(MASS), fields.optional_number(DIFFUSION)
    if mass is not None and mass < 0.0:
        raise fields.need(MASS).error(f"a molar mass is not negative: {mass:g}")
    third = fields.text(TRACER) == "THIRD_BODY"
    if camp:
        fields.ignore("type", "absolute tolerance")
        gas = Gas(Species(name), node)
    else:
        fields.ignore(*_ELSEWHERE)
        body = fields.get(THIRD_BODY)
        third = third or (body is not None and body.flag())
        gas = _constant(Gas(Species(name), node), fields)
    fields.finish()
    if third:
        gas = replace(gas, species=replace(gas.species, fixed=True), binding=Symbol("M"))
    species = replace(gas.species, mass=mass or None, atoms=_atoms(fields), text=_text(fields))
    return replace(gas, species=species, diffusion=diffusion)


def _constant(gas: Gas, fields: Fields) -> Gas:
    """Return the gas, fixed if the file declares it so."""
    concentration, ratio = fields.optional_number(CONSTANT), fields.optional_number(MIXING_RATIO)
    fixed, initial = fields.get(FIXED), fields.optional_number(INITIAL)
    if concentration is not None and ratio is not None:
        raise fields.node.error(f"either {CONSTANT!r} or {MIXING_RATIO!r}, not both")
    if (concentration or ratio or 0.0) < 0.0:
        raise fields.node.error("a constant concentration is not negative")
    marked = fixed is not None and fixed.flag()
    species = replace(gas.species, fixed=marked or concentration is not None or ratio is not None)
    gas = replace(gas, species=species, initial=initial)
    if marked:  # our marker: its name shows whether it is the air's, and the rest is for other readers
        return gas
    if ratio is not None:
        return replace(gas, binding=Binary("*", Number(ratio), Symbol("M")))
    if concentration is None:
        return gas
    value = concentration_from_molar(concentration)
    if species.name.upper() in SYMBOLS:
        return replace(gas, binding=Number(value))
    return replace(gas, initial=value)


def _atoms(fields: Fields) -> dict[str, int]:
    """Return the atoms in a comment; other programs use the same comment for their number."""
    node = fields.get(ATOMS)
    if node is None or not isinstance(node.value, dict):
        return {}
    atoms: dict[str, int] = {}
    for atom, number in node.value.items():
        count = number.number()
        if count != int(count) or not 1 <= count <= 1000:
            raise number.error(f"a number of atoms is 1, 2, 3, ..., not {count:g}")
        check_name("atom", atom, number.location)
        atoms[atom] = int(count)
    return atoms


def _text(fields: Fields) -> str:
    return printable(" ".join((fields.comment("description") or fields.comment("long name")).split()))
