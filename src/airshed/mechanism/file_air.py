"""Densities of air in a reaction file, which rates replace by the air of a run."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from airshed.formula.tree import Symbol, walk
from airshed.mechanism.expressions import AIR_GASES, ALIASES, SYMBOLS

if TYPE_CHECKING:
    from airshed.mechanism.network import OpenParameter, ReactionNetwork

AIR: Final = "AIR"
"""Name, in upper case, of a fixed species for all of the air, like M, as in SAPRC-99."""

_PARTS: Final = (1.0, 1e-6, 1e-9)
"""Fractions of the air for which CFACTOR may be the density: all of it, 1 ppm, 1 ppb."""
_NEAR: Final = (1e17, 1e20)
"""Air from the ground to some 40 km [molecules cm-3]."""
_SAME: Final = 0.01
"""Relative difference up to which the air of a run equals that of the mechanism's file."""
_LISTED: Final = 8
AIR_NAMES: Final[Mapping[str, str]] = {**{name: name for name in SYMBOLS}, **ALIASES, "CAIR": "M"}
"""Name of the air or its temperature in reaction files, in upper case -> symbol."""
_LEAST, _MOST = 1e13, 1e21  # molecules cm-3: from the mesopause to 40 bar


def part_of_air(factor: float) -> float | None:
    """Return the fraction of the air whose density CFACTOR [molecules cm-3] is; None if it is none."""
    return next((part for part in _PARTS if _NEAR[0] <= factor / part <= _NEAR[1]), None)


def names_of_air(fixed: Iterable[str], initial: Mapping[str, float]) -> tuple[str, ...]:
    """Return the names for all of the air: AIR, unless its initial value [molecules cm-3] is not a density of air."""
    given = _folded(initial).get(AIR.casefold())
    return tuple(name for name in fixed if name.upper() == AIR and (not given or _LEAST <= given <= _MOST))


def air_of_file(network: "ReactionNetwork") -> dict[str, float]:
    """Return the densities of air and its gases in the file that rates replace by the air of the run.

    Name in the file -> its density there [molecules cm-3]; for CFACTOR the density of all of the air.
    """
    used = {node.name for constant in network.rate_constants for node in walk(constant) if isinstance(node, Symbol)}
    given = _folded(network.initial)
    found = {}
    for each in network.fixed:
        symbol = "M" if each.name in network.air_names else each.name.upper()
        if symbol in used.intersection(AIR_GASES) and each.name not in network.bindings:
            found[each.name] = given.get(each.name.casefold(), 0.0)
    part = None if network.factor is None else part_of_air(network.factor)
    if network.factor is not None and part is not None:
        found["CFACTOR"] = network.factor / part
    return {name: density for name, density in found.items() if density}


def notes_of_air(network: "ReactionNetwork", air: Mapping[str, npt.NDArray[np.float64]]) -> list[str]:
    """Return notes on differences between the air of a run [molecules cm-3] and that of the mechanism's file."""
    notes = []
    whole, now = own_density(network), float(np.mean(air["M"])) if "M" in air else None
    for name, density in air_of_file(network).items():
        own = name.upper() if name.upper() in AIR_GASES else "M"
        here = float(np.mean(air[own])) if own in air else density
        if abs(here - density) > _SAME * density:
            notes.append(
                f"{name} of the mechanism's file, {density:.5g} molecules/cm3, is not the air of this run: its "
                f"rates take {own}, {here:.5g} at the start"
            )
        elif whole and now and abs(now - whole) > _SAME * whole:
            notes.append(
                f"{name} is {density:.5g} molecules/cm3, as in the mechanism's file, whose air is {whole:.5g}, in the "
                f"air of this run, {now:.5g}: the conditions do not give it"
            )
    notes += [f"{name} in the rates is that of the air, not the species {name}" for name in named_as_air(network)]
    notes += code_notes(network)
    for each in unclear_air(network):
        notes.append(
            f"{each.name} of the mechanism's file, {each.default:g}, is not a density of air; it is used unchanged"
        )
    return notes


def named_as_air(network: "ReactionNetwork") -> tuple[str, ...]:
    """Return the variable species whose name denotes the air, or its temperature, in the rates of the network."""
    used = {node.name for reaction in network.reactions for node in walk(reaction.rate) if isinstance(node, Symbol)}
    return tuple(name for name in network.names if ALIASES.get(name.upper(), name.upper()) in used)


def values_in_code(network: "ReactionNetwork") -> tuple[list[str], list[str]]:
    """Return the properties of the air in rates, and the species, to which inlined code of the file assigns values."""
    used = {node.name for constant in network.rate_constants for node in walk(constant) if isinstance(node, Symbol)}
    own = {name: AIR_NAMES.get(name.upper()) for name in network.in_code}
    return [name for name, symbol in own.items() if symbol in used], [name for name in own if own[name] is None]


def code_notes(network: "ReactionNetwork") -> list[str]:
    """Return notes on values in inlined code of the mechanism's file that a run does not use."""
    air, species = values_in_code(network)
    notes = []
    if air:
        notes.append(
            f"{', '.join(air)} of inlined code of the mechanism's file: not used, rates take the air of the run"
        )
    if species:
        notes.append(f"concentrations of {_listed(species)} of inlined code of the mechanism's file: not used")
    return notes


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def unclear_air(network: "ReactionNetwork") -> tuple["OpenParameter", ...]:
    """Return parameters called AIR whose value in the file is not a density of air."""
    return tuple(each for each in network.parameters if each.name.upper() == AIR and each.default is not None)


def own_density(network: "ReactionNetwork") -> float | None:
    """Return the density of air in the file [molecules cm-3], None without a plausible one."""
    given = {name.upper(): value for name, value in air_of_file(network).items()}
    known = (_folded(network.initial).get("m"), given.get(AIR), given.get("CFACTOR"))
    return next((value for value in known if value and _LEAST <= value <= _MOST), None)


def _folded(initial: Mapping[str, float]) -> dict[str, float]:
    return {name.casefold(): value for name, value in initial.items()}
