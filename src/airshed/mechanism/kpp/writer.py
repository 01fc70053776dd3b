"""Writer of a network as a reaction file in KPP syntax, which reads back as the same network."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from airshed.core.atomic import write_whole
from airshed.core.errors import MechanismError
from airshed.mechanism.expressions import dependencies
from airshed.mechanism.file_air import named_as_air
from airshed.mechanism.kpp.assembly import GROUPS, LIGHT, NOTHING
from airshed.mechanism.kpp.sums import code_of, collapse_sums
from airshed.mechanism.network import Reaction, ReactionNetwork, Species
from airshed.mechanism.rates_file import rates_path, rates_text

_WIDTH: Final = 48


def write_kpp(network: ReactionNetwork, path: Path) -> tuple[Path, ...]:
    """Write a network as a reaction file, and a side file if required; return the written files.

    Raises MechanismError as :func:`kpp_text` does, OutputError for a file that cannot be written.
    """
    written = [(path, kpp_text(network))]
    side = rates_text(network, path.parent)
    if side:
        written.append((rates_path(path), side))
    for file, text in written:
        with write_whole(file) as part:
            part.write_text(text, encoding="utf-8", newline="\n")
    return tuple(file for file, _ in written)


def kpp_text(network: ReactionNetwork) -> str:
    """Return a network as the text of a reaction file.

    Molar masses without a composition are in the remark, as in ``{lumped alkenes [0.0721 kg/mol]}``. Raises
    MechanismError for names of species with another meaning in KPP.
    """
    names = [species.name for species in network.species + network.fixed]
    taken = (LIGHT, *GROUPS, "cfactor")
    wrong = [name for name in names if name.casefold() in taken]
    if wrong:
        raise MechanismError(f"mechanism {network.name!r}: {', '.join(wrong)} have another meaning in KPP; rename them")
    strange = [each.name for each in network.parameters if '"' in each.name]
    if strange:
        raise MechanismError(f"mechanism {network.name!r}: a reaction file has no names like {strange[0]!r}")
    initial = {name: value for name, value in network.initial.items() if name not in network.sums}
    parts = [
        f"// {_remark(network.name)}: {len(network.species)} variable species, {len(network.reactions)} reactions.\n"
        "// Units: molecules, cm3, s; TEMP in K, PRESS in Pa; M, O2, N2 and H2O in molecules cm-3.\n",
        _section("ATOMS", [" ".join(f"{atom};" for atom in network.atoms)] if network.atoms else []),
        _section("DEFVAR", [_declared(each) for each in network.species if each.name not in network.sums]),
        _section("DEFFIX", [_declared(species) for species in network.fixed]),
        _section("CHECK", [" ".join(f"{atom};" for atom in network.checked)] if network.checked else []),
        code_of(network.sums, named_as_air(network)),
        _section("EQUATIONS", _equations(network)),
        _section("INITVALUES", [f"{name} = {value!r};" for name, value in initial.items()]),
    ]
    return "\n".join(filter(None, parts))


def _section(command: str, lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in (f"#{command}", *lines)) if lines else ""


def _declared(species: Species) -> str:
    parts = [f"{'' if number == 1 else number}{atom}" for atom, number in species.atoms.items()]
    mass = f"[{species.mass!r} kg/mol]" if species.mass is not None else ""
    remark = " ".join(filter(None, (_remark(species.text), mass)))
    declared = f"{species.name} = {' + '.join(parts) or 'IGNORE'};"
    return f"{declared} {{{remark}}}" if remark else declared


def _remark(text: str) -> str:
    """Return a text that is valid in a comment."""
    return " ".join(text.replace("{", "(").replace("}", ")").replace("//", "/").split()).strip("/ ")


def _equations(network: ReactionNetwork) -> list[str]:
    nothing = NOTHING.upper() if NOTHING not in {each.name.casefold() for each in network.species} else LIGHT
    return [
        _equation(collapse_sums(reaction, network.sums), label, nothing)
        for reaction, label in zip(network.reactions, _labels(network.reactions), strict=True)
    ]


def _equation(reaction: Reaction, label: str, nothing: str) -> str:
    light = f" + {LIGHT}" if "photolysis" in dependencies(reaction.rate) else ""
    left = f"{_side(reaction.reactants)}{light}".removeprefix(" + ") or LIGHT
    right = _side(reaction.products) or nothing
    return f"{f'<{label}> {left} = {right}':<{_WIDTH}} : {reaction.rate};"


def _side(amounts: Iterable[tuple[str, float]]) -> str:
    text = ""
    for name, number in amounts:
        sign = "-" if number < 0.0 else "+" if text else ""
        factor = (
            "" if abs(number) == 1.0 else f"{abs(number):g} " if float(f"{number:g}") == number else f"{abs(number)!r} "
        )
        text += f" {sign} {factor}{name}" if text else f"{sign}{factor}{name}"
    return text


def _labels(reactions: Sequence[Reaction]) -> list[str]:
    """Return unique labels, without characters that would end one."""
    taken: set[str] = set()
    labels = []
    for number, reaction in enumerate(reactions, start=1):
        label = " ".join(re.sub(r"[<>{}]|//", " ", reaction.label.replace("->", " to ")).split()) or f"R{number}"
        while label.casefold() in taken:
            label += "_"
        taken.add(label.casefold())
        labels.append(label)
    return labels
