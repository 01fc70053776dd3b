"""The processes that the conditions of boxes ask for: their reactions, what they take and give, what they need."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from airshed.air.asked import Asked, OwnFiles, check_weather_unit
from airshed.air.box.acting import BoxProcess, Moment, Rate
from airshed.air.box.conditions import PROCESSES, BoxConditions
from airshed.air.box.place import OF_AIR, Boxes
from airshed.air.box.values import Value, read_now
from airshed.air.fields import WEATHER
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.mechanism.network import ReactionNetwork

_ALWAYS: Final = {
    spec.name: spec.unit for spec in WEATHER if not spec.name.startswith("air_") and spec.name not in OF_AIR
}
"""Fields that every state of the weather holds, which methods may look at undeclared, and their units."""


@dataclass(frozen=True)
class BoxProcesses:
    """Processes in boxes.

    network  the mechanism with the reactions that they add
    acting   those that take or give something, in their order
    names    of all that change something, for reports;  notes  what a reader of the result should know
    weather  the fields of [weather] in the units of the processes
    """

    network: ReactionNetwork
    acting: tuple[BoxProcess, ...] = ()
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    weather: Mapping[str, Value] = field(default_factory=dict)

    def touched(self, section: str) -> set[int]:
        """Return the numbers of species for which some process has a "deposition" or an "emission"."""
        return {species for each in self.acting for species in each.touched(section)}

    def rates(self, moment: Moment) -> Iterator[Rate]:
        """Yield what each process takes and gives at some times."""
        for each in self.acting:
            yield from each.rates(moment)


def processes_in_box(conditions: BoxConditions, network: ReactionNetwork, *, allow_code: bool) -> BoxProcesses:
    """Return the processes that conditions ask for; raises CaseError for what does not fit or is missing.

    allow_code  whether those in files may run
    """
    boxes = Boxes(conditions, network)
    found = sorted((BoxProcess(each, boxes) for each in _asked(conditions, allow_code)), key=lambda each: each.order)
    acting = tuple(each for each in found if each.operators)
    units = _units(found)
    weather = {name: _read(name, value, units) for name, value in conditions.weather.items()}
    for each in acting:
        each.check(weather)
    reactions = tuple(reaction for each in found for reaction in each.reactions)
    return BoxProcesses(
        replace(network, reactions=(*network.reactions, *reactions)) if reactions else network,
        acting,
        tuple(each.name for each in found if each.operators or each.reactions),
        tuple(_note(each, network) for each in found if not (each.operators or each.reactions)),
        weather,
    )


def _asked(conditions: BoxConditions, allow_code: bool) -> Iterator[Asked]:
    for section, process in PROCESSES.items():
        if section in conditions.model_fields_set:
            yield Asked(section, process, getattr(conditions, section))
    yield from OwnFiles(conditions.process, conditions.folder, allow_code, "allow_code=True").asked()


def _note(process: BoxProcess, network: ReactionNetwork) -> str:
    if process.is_on:
        return f"{process.name} does nothing in a box: it acts between cells"
    return f"{process.name} does nothing: its settings leave it off, or name no species of {network.name}"


def _units(processes: Iterable[BoxProcess]) -> dict[str, str]:
    """Return the unit of each field of the weather that may be given; raises CaseError where two processes differ."""
    units = dict(_ALWAYS)
    for process in PROCESSES.values():
        for each in process.declaration.weather.values():
            check_weather_unit(process.section, each, units)
    for asked in processes:
        for each in asked.weather.values():
            check_weather_unit(asked.name, each, units)
    return units


def _read(name: str, value: Value, units: Mapping[str, str]) -> Value:
    if name in OF_AIR:
        raise CaseError(f"weather.{name}: it follows from [environment] and [fixed]; leave it out")
    if name not in units:
        known = [each for each in units if each not in OF_AIR]
        raise CaseError(f"weather.{name}: no process asks for such a field; {suggestion(name, known)}")
    return read_now(value, (units[name],), where=f"weather.{name}")
