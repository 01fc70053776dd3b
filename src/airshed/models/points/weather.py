"""The weather of a model of points, which a user or another model may set in place of that of the case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.core.units import to
from airshed.parallel.domain import Domain
from airshed.runtime.model import BESIDE, Saved

Values = Mapping[str, npt.ArrayLike]
Array = npt.NDArray[Any]

_SAVED = f"{BESIDE}weather."


def values_to_set(spec: FieldSpec, value: object, domain: Domain, dtype: npt.DTypeLike) -> Array:
    """Return the values to which the cells of this rank are set; raises CaseError for a wrong type, shape or value.

    value  an array of the whole domain, a number for all its cells, or a text with a unit
    """
    # type and shape
    whole = np.asarray(to(value, spec.unit, where=spec.name) if isinstance(value, str) else value)
    if whole.dtype.kind not in "fiu":
        raise CaseError(f"{spec.name} cannot be {value!r}: give numbers [{spec.unit}], or a text with a unit")
    if whole.ndim and whole.shape != domain.axes.whole.shape:
        raise CaseError(f"{spec.name} has the shape {domain.axes.whole.shape}; values of {whole.shape} cannot be set")

    # range
    low, high = spec.valid or (-np.inf, np.inf)
    wrong = np.argwhere(~(np.isfinite(whole) & (whole >= low) & (whole <= high)))
    if len(wrong):
        cell = tuple(wrong[0].tolist())
        ends = "" if spec.valid is None else f" between {low:g} and {high:g}"
        where = f", as in cell {cell} of what is to be set" if cell else ""
        raise CaseError(f"{spec.name} cannot be {whole[cell]}{where}; give numbers{ends}")
    return np.array(domain.box.of(np.broadcast_to(whole, domain.axes.whole.shape)), dtype)


class SettableWeather:
    """Weather of steps, whose fields can be set in place of those of the case until they are set again.

    source  returns the weather of the case for the steps that begin at some times [s]
    fields  fields of the weather, on the dimensions that ranks divide
    """

    def __init__(
        self, source: Callable[[Sequence[float]], Values], fields: Iterable[FieldSpec], domain: Domain,
        dtype: npt.DTypeLike,
    ) -> None:  # fmt: skip
        self._source, self._domain, self._dtype = source, domain, dtype
        self.fields = {spec.name: replace(spec, settable=True, written="named", over_step=True) for spec in fields}
        self._set: dict[str, Array] = {}

    def __call__(self, begins: Sequence[float]) -> Values:
        """Return the weather of steps, see :class:`airshed.models.points.model.PointValues`."""
        held = {name: np.broadcast_to(each, (len(begins), *each.shape)) for name, each in self._set.items()}
        return {**self._source(begins), **held}

    def value(self, name: str, begin: float) -> Array:
        """Return a field of the weather of one step on the cells of this rank."""
        found = np.asarray(self([begin])[name], self._dtype)
        return np.array(np.broadcast_to(found[0] if found.ndim else found, self._domain.box.shape))

    def set(self, name: str, value: object) -> None:
        """Set a field, see :meth:`airshed.runtime.model.Model.set`; raises CaseError for wrong values."""
        self._set[name] = values_to_set(self.fields[name], value, self._domain, self._dtype)

    def save(self) -> dict[str, Array]:
        """Return the fields that were set, by their names in a snapshot."""
        return {_SAVED + name: values for name, values in self._set.items()}

    @property
    def names(self) -> list[str]:
        """The fields that were set."""
        return list(self._set)

    def restore(self, saved: Saved, names: Iterable[str]) -> None:
        """Restore the fields that were set when a state was saved."""
        held = self._domain.held
        self._set = {name: np.array(saved.part(_SAVED + name, held), self._dtype) for name in names}
