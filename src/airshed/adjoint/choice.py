"""The plan that a case asks for."""

from airshed.adjoint.actions import Plan, Sizes
from airshed.adjoint.plans import all_levels, fewest_repetitions, two_levels
from airshed.adjoint.room import Room
from airshed.adjoint.schedules import packaged
from airshed.air.case.sections import AdjointSection


def room_of(section: AdjointSection, sizes: Sizes) -> Room:
    """Return what a case lets be kept: with the store `files` all of it on disk, else restarts as far as they go."""
    memory, disk = int(section.memory.value), int(section.disk.value)
    if section.store == "memory":
        return Room(sizes, memory, disk)
    return Room(sizes, memory, disk, levels="disk", restarts="disk")


def make_plan(name: str, steps: int, room: Room) -> Plan:
    """Return the plan of a name that the case file knows; raises CaseError where there is no room for it.

    `auto` runs the step that is run most often as rarely as can be: levels are never put on disk for that, since to
    write and read one takes about as long as to run its step.
    """
    if name == "auto":
        return fewest_repetitions(steps, room)
    if name == "all":
        return all_levels(steps, room)
    return two_levels(steps, room) if name == "two-level" else packaged(name, steps, room)
