"""One netCDF file that many ranks write, each its own blocks, by a library of C."""

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import OutputError
from airshed.io.libraries.library import Wanted, load

if TYPE_CHECKING:
    from mpi4py import MPI

TYPES: Final = {"i1": 1, "i2": 3, "i4": 4, "f4": 5, "f8": 6, "i8": 10}
"""netCDF's numbers of the types that can be written, by NumPy's names."""

_TEXT: Final = 2
_WHOLE_FILE: Final = -1
_NO_FILL: Final = 1
_CREATE: Final = 0  # in place of what is there
_WRITE: Final = 1


@dataclass(frozen=True)
class Variable:
    """A variable to define: its dimensions, the type of its values, and its attributes (text, numbers, arrays)."""

    dimensions: tuple[str, ...]
    dtype: npt.DTypeLike
    attributes: Mapping[str, Any] = field(default_factory=dict)


class NetcdfFile(ABC):
    """A file that the ranks of a communicator make, or go on with, together: each makes the same calls, in one order.

    Blocks that are written are in the file after `commit` or `close`. Every call raises OutputError where the library
    fails, with its message and the path.
    """

    library: ClassVar[Wanted]
    prefix: ClassVar[str]
    format: ClassVar[int]

    def __init__(self, path: Path, handle: "MPI.Intracomm | None", *, append: bool = False) -> None:
        """Make the file, or open it to ``append``; without a communicator for this rank alone."""
        from mpi4py import MPI

        self.path, self._c = path, load(self.library)
        self._id = ctypes.c_int(-1)
        self._variables: dict[str, tuple[ctypes.c_int, np.dtype[Any], int]] = {}
        function, mode = ("open", _WRITE) if append else ("create", _CREATE | self.format)
        self._open(function, mode, handle if handle is not None else MPI.COMM_SELF)

    def define(
        self, dims: Mapping[str, int | None], variables: Mapping[str, Variable], attributes: Mapping[str, Any]
    ) -> None:
        """Define all of a new file at once: dimensions (None for the one that grows), variables, attributes."""
        numbers = {}
        for name, size in dims.items():
            numbers[name] = ctypes.c_int()
            self._call("def_dim", self._id, name.encode(), ctypes.c_size_t(size or 0), ctypes.byref(numbers[name]))
        for name, variable in variables.items():
            self._define(name, variable, [numbers[dim].value for dim in variable.dimensions])
        self._attributes(ctypes.c_int(_WHOLE_FILE), attributes)
        self._call("enddef", self._id)

    def write(self, name: str, start: Sequence[int], count: Sequence[int], array: npt.ArrayLike) -> None:
        """Write a block of a variable: ``count`` values along each dimension from ``start`` on; 0 for a rank with none.

        The array is converted to the variable's type, and may change after the call.
        """
        number, dtype, dimensions = self._variable(name)
        values = np.array(array, dtype, order="C")  # a copy: libraries may keep it until the commit, and swap its bytes
        if len(start) != dimensions or len(count) != dimensions or values.size != np.prod(count, dtype=np.int64):
            raise OutputError(
                f"{self.path}: a block of {name} from {tuple(start)}, {tuple(count)} long, does not fit "
                f"{values.size} values in {dimensions} dimensions"
            )
        offsets = ctypes.c_size_t * dimensions
        self._put(number, offsets(*start), offsets(*count), values)

    @abstractmethod
    def commit(self) -> None:
        """Bring all blocks written so far into the file, and the file to the system."""

    def close(self) -> None:
        """Commit, and close the file."""
        self.commit()
        self._call("close", self._id)

    @abstractmethod
    def _open(self, function: str, mode: int, handle: "MPI.Intracomm") -> None:
        """Make or open the file."""

    @abstractmethod
    def _put(self, number: ctypes.c_int, start: Any, count: Any, values: npt.NDArray[Any]) -> None:
        """Write, or take on to write, a block."""

    @abstractmethod
    def _ready(self, number: ctypes.c_int) -> None:
        """Prepare a variable for writing."""

    def _call(self, function: str, *arguments: Any) -> None:
        """Call a function of the library; raises OutputError when it fails."""
        status = getattr(self._c, self.prefix + function)(*arguments)
        if status != 0:
            tell = getattr(self._c, f"{self.prefix}strerror")
            tell.restype = ctypes.c_char_p
            raise OutputError(f"{self.path}: {self.library.title} failed to {function}: {tell(status).decode()}")

    def _define(self, name: str, variable: Variable, dims: list[int]) -> None:
        number, kind = ctypes.c_int(), np.dtype(variable.dtype).newbyteorder("=")
        if kind.str[1:] not in TYPES:
            raise OutputError(
                f"{self.path}: {name} has type {kind}, which netCDF does not have; take one of {[*TYPES]}"
            )
        c_dims = (ctypes.c_int * len(dims))(*dims)
        code = ctypes.c_int(TYPES[kind.str[1:]])
        self._call("def_var", self._id, name.encode(), code, len(dims), c_dims, ctypes.byref(number))
        self._call("def_var_fill", self._id, number, _NO_FILL, None)  # every value is written, once
        self._attributes(number, variable.attributes)

    def _attributes(self, number: ctypes.c_int, attributes: Mapping[str, Any]) -> None:
        for name, value in attributes.items():
            if isinstance(value, str):
                content, code, size = value.encode(), _TEXT, len(value.encode())
            else:
                values = np.atleast_1d(np.asarray(value))
                content, code, size = values.tobytes(), TYPES[values.dtype.str[1:]], values.size
            self._call("put_att", self._id, number, name.encode(), code, ctypes.c_size_t(size), content)

    def _variable(self, name: str) -> tuple[ctypes.c_int, np.dtype[Any], int]:
        """Return number, type and number of dimensions of a variable, as the file has them."""
        if name not in self._variables:
            number, code, dimensions = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
            self._call("inq_varid", self._id, name.encode(), ctypes.byref(number))
            self._call("inq_vartype", self._id, number, ctypes.byref(code))
            self._call("inq_varndims", self._id, number, ctypes.byref(dimensions))
            kind = next(kind for kind, known in TYPES.items() if known == code.value)
            self._ready(number)
            self._variables[name] = (number, np.dtype(kind), dimensions.value)
        return self._variables[name]
