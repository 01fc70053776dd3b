"""The weather of a model of points, which a user or another model may set in place of that of the case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.units import to
from airshed.fields.spec import FieldSpec
from airshed.parallel.domain import Domain
from airshed.runtime.model import BESIDE, Saved

Values = Mapping[str, npt.ArrayLike]
Array = npt.NDArray[Any]

_KEPT = f"{BESIDE}weather."


def values_to_set(spec: FieldSpec, value: object, domain: Domain, dtype: npt.DTypeLike) -> Array:
    """Return what the cells of this rank are to be set to; raises CaseError for what is no such field.

    value  an array of the whole domain, a number for all its cells, or a text with a unit
    """
    whole = np.asarray(to(value, spec.unit, where=spec.name) if isinstance(value, str) else value)
    if whole.dtype.kind not in "fiu":
        raise CaseError(f"{spec.name} cannot be {value!r}: give numbers [{spec.unit}], or a text with a unit")
    if whole.ndim and whole.shape != domain.axes.whole.shape:
        raise CaseError(f"{spec.name} has the shape {domain.axes.whole.shape}; values of {whole.shape} cannot be set")
    low, high = spec.valid or (-np.inf, np.inf)
    strange = np.argwhere(~(np.isfinite(whole) & (whole >= low) & (whole <= high)))
    if len(strange):
        cell = tuple(strange[0].tolist())
        ends = "" if spec.valid is None else f" between {low:g} and {high:g}"
        where = f", as in cell {cell} of what is to be set" if cell else ""
        raise CaseError(f"{spec.name} cannot be {whole[cell]}{where}; give numbers{ends}")
    return np.array(domain.box.of(np.broadcast_to(whole, domain.axes.whole.shape)), dtype)


class SettableWeather:
    """What `source` gives for the steps that begin at some times [s]; a field that was set holds until it is set again.

    fields  of the weather, on the dimensions that ranks divide
    """

    def __init__(
        self, source: Callable[[Sequence[float]], Values], fields: Iterable[FieldSpec], domain: Domain,
        dtype: npt.DTypeLike,
    ) -> None:  # fmt: skip
        self._source, self._domain, self._dtype = source, domain, dtype
        self.fields = {spec.name: replace(spec, settable=True, written="named", over_step=True) for spec in fields}
        self._set: dict[str, Array] = {}

    def __call__(self, begins: Sequence[float]) -> Values:
        """Return the weather of steps, see :class:`airshed.points.model.PointValues`."""
        held = {name: np.broadcast_to(each, (len(begins), *each.shape)) for name, each in self._set.items()}
        return {**self._source(begins), **held}

    def value(self, name: str, begin: float) -> Array:
        """Return a field of the weather of one step on the cells of this rank."""
        found = np.asarray(self([begin])[name], self._dtype)
        return np.array(np.broadcast_to(found[0] if found.ndim else found, self._domain.box.shape))

    def set(self, name: str, value: object) -> None:
        """Set a field, as :meth:`airshed.runtime.model.Model.set` says; raises CaseError for what cannot be."""
        self._set[name] = values_to_set(self.fields[name], value, self._domain, self._dtype)

    def save(self) -> dict[str, Array]:
        """Return what was set, by names of a snapshot's arrays."""
        return {_KEPT + name: values for name, values in self._set.items()}

    @property
    def names(self) -> list[str]:
        """The fields that were set."""
        return list(self._set)

    def restore(self, saved: Saved, names: Iterable[str]) -> None:
        """Take over what was set when a state was saved."""
        held = self._domain.held
        self._set = {name: np.array(saved.part(_KEPT + name, held), self._dtype) for name in names}
