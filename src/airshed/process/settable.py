"""Settable numbers of processes, and derivatives of fields with respect to them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from typing import Any, Final

import numpy as np
from pydantic import ValidationError, create_model

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.core.settings import KEY, Section, ends_of
from airshed.core.units import Quantity
from airshed.process.bound_process import Around, BoundProcess, State
from airshed.process.processes import Processes

_TINY: Final = 1e-30
_STEP: Final = 1e-6
_AGREEMENT: Final = 1e-5


def field_derivatives(
    bound: BoundProcess, number: tuple[str, int], state: State, seconds: float, around: Around
) -> dict[str, Array]:
    """Return the derivative of each field of operators by a number, in the shape of :meth:`BoundProcess.at`.

    Functions of instants are differentiated by a complex step, exact to round-off. Functions with an operation without
    a complex form, such as abs, are differentiated by a central difference over 1e-6 of the number. It is exact for
    linear functions.

    number  name of the setting, and index among its values
    """
    if bound.process.margin:
        state = around(seconds)
    name, place = number
    step = _STEP * max(abs(float(bound.numbers[name].flat[place])), _STEP)
    above, below = (_fields(bound, name, place, sign * step, state, seconds) for sign in (1.0, -1.0))
    found = {key: (np.asarray(above[key]) - np.asarray(below[key])) / (2.0 * step) for key in above}
    try:
        exact = _fields(bound, name, place, 1j * _TINY, state, seconds)
    except TypeError:
        exact = {}
    for key, value in exact.items():
        slope = np.imag(value) / _TINY
        if np.allclose(
            slope, found[key], rtol=_AGREEMENT, atol=_AGREEMENT * float(np.abs(found[key]).max(initial=0.0))
        ):
            found[key] = slope
    return {each.name: bound.shaped(each, found[each.name]) for each in bound.fields}


def _fields(
    bound: BoundProcess, name: str, place: int, change: complex, state: State, seconds: float
) -> dict[str, Any]:
    with _changed(bound, name, place, change), np.errstate(all="ignore"):
        return bound.values_at(state, seconds)


@contextmanager
def _changed(bound: BoundProcess, name: str, place: int, change: complex) -> Iterator[None]:
    before = bound.numbers[name]
    changed = before.astype(np.result_type(before, type(change)))
    changed.flat[place] += change
    bound.numbers[name] = changed
    try:
        yield
    finally:
        bound.numbers[name] = before


class Settable(Mapping[str, FieldSpec]):
    """Settable numbers by name, such as `sea_surface_strength`, or `washout_coefficients_HNO3` of a table by species.

    A change is stored in the settings, for functions of instants, and in ``Processes.changed``, for steps. Fields that
    were computed at earlier instants must be computed again.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._set: dict[str, float] = {}
        self._of_case: dict[str, float] = {}
        self._of_others: dict[str, float] = {}
        self._places: dict[str, tuple[BoundProcess, str, str | None]] = {}
        for bound in processes:
            for name, setting in bound.own.settings.items():
                if setting.settable:
                    for species in bound.species_of(name) if setting.by_species else (None,):
                        own = "_".join(filter(None, (bound.process.section, name, species)))
                        self._places[own] = bound, name, species

    def __getitem__(self, name: str) -> FieldSpec:
        bound, setting, species = self._places[name]
        declared = bound.own.settings[setting]
        text = f"{declared.field.description or setting} ({species})" if species else declared.field.description
        unit = declared.unit or "1"
        valid = ends_of(declared.annotation, declared.field, unit)
        return FieldSpec(name, (), unit, text or setting, valid=valid, settable=True, written="named")

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def value(self, name: str) -> Array:
        """Return the current value of a number, in the unit of its field."""
        bound, setting, species = self._places[name]
        numbers = bound.numbers[setting]
        return np.array(numbers if species is None else numbers[bound.species_of(setting).index(species)])

    def set(self, name: str, value: object) -> bool:
        """Set a number; return whether it changed. Raises CaseError for a value that its setting does not allow.

        value  in the unit of the field, or a text with another unit
        """
        plain = self._checked(name, value)
        changes = bool(plain != self.value(name))
        if changes:
            self._put(name, plain)
        return changes

    def place(self, name: str) -> tuple[BoundProcess, str, int]:
        """Return the process of a number, its setting, and the index among the values of the setting."""
        bound, setting, species = self._places[name]
        return bound, setting, 0 if species is None else bound.species_of(setting).index(species)

    def restore(self, numbers: Mapping[str, float]) -> None:
        """Set the numbers of an earlier state, see :attr:`changed`; all others return to the values of the case.

        Numbers of inactive processes are stored until these are active again.
        """
        for name in list(self._set):
            self._put(name, self._of_case[name])
        self._set.clear()
        self._of_others = {name: number for name, number in numbers.items() if name not in self._places}
        for name, number in numbers.items():
            if name in self._places:
                self._put(name, number)

    def _put(self, name: str, plain: float) -> None:
        self._of_case.setdefault(name, float(self.value(name)))
        bound, setting, species = self._places[name]
        self._set[name] = plain
        numbers = bound.numbers[setting]
        numbers[... if species is None else bound.species_of(setting).index(species)] = plain
        self._processes.changed[f"{bound.key}_{setting}"] = numbers.reshape(-1)

    @property
    def changed(self) -> dict[str, float]:
        """The changed numbers, by the names of their fields."""
        return {**self._set, **self._of_others}

    def _checked(self, name: str, value: object) -> float:
        """Validate a value as in its section of the case file."""
        bound, setting, species = self._places[name]
        declared = bound.own.settings[setting]
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if isinstance(value, Real) and not isinstance(value, bool) and declared.unit != "1":
            value = f"{float(value)!r} {declared.unit}"
        field: dict[str, Any] = {setting: (declared.annotation, declared.field)}
        model = create_model("Setting", __base__=Section, **field)
        try:
            found: Any = getattr(model.model_validate({setting: {species: value} if species else value}), setting)
        except ValidationError as error:
            what = error.errors()[0]["msg"].replace(KEY, name)
            raise CaseError(f"{name} cannot be {value!r}: {what}") from error
        found = found[species] if species else found
        return found.value if isinstance(found, Quantity) else float(found)
