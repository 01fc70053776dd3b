"""What a process is: a class that declares its settings, the weather it needs, and what it does to species.

    class Washout(Process, section="washout"):
        \"\"\"What rain takes out of the air: dq/dt = -a (P / 1 mm h-1)^0.79 q.\"\"\"

        coefficients = per_species("1/s", "Loss of species to rain of 1 mm/h.", settable=True)
        rain = weather("precipitation", "kg m-2 s-1")

        @at_instant("1/s")
        def rate(coefficients, rain):
            return coefficients * (rain * 3600.0) ** 0.79

        @loss(term="washed")
        def washed(rate):
            return rate

The names of arguments say what a function is given. Those of :func:`at_instant` are called with arrays, once for each
instant of the forcing; they are given settings, weather, one another's results and what the place offers
(:data:`airshed.process.kinds.PLACE`). What acts in a step (:func:`loss` and the others) is traced once, and becomes
code: it is given numbers among the settings, results of instants, and the air of the cell
(:data:`airshed.kernels.step.operators.AIR`). A function whose first argument is `self` is a method, and free in what it
does; such a one is not traced. What changes each cell by itself is an update, see :mod:`airshed.process.updates`.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from airshed.core.settings import Section
from airshed.process.declaration_check import check
from airshed.process.kinds import Acts, AtInstant, Declaration, Reactions, Releases, Weather, arguments
from airshed.process.place import Place
from airshed.process.settings import Declared
from airshed.process.updates import CellField, Flux, Update

_KINDS: Final = {
    Declared: "settings", Weather: "weather", AtInstant: "instants", Acts: "acts", Reactions: "reactions",
    Releases: "releases", Flux: "fluxes", CellField: "states", Update: "updates",
}  # fmt: skip


class Process:
    """The base of all processes; what a class declares is in ``declaration``.

    section  of the case file that holds its settings; several processes may share one
    order    where it stands among others: small numbers first

    margin   columns around its own whose weather its methods look at, at most :data:`airshed.process.place.MARGIN`
    model    that section, where it is written by hand; None: it is made of the settings that the class declares

    An instance is a process of a case: its settings are its attributes, as the section holds them, and ``place`` is
    what it is told of the case, see :class:`airshed.process.place.Place`; it has none in a model of points.
    """

    place: Place

    section: ClassVar[str]
    order: ClassVar[int] = 50
    margin: ClassVar[int] = 0
    model: ClassVar[type[Section] | None] = None
    declaration: ClassVar[Declaration] = Declaration()

    def __init_subclass__(
        cls, *, section: str = "", order: int | None = None, model: type[Section] | None = None
    ) -> None:
        cls.section = section or cls.__name__.lower()
        cls.model = model
        if order is not None:
            cls.order = order
        cls.declaration = Declaration()
        for name, value in vars(cls).items():
            if kind := _KINDS.get(type(value)):
                getattr(cls.declaration, kind)[name] = value
        check(cls, names_species=cls.species is not Process.species)

    def __init__(self, settings: Section, place: Place | None = None) -> None:
        if place is not None:
            self.place = place
        vars(self).update({name: getattr(settings, name) for name in type(settings).model_fields})
        self.prepare()

    def prepare(self) -> None:
        """Do what is to be done once, before anything is compiled."""

    def is_on(self) -> bool:
        """Whether the case asks for the process; by default where a table by species, which it has, is not empty."""
        tables = [name for name, each in self.declaration.settings.items() if each.by_species]
        return not tables or any(getattr(self, name) for name in tables)

    def idle_reason(self) -> str:
        """Return why the process acts on nothing although its settings ask for it; empty where it acts, or is off."""
        return ""

    @property
    def species(self) -> tuple[str, ...]:
        """The names of the species that it touches: by default those in its tables, in the order of the mechanism."""
        tables = [getattr(self, name) for name, each in self.declaration.settings.items() if each.by_species]
        named = {name for table in tables for name in table}
        return tuple(name for name in self.place.species if name in named)

    @property
    def provenance(self) -> Mapping[str, str]:
        """Where it has its data from, by what they are of, such as a species; told in the summary of a run."""
        return {}

    @property
    def follows_the_sun(self) -> bool:
        """Whether its fields change with the time of the day in air that stays the same; forcing is then hourly."""
        asked = {name for each in self.declaration.instants.values() for name in arguments(each.function)}
        return bool(asked & {"sun_height", "seconds"})
