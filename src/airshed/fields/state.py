"""A strict container of the arrays of registered fields."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airshed.core.errors import CaseError
from airshed.core.nearest import suggestion
from airshed.fields.spec import FieldRegistry


class FieldState(Mapping[str, NDArray[np.float64]]):
    """Arrays of float64 by field name, each of its registered shape from the start to the end.

    An array exists from its first use and holds its field's default until it is set. Setting copies the values in, so
    that an array that somebody holds stays the field's array. Raises CaseError for an unknown name, with the nearest
    known one, and DataError for a wrong shape.
    """

    def __init__(self, registry: FieldRegistry, sizes: Mapping[str, int]) -> None:
        self.registry = registry
        self.sizes = dict(sizes)
        self._arrays: dict[str, NDArray[np.float64]] = {}

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self.registry:
            raise CaseError(f"there is no field {name!r}; {suggestion(name, self.registry)}")
        if name not in self._arrays:
            spec = self.registry[name]
            self._arrays[name] = np.full(spec.shape(self.sizes), spec.default)
        return self._arrays[name]

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        target = self[name]
        target[...] = self.registry[name].checked(value, self.sizes)

    def __contains__(self, name: object) -> bool:
        return name in self.registry

    def __iter__(self) -> Iterator[str]:
        return iter(self.registry)

    def __len__(self) -> int:
        return len(self.registry)

    def restart_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the arrays that a restart must hold."""
        return {name: self[name] for name, spec in self.registry.items() if spec.restart}
