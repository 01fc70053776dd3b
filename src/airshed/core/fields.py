"""Field specifications, and access to the values of a field.

One specification is the source of output attributes, selection by name, and documentation.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy.typing as npt

from airshed.core.errors import CaseError, DataError
from airshed.core.report import markdown_table
from airshed.core.text import suggestion

Written = Literal["always", "all", "named"]
"""When a field is written: to every output, to an output of all fields, or only if it is named."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True)
class FieldSpec:
    """Specification of a field: name, dimensions, SI unit and a line of description.

    dims           a subset of the dimensions of the model's domain, in their order
    standard_name  name in the CF table, where it has the quantity
    molar_mass     [kg mol-1] of the species whose mixing ratio the field is
    valid          physically meaningful range
    phase          "gas" or "particle", for a species
    particle       diameter [m] and density [kg m-3] of a particle species, where known
    settable       whether the field can be changed while the model runs
    over_step      whether values refer to the whole last step, such as fluxes, and not to its end
    raises         CaseError for an invalid name, or a missing unit or text
    """

    name: str
    dims: tuple[str, ...]
    unit: str
    text: str
    standard_name: str | None = None
    molar_mass: float | None = None
    valid: tuple[float, float] | None = None
    settable: bool = False
    written: Written = "all"
    over_step: bool = False
    phase: str = ""
    particle: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise CaseError(f"field name {self.name!r} is not usable: letters, digits and _ only, a letter first")
        if not self.unit.strip() or not self.text.strip():
            raise CaseError(f"field {self.name} needs a unit ('1' for a plain number) and a text")

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape of the field's array, given the sizes of the dimensions."""
        return tuple(sizes[dim] for dim in self.dims)

    def check_shape(self, shape: tuple[int, ...], sizes: Mapping[str, int]) -> None:
        """Raise DataError unless a shape is that of this field."""
        if shape != self.shape(sizes):
            expected = ", ".join(f"{dim} {sizes[dim]}" for dim in self.dims)
            raise DataError(f"field {self.name} must have the shape ({expected}), not {shape}")


class FieldRegistry(Mapping[str, FieldSpec]):
    """Fields of a model by name, in order; raises CaseError for a duplicate name."""

    def __init__(self, specs: Iterable[FieldSpec]) -> None:
        self._specs: dict[str, FieldSpec] = {}
        for spec in specs:
            if spec.name in self._specs:
                raise CaseError(f"two fields have the name {spec.name}; rename the species or tracer")
            self._specs[spec.name] = spec

    def __getitem__(self, name: str) -> FieldSpec:
        return self._specs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)

    def select(self, names: Iterable[str], *, where: str = "fields") -> tuple[FieldSpec, ...]:
        """Return the named fields in the order of ``names``; raise CaseError for an unknown or repeated name."""
        chosen = tuple(names)
        for name in chosen:
            if name not in self._specs:
                raise CaseError(f"{where}: there is no field {name!r}; {suggestion(name, self._specs)}")
            if chosen.count(name) > 1:
                raise CaseError(f"{where}: field {name!r} is named twice; name it once")
        return tuple(self._specs[name] for name in chosen)

    def for_output(self, names: Iterable[str] | Literal["all"]) -> tuple[FieldSpec, ...]:
        """Return the requested fields, or all, followed by the fields that every output contains."""
        every = [name for name, spec in self._specs.items() if spec.written == "all"]
        chosen = every if names == "all" else list(names)
        always = [name for name, spec in self._specs.items() if spec.written == "always" and name not in chosen]
        return self.select([*chosen, *always], where="output.fields")

    def markdown(self) -> str:
        """Return the registry as a Markdown table for the documentation."""
        rows = [(f"`{s.name}`", s.unit, ", ".join(s.dims), s.standard_name or "-", s.text) for s in self.values()]
        return markdown_table(("field", "unit", "dimensions", "CF standard name", "meaning"), rows)


Indices = slice | Sequence[int]
"""Indices along an axis."""


@runtime_checkable
class FieldView(Protocol):
    """Field in the memory of a model, in the model's own layout."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each dimension."""
        ...

    def copy_to(self, target: npt.NDArray[Any], indices: Indices) -> None:
        """Copy the values at some indices of the first dimension into an array, converted to its type."""
        ...
