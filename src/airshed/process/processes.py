"""All processes of a case: operators for kernels, fields for the forcing, terms for budgets."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.core.text import duration
from airshed.formula import evaluate
from airshed.formula.tree import symbols
from airshed.kernels.column.reference import OperatorInputs, operator_rates
from airshed.kernels.operators import EXPLICIT, Kind, Operator, OperatorField
from airshed.mechanism.network import Reaction
from airshed.process.bound_process import Around, BoundProcess, State
from airshed.process.context import MARGIN, Source
from airshed.process.kinds import SIGNS, Weather


def check_rates(bound: BoundProcess, fields: Mapping[str, Array], state: Any, seconds: float) -> None:
    """Raise DataError for a loss, source or velocity that is negative or not finite in the air at an instant.

    fields  of processes at the instant, see :meth:`BoundProcess.at`;  seconds  since the start of the case
    Light is that of a clear sky. Rates of built-in processes are tested, and not checked here.
    """
    if type(bound.process).__module__.startswith("airshed."):
        return
    operators = [each for each in bound.operators if each.kind in SIGNS]
    if not operators:
        return

    # the air of cells, by the names in formulas
    context, density = bound.process.context, np.asarray(state.air_density)
    height = np.maximum(context.sun_height(seconds), 0.0)
    air = {name: np.asarray(getattr(state, name)) for name in WEATHER} | {
        "air_density": density, "air": density * context.grid.cell_volume, "cos_zenith": height,
        "thickness": np.broadcast_to(context.grid.thickness[:, None, None], density.shape),
        "light": (height > 0.0).astype(np.float64),
    }  # fmt: skip

    # rates of operators, by their formulas
    numbers = {name: np.asarray(values) for each in operators for name, values in each.numbers.items()}
    numbers |= {name: bound.numbers[name.removeprefix(f"{bound.key}_")].ravel() for name in numbers}
    for operator in operators:
        with np.errstate(all="ignore"):
            found = [np.asarray(each) for each in operator_rates(operator, OperatorInputs(fields, numbers, air))]
        for rate in found:
            wrong = rate[~(rate >= 0.0) | ~np.isfinite(rate)]
            if wrong.size:
                name = operator.name.removeprefix(f"{bound.key}_")
                raise DataError(
                    f"process {type(bound.process).__name__}: {name}() gives {wrong[0]:g} at {duration(seconds)}; "
                    f"a {operator.kind} must not be negative: write max(0, ...), or a loss for a negative source"
                )


LIGHT: Final = ("cos_zenith", "light")
WEATHER: Final = ("temperature", "pressure", "water_vapour")
"""Names of the air of a cell in rates: light and weather."""


class Processes(Sequence[BoundProcess]):
    """The active processes, in their order.

    changed  numbers of operators that differ from their declaration, see :class:`airshed.process.settable.Settable`
    """

    def __init__(self, bound: Iterable[BoundProcess]) -> None:
        self._bound = tuple(sorted(bound, key=lambda each: each.process.order))
        self.changed: dict[str, Array] = {}

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._bound[index]

    def __len__(self) -> int:
        return len(self._bound)

    def only(self, kinds: Collection[Kind]) -> "Processes":
        """Return the processes with operators of some kinds only."""
        return Processes(bound.only(kinds) for bound in self)

    @cached_property
    def operators(self) -> tuple[Operator, ...]:
        """The operators of all processes in a step."""
        return tuple(operator for bound in self for operator in bound.operators)

    @property
    def fields(self) -> tuple[OperatorField, ...]:
        """The fields that operators read."""
        return tuple(each for bound in self for each in bound.fields)

    @property
    def reactions(self) -> tuple[Reaction, ...]:
        """The reactions that the processes add to the mechanism."""
        return tuple(reaction for bound in self for reaction in bound.reactions)

    def sources(self, weather: Any) -> tuple[Source, ...]:
        """Return the emission sources of all processes; weather: provider of the state of the air at any time."""
        return tuple(source for bound in self for source in bound.sources(weather))

    @property
    def has_advection(self) -> bool:
        """True if species are advected by the wind."""
        return any(each.kind == "face_flux" for each in self.operators)

    @property
    def terms(self) -> dict[str, float]:
        """The budget terms of the processes, each with its sign; updates use the section of their process."""
        operators = {each.term: SIGNS[each.kind] for each in self.operators if each.term is not None}
        return operators | {bound.process.section: 1.0 for bound in self if bound.replaced}

    def at(self, state: State, seconds: float, around: Around) -> dict[str, Array]:
        """Return all fields at an instant, see :meth:`BoundProcess.at`; check the rates of processes of users."""
        found = {name: value for bound in self for name, value in bound.at(state, seconds, around).items()}
        for bound in self:
            check_rates(bound, found, state, seconds)
        return found

    @property
    def weather(self) -> tuple[Weather, ...]:
        """The weather fields that the processes read."""
        return tuple(each for bound in self for each in bound.own.weather.values())

    @property
    def margin(self) -> int:
        """The largest margin of columns whose weather a process reads."""
        return MARGIN if any(bound.process.margin for bound in self) else 0

    def any_rate_reads(self, names: Collection[str]) -> bool:
        """Return whether the rate of some operator reads one of the names of the air of a cell."""
        read = {name for each in self.operators for rate in each.rate for name in symbols(rate)}
        return not read.isdisjoint(names)

    @property
    def depend_on_sun(self) -> bool:
        """True if the fields of some process follow the time of day in constant air."""
        return any(bound.process.depends_on_sun for bound in self)

    @property
    def provenance(self) -> dict[str, Mapping[str, str]]:
        """Sources of data of each section, by subject."""
        return {bound.process.section: bound.process.provenance for bound in self if bound.process.provenance}

    @cached_property
    def explicit_fields(self) -> tuple[str, ...]:
        """Names of the fields that act with transport, at the start of a step."""
        return tuple(field.name for each in self.operators if each.kind in EXPLICIT for field in each.fields)

    @cached_property
    def implicit_fields(self) -> tuple[str, ...]:
        """Names of the fields that act in columns, at the end of a step."""
        return tuple(field.name for each in self.operators if each.kind not in EXPLICIT for field in each.fields)

    def outflow_rates(self, fields: Mapping[str, Array], air: Array) -> dict[str, Array]:
        """Return the outflow of each cell by explicit kinds, relative to its air [1/s], by direction.

        Advection is not included; its outflow follows from the air fluxes.

        fields  at an instant;  air  (level, lat, lon) [mol]
        """
        found: dict[str, Array] = {}
        for each in self.operators:
            if each.kind in EXPLICIT and each.rate:
                numbers = {name: self.changed.get(name, np.array(values)) for name, values in each.numbers.items()}
                direction, lost = _lost(each, {**fields, **numbers}, air.shape)
                found[direction] = found.get(direction, 0.0) + lost / air
        return found


def _lost(operator: Operator, values: Mapping[str, Array], cells: tuple[int, ...]) -> tuple[str, Array]:
    """Return the outflow of air of each cell by an explicit operator [mol/s], and its direction."""
    levels, rows, columns = cells
    if operator.kind == "face_exchange":
        faces = (levels, rows, columns + 1), (levels, rows + 1, columns)
        west, south = (
            np.broadcast_to(evaluate(rate, values), shape) for rate, shape in zip(operator.rate, faces, strict=True)
        )
        return "horizontal", west[..., :-1] + west[..., 1:] + south[:, :-1] + south[:, 1:]
    matrix = np.broadcast_to(evaluate(operator.rate[0], values), (levels, *cells))
    return "vertical", matrix.sum(axis=0) - np.einsum("kk...->k...", matrix)
