"""One process in boxes: what it takes and gives in a second, from its declaration.

    D = sum of L + sum of F / A,     E = sum of S M

of losses L [1/s], of the air F [mol/s] that species fall through at the lower face of a box with A [mol] of air, and of
sources S [mol/mol/s] in air of M [molecules cm-3]. The rates are the formulas that kernels compile, evaluated by NumPy
at all times at once. What acts between cells has no meaning in one; it is passed over.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.air.asked import Asked
from airshed.air.box.place import OF_AIR, Boxes, BoxWeather, Sky, where_to_give
from airshed.core.constants import AVOGADRO
from airshed.core.errors import CaseError
from airshed.formula import evaluate
from airshed.formula.tree import symbols
from airshed.kernels.step.operators import AIR, Kind
from airshed.process.bound import OF_SPECIES, Bound, refuse_idle
from airshed.process.kinds import PLACE, Weather, arguments

Array = npt.NDArray[np.float64]
Rate = tuple[str, int, Array]
"""A part of "deposition" [1/s] or "emission" [molecules cm-3 s-1], the number of its species, and (cell, time)."""

IN_A_BOX: Final = OF_SPECIES
"""Kinds of operators that mean something in one cell."""

_CUBIC_CENTIMETRES: Final = 1e6
_FOLLOWS_FROM: Final[Mapping[str, tuple[str, ...]]] = {
    **OF_AIR, "air": ("M",), "cos_zenith": ("SUN",), "light": ("daylight",), "sun_height": ("SUN",),
}  # fmt: skip
"""Names in formulas of conditions from which follows what functions of a process are given."""
_OF_HEIGHT: Final = {"air", "thickness", "layer_thickness"}
_SUN: Final = "height of the sun"
_KEPT: Final = 4  # numbers of columns for which a process is kept


@dataclass(frozen=True)
class Moment:
    """The conditions of boxes at some times: (cell, time), with 1 where nothing depends on it.

    times    (time,) [s since local midnight of the first day]
    values   by their names in formulas;  weather  the fields of [weather]
    sun      cosine of the sun's zenith angle; None where the conditions tell nothing of it
    """

    times: Array
    values: Mapping[str, Array]
    weather: Mapping[str, Array]
    sun: Array | None

    @cached_property
    def air(self) -> dict[str, Array]:
        """The air by the names that processes have for it, as far as the conditions tell."""
        values = self.values
        own = {"T": "temperature", "p": "pressure", "SUN": "cos_zenith", "daylight": "light"}
        found = {name: values[each] for each, name in own.items() if each in values}
        if "M" in values:
            found["air_density"] = values["M"] * (_CUBIC_CENTIMETRES / AVOGADRO)
            if "H2O" in values:
                found["water_vapour"] = values["H2O"] / values["M"]
        return found

    @property
    def state(self) -> dict[str, Array]:
        """The fields of the weather, all of them."""
        return {name: self.air[name] for name in OF_AIR if name in self.air} | dict(self.weather)


class BoxProcess:
    """A process that conditions ask for, in boxes.

    name       of its section;  order  where it stands among others
    is_on      whether its settings let it act anywhere
    operators  what it does in a step that means something in a box;  reactions  that it adds to the mechanism

    Raises CaseError for settings that do not fit the mechanism.
    """

    def __init__(self, asked: Asked, boxes: Boxes) -> None:
        self.name, self.order = asked.process.section, asked.process.order
        self._asked, self._boxes, self._own, self._sky = asked, boxes, asked.process.declaration, Sky()
        self._bound = lru_cache(_KEPT)(self._bind)
        bound = self._bound(1)
        if any(act.kind in IN_A_BOX for act in self._own.acts.values()):
            refuse_idle(asked.where, bound.process)
        self.is_on = bound.process.is_on()
        self.reactions = bound.reactions if self.is_on else ()
        self.operators = bound.operators if self.is_on and not asked.process.margin else ()

    def _bind(self, columns: int) -> Bound:
        """Return the process in so many columns."""
        process = self._asked.at(self._boxes.place(columns, self._sky), self._boxes.network.name)
        return Bound(process, IN_A_BOX)

    @cached_property
    def _asks(self) -> frozenset[str]:
        """Arguments of what acts in a box, and of the functions of instants behind them."""
        acts = [each for each in self._own.acts.values() if each.kind in IN_A_BOX and self.operators]
        return frozenset(self._followed(name for act in acts for name in arguments(act.function)))

    def _followed(self, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            yield name
            if name in self._own.instants and not self._is_method(name):
                yield from self._followed(arguments(self._own.instants[name].function))

    def _is_method(self, name: str) -> bool:
        return arguments(self._own.instants[name].function)[:1] == ("self",)

    @cached_property
    def _has_methods(self) -> bool:
        """Whether some function of instants is free in what it looks at."""
        return any(name in self._own.instants and self._is_method(name) for name in self._asks)

    @cached_property
    def weather(self) -> dict[str, Weather]:
        """The fields of the weather that it asks for, by their names in the state: methods for all that it declares."""
        declared = self._own.weather.items()
        return {each.field: each for name, each in declared if self._has_methods or name in self._asks}

    @cached_property
    def _of_place_and_air(self) -> frozenset[str]:
        """What rates read of the air of the cell, and functions of instants of the place."""
        found = {name for each in self.operators for rate in each.rate for name in symbols(rate) if name in AIR}
        found |= {"air"} if any(each.kind == "sinking" for each in self.operators) else set()
        known = {*self._own.settings, *self._own.weather, *self._own.instants}
        return frozenset(found | {name for name in self._asks if name in PLACE and name not in known})

    @property
    def needs(self) -> set[str]:
        """Names in formulas of conditions of what it cannot do without."""
        read = self._of_place_and_air | {name for name, each in self.weather.items() if not each.optional}
        of_sources = {"M"} if any(each.kind == "source" for each in self.operators) else set()
        return {name for each in read for name in _FOLLOWS_FROM.get(each, ())} | of_sources

    def touched(self, section: str) -> set[int]:
        """Return the numbers of species for which it has a "deposition" or an "emission"."""
        return {species for each in self.operators if _section(each.kind) == section for species in each.species}

    def check(self, weather: Iterable[str]) -> None:
        """Raise CaseError for what the conditions must tell and do not: the height, the land, fields of [weather]."""
        environment, given = self._boxes.environment, set(weather)
        if environment.height is None and (self._has_methods or self._of_place_and_air & _OF_HEIGHT):
            raise CaseError(f'{self.name} needs the height of the box; give environment.height, such as "1 km"')
        if environment.land_fraction is None and "land_fraction" in self._of_place_and_air:
            raise CaseError(f"{self.name} needs to know of land and sea; give environment.land_fraction, from 0 to 1")
        for name, each in self.weather.items():
            if not each.optional and name not in OF_AIR and name not in given:
                needed = f"{self.name} needs {name} [{each.unit}], which the conditions do not give"
                raise CaseError(f"{needed}; {where_to_give(name)}")

    def rates(self, moment: Moment) -> Iterator[Rate]:
        """Yield what it takes and gives at some times; raises DataError where a field of it is not finite."""
        given = {**self._air_of(moment), **self._fields(moment)}
        for operator in self.operators:
            numbers = {name: np.reshape(each, (-1, 1, 1)) for name, each in operator.numbers.items()}
            rate = evaluate(operator.rate[0], {**given, **numbers})
            if operator.kind == "sinking":
                rate = rate / given["air"]
            elif operator.kind == "source":
                rate = rate * moment.values["M"]
            full = np.broadcast_to(rate, (len(operator.species), *np.broadcast_shapes(rate.shape, (1, 1))[-2:]))
            for species, own in zip(operator.species, full, strict=True):
                yield _section(operator.kind), species, own

    def _air_of(self, moment: Moment) -> dict[str, Array]:
        """Return the air of the box, which stands on 1 m2."""
        height, air = self._boxes.environment.height, moment.air
        if height is None:
            return air
        content = {"air": air["air_density"] * height.value} if "air_density" in air else {}
        return {**air, **content, "thickness": np.full((1, 1), height.value)}

    def _fields(self, moment: Moment) -> dict[str, Array]:
        """Return the fields of instants: (cell, time) or (species, cell, time)."""
        if not any(each.fields for each in self.operators):
            return {}
        return self._by_methods(moment) if self._has_methods else self._at_once(moment)

    def _by_methods(self, moment: Moment) -> dict[str, Array]:
        """Return the fields where methods make them: they are given the boxes at one time after the other."""
        given = moment.state | ({} if moment.sun is None else {_SUN: moment.sun})
        shape = max((len(each) for each in given.values()), default=1), moment.times.size
        whole = {name: np.broadcast_to(values, shape) for name, values in given.items()}
        parts = []
        for number, time in enumerate(moment.times.tolist()):
            now = {name: values[:, number] for name, values in whole.items()}
            self._sky.height = now.pop(_SUN, self._sky.height)
            parts.append(self._in_columns(now, shape[0], time))
        return {name: np.stack([part[name] for part in parts], axis=-1) for name in parts[0]}

    def _at_once(self, moment: Moment) -> dict[str, Array]:
        """Return the fields where functions make them that are given arrays: all boxes and times, as columns."""
        state = {name: values for name, values in moment.state.items() if name in self.weather}
        shapes = [values.shape for values in state.values()]
        sun = moment.sun if "sun_height" in self._of_place_and_air else None
        shapes += [] if sun is None else [sun.shape]
        clock = "seconds" in self._of_place_and_air
        shape = np.broadcast_shapes((1, moment.times.size if clock else 1), *shapes)

        def flat(values: Array) -> Array:
            return np.broadcast_to(values, shape).reshape(-1)

        if sun is not None:
            self._sky.height = flat(sun)
        columns = {name: flat(values) for name, values in state.items()}
        found = self._in_columns(columns, shape[0] * shape[1], flat(moment.times[None]) if clock else 0.0)
        return {name: values.reshape(*values.shape[:-1], *shape) for name, values in found.items()}

    def _in_columns(self, state: Mapping[str, Array], columns: int, seconds: Any) -> dict[str, Array]:
        """Return the fields (column,) or (species, column) for a state (column,); seconds may be an array of that."""
        bound = self._bound(columns)
        weather: Any = BoxWeather(state, self.weather, self.name)
        found = bound.at(weather, seconds, lambda _: weather)
        by_species = {each.name: each.species for each in bound.fields}
        return {
            name: values.reshape((-1, columns) if by_species[name] else (columns,)) for name, values in found.items()
        }


def _section(kind: Kind) -> str:
    return "emission" if kind == "source" else "deposition"
