"""What the code of a kernel is compiled for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from airshed.kernels.step.operators import Operator

_REAL: Final = {"double": "double", "single": "float"}
_DTYPE: Final[Mapping[str, type[np.floating]]] = {"double": np.float64, "single": np.float32}


@dataclass(frozen=True)
class Shape:
    """What any kernel is compiled for: columns or cells in a pack, and "double" or "single" precision."""

    width: int
    precision: str

    @property
    def real(self) -> str:
        """The C++ type of the state."""
        return _REAL[self.precision]

    @property
    def dtype(self) -> type[np.floating]:
        """NumPy type of the state."""
        return _DTYPE[self.precision]


@dataclass(frozen=True)
class MechanismShape(Shape):
    """What the code is compiled for: levels of a column, elements whose atoms are counted, and where transport goes.

    Without `vertical` levels are apart: there is nothing implicit, and each has its own sums.

    operators  that act where transport goes
    own_terms  terms of budgets that operators add to, also those that act elsewhere
    """

    levels: int
    families: tuple[str, ...] = ()
    horizontal: bool = True
    vertical: bool = True
    operators: tuple[Operator, ...] = ()
    own_terms: tuple[str, ...] = ()
