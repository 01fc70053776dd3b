"""A case that was written for one mechanism, in the species of another one."""

from collections.abc import Mapping, Sequence
from typing import Any

from airshed.core.errors import CaseError
from airshed.models.air.case import Case
from airshed.models.air.species_map.parts import SpeciesMap


def translated(case: Case, species_map: SpeciesMap, species: Sequence[str]) -> Case:
    """Return the case with the names of species that the mechanism lacks replaced as the map's ``names`` say.

    Output and factors on the profiles of a species that has no counterpart are left out, and so are its mixing ratios
    and deposition velocity. Names that the map does not know stay, and so does an output of which nothing would be
    left, for :func:`airshed.models.air.case.check_species` to refuse.
    Raises CaseError where two names become one species with different values.
    """
    names = {name: own for name, own in species_map.names.items() if name not in species}
    if not names:
        return case
    outputs = tuple(
        output if output.fields == "all"
        else output.model_copy(update={"fields": _listed(output.fields, names)})
        for output in case.output
    )  # fmt: skip
    points = tuple(
        point.model_copy(update={"species": names.get(point.species) or point.species})
        for point in case.emissions.point
    )
    areas = tuple(_renamed(area, names, "rates", "emissions.area") for area in case.emissions.area)
    changed: dict[str, Any] = {
        "output": outputs,
        "emissions": case.emissions.model_copy(update={"point": points, "area": areas}),
        "deposition": _renamed(case.deposition, names, "velocities", "deposition"),
        "boundary": _renamed(_renamed(case.boundary, names, "scale", "boundary"), names, "values", "boundary"),
        "initial": _renamed(case.initial, names, "values", "initial"),
    }
    for section, table, _ in case.tables_by_species():
        changed[section] = _renamed(changed.get(section, getattr(case, section)), names, table, section)
    return case.model_copy(update=changed)


def left_out(case: Case, species_map: SpeciesMap, species: Sequence[str]) -> list[str]:
    """Return the names in the output and the boundary of a case that :func:`translated` leaves out."""
    fields = [name for output in case.output if output.fields != "all" for name in output.fields]
    named = dict.fromkeys([*fields, *case.boundary.scale, *case.boundary.values])
    return [name for name in named if species_map.names.get(name) == "" and name not in species]


def _listed(fields: Sequence[str], names: Mapping[str, str]) -> Sequence[str]:
    return tuple(dict.fromkeys(own for name in fields if (own := names.get(name, name)))) or fields


def _renamed(section: Any, names: Mapping[str, str], key: str, where: str) -> Any:
    renamed: dict[str, Any] = {}
    for name, value in getattr(section, key).items():
        own = names.get(name, name)
        if own and renamed.setdefault(own, value) != value:
            raise CaseError(
                f"{where}.{key}: {name} is {own} in this mechanism, which has another value; give {own} one"
            )
    return section.model_copy(update={key: renamed})
