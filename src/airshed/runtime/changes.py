"""Changes of a model between two steps: values of fields, agreement of ranks, and agreement of two states."""

import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from numbers import Real
from typing import Any, Final, Literal
from zlib import crc32

import numpy as np

from airshed.core.errors import CaseError
from airshed.core.fields import FieldView
from airshed.parallel.communicator import Communicator
from airshed.runtime.model import OPTIONAL_PREFIX, Model, Snapshot

Effect = Literal["in place", "rebuild", "fixed"]
"""Effect of a change: the value is set in place, the model is rebuilt with its state, or the change is refused."""

_SHOWN: Final = 4


def field_values(view: FieldView | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the values of a view in double precision."""
    if not isinstance(view, FieldView):
        return view
    values = np.empty(view.shape)
    view.copy_to(values, slice(None))
    return values


def is_number(value: object) -> bool:
    """Return whether a value is a single finite number."""
    number = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    return isinstance(number, Real) and not isinstance(number, bool | np.bool_) and isfinite(number)


def array_value(model: Model, name: str, value: object) -> object:
    """Return the values of a DataArray in the unit and on the dimensions of a field; another value as it is.

    An array without the attribute ``units`` is in the unit of the field. Along a dimension that it lacks, the field is
    constant. Raises CaseError for other dimensions or sizes, and for a unit that cannot be converted.
    """
    xarray = sys.modules.get("xarray")
    if xarray is None or not isinstance(value, xarray.DataArray):
        return value
    from airshed.io.accessor import AirshedAccessor

    spec, sizes = model.fields[name], model.domain.axes.sizes
    array: Any = AirshedAccessor(value).to(spec.unit) if "units" in value.attrs else value
    if wrong := [str(dim) for dim in array.dims if dim not in spec.dims or array.sizes[dim] != sizes[dim]]:
        expected = ", ".join(f"{dim} {sizes[dim]}" for dim in spec.dims)
        raise CaseError(f"{name} has the dimensions ({expected}); the array differs in {', '.join(wrong)}")
    aligned = array.transpose(*(dim for dim in spec.dims if dim in array.dims)).to_numpy()
    missing = tuple(axis for axis, dim in enumerate(spec.dims) if dim not in array.dims)
    return np.broadcast_to(np.expand_dims(aligned, missing), spec.shape(sizes)).copy()


def settable_field(model: Model, path: str) -> str | None:
    """Return the settable field of a path, whose dots are underscores in the name; None where there is none."""
    spec = model.fields.get(path.replace(".", "_"))
    return spec.name if spec is not None and spec.settable else None


def check_settable(model: Model, name: str) -> None:
    """Raise CaseError for a missing field, and for one that is not settable."""
    (spec,) = model.fields.select([name], where="field")
    if not spec.settable:
        others = ", ".join(each.name for each in model.fields.values() if each.settable) or "none"
        raise CaseError(f"field {name} cannot be set while the model runs; settable are: {others}")


def numbers_of(model: Model, names: Collection[str]) -> list[float] | None:
    """Return the present values of fields without dimensions; None if one of the fields has dimensions."""
    if any(model.fields[name].dims for name in names):
        return None
    return [float(field_values(model.view(name))) for name in names]


@contextmanager
def undone_on_error(model: Model, names: Collection[str]) -> Iterator[None]:
    """Restore the model if a block that sets several fields raises CaseError."""
    saved = model.save().copied() if len(names) > 1 else None
    try:
        yield
    except CaseError:
        if saved is not None:
            model.restore(saved)
        raise


def check_alike(ranks: Communicator, changes: Mapping[str, object]) -> None:
    """Raise CaseError for values that differ between ranks, whose states would diverge."""
    if ranks.size > 1:
        found = ranks.gather_all(tuple((name, _fingerprint(value)) for name, value in changes.items()))
        if any(each != found[0] for each in found):
            names, differ = ", ".join(changes), sorted(set(found))[:_SHOWN]
            raise CaseError(f"ranks set {names} to different values, or different fields: {differ}")


def _fingerprint(value: object) -> str:
    """Return the identity of a value: the shape and a checksum of an array, else its text."""
    values = np.asarray(value) if isinstance(value, np.ndarray | np.generic | list | tuple) else None
    if values is None or not values.ndim or values.dtype == object:
        return repr(value)
    return f"{values.shape} {crc32(values.tobytes()):08x}"


def check_same_state(one: Model, other: Model) -> None:
    """Raise CaseError where the states of two models consist of different arrays.

    Of whole arrays only the names are compared, as some grow during a run. Optional arrays are ignored.
    """
    arrays = [_required_arrays(each.save()) for each in (one, other)]
    if differences := sorted(arrays[0] ^ arrays[1], key=str):
        raise CaseError(f"the other case has another state ({differences[0][0]}); start a separate simulation for it")


def _required_arrays(saved: Snapshot) -> set[tuple[Any, ...]]:
    """Return the name, shape and type of each tiled array, and the name of each whole array."""
    tiled = {name: each for name, each in saved.tiled.items() if not name.startswith(OPTIONAL_PREFIX)}
    return {(name, each.shape, each.dtype.str) for name, each in tiled.items()} | {(name,) for name in saved.whole}
