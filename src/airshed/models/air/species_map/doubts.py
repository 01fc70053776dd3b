"""What a run should not take for granted of a species map: guesses, contradictions, and what counts twice."""

from collections.abc import Iterable
from pathlib import Path

from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.species_map.families import Meanings, meanings_of
from airshed.models.air.species_map.parts import BoundaryMap, SpeciesMap

_LISTED = 8
_WHOLE = 1.0
"""Factor from which on a column counts fully in a species."""


def doubts(species_map: SpeciesMap, network: ReactionNetwork, compounds: Iterable[str]) -> list[str]:
    """Return a line for each doubt about a map, in the spelling of the mechanism.

    compounds  that the case emits
    """
    meanings = meanings_of(network)
    return [
        *_guesses(species_map, compounds),
        *_contradictions(species_map, meanings, compounds),
        *counted_twice(species_map.boundary),
    ]


def counted_twice(boundary: BoundaryMap) -> list[str]:
    """Return a line for each column of the profile that counts fully in more than one species."""
    species: dict[str, list[str]] = {}
    for name, columns in boundary.profile.items():
        for column, factor in columns.items():
            if factor >= _WHOLE:
                species.setdefault(column, []).append(name)
    return [
        f"[boundary] counts the column {column} in {' and in '.join(names)}; take it out of all but one"
        for column, names in species.items()
        if len(names) > 1
    ]


def _guesses(species_map: SpeciesMap, compounds: Iterable[str]) -> list[str]:
    """Return what guesses decide: which species compounds become, and for how many species the rest."""
    guessed, emitted = species_map.guesses, set(compounds)
    told = []
    becomes = [
        f"{name} as {' + '.join(species_map.emissions.of(name)) or 'nothing'}"
        for name in guessed.get("emissions", ())
        if name in emitted
    ]
    if becomes:
        told.append(f"emission of {', '.join(becomes)}")
    for section, text in (("boundary", "clean air"), ("deposition", "deposition")):
        names = guessed.get(section, ())
        if names:
            told.append(f"{text} of {', '.join(names[:_LISTED])}{_more(len(names))}")
    return [f"{Path(species_map.source).name} guesses: {'; '.join(told)}"] if told else []


def _contradictions(species_map: SpeciesMap, meanings: Meanings, compounds: Iterable[str]) -> list[str]:
    """Return the compounds that the map makes a species of which names or atoms say that it is something else."""
    if meanings.family is None or (meanings.own.source and not meanings.loose):
        return []
    found = []
    for compound in dict.fromkeys(compounds):
        right = meanings.standing_for(compound)
        becomes = species_map.emissions.of(compound)
        if right is not None and becomes and right not in becomes:
            title = meanings.family.title
            found.append(f"{compound} becomes {' + '.join(becomes)}, but is {right} in mechanisms like {title}")
    return found


def _more(count: int) -> str:
    return f" and {count - _LISTED} more" if count > _LISTED else ""
