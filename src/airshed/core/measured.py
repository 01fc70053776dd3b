"""Quantities as fields of a Section: their units, and the range in which a value makes sense."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from airshed.core.errors import CaseError
from airshed.core.text import shown
from airshed.core.units import Quantity, quantity

KEY = "{key}"
"""Stands for the key path in the message of a validator, which does not know where it is used."""

Bound = float | str
"""The end of a range: a quantity such as "1 s", or a number that is meant in any unit."""


def refuse(message: str) -> PydanticCustomError:
    """Return the error by which a validator refuses a value; ``{key}`` in the message becomes the key path."""
    return PydanticCustomError("refused", "{message}", {"message": message})


@dataclass(frozen=True)
class Measured:
    """Annotates a field that holds a quantity in one of ``units``, in a range.

    least, most  the ends of the range; of several units one for each, in their order
    above        what the value must exceed, beside ``least`` or without
    or_zero      whether 0 is in the range too, which begins above it
    or_negative  whether the range holds for the size of a value of either sign
    """

    units: tuple[str, ...]
    least: tuple[Bound, ...]
    most: tuple[Bound, ...]
    above: float | None = None
    or_zero: bool = False
    or_negative: bool = False

    def __call__(self, value: object) -> Quantity:
        """Return the parsed quantity; raises the validator's error."""
        try:
            found = quantity(value, self.units, where=KEY)
        except CaseError as error:
            raise refuse(str(error)) from error
        fault = self._fault(abs(found.value) if self.or_negative else found.value, found.unit)
        if fault and not (self.or_zero and found.value == 0.0):
            raise refuse(f"{KEY} = {shown(found.text)} must {fault}{self._others()}")
        return found

    @property
    def range(self) -> str:
        """The range in words: "1 s to 100 year"; "" where there is no end."""
        if not (self.least or self.above is not None) or not self.most:
            return ""
        zero = "0, or " if self.or_zero else ""
        ends = list(zip(self.least or (0.0,) * len(self.most), self.most, strict=True))
        above = "above " if self.above is not None and not self.least else ""
        return (
            zero
            + above
            + " or ".join(f"{_as_text(least)} to {_as_text(most)}" for least, most in ends)
            + self._others()
        )

    def ends(self, unit: str) -> tuple[float, float]:
        """Return the least and the greatest value in one of the units."""
        least, most = self._end(self.least, unit), self._end(self.most, unit)
        lowest = -inf if self.above is None else self.above
        lowest, highest = (lowest if least is None else least[0]), (inf if most is None else most[0])
        return -highest if self.or_negative else min(lowest, 0.0) if self.or_zero else lowest, highest

    def _fault(self, value: float, unit: str) -> str:
        """Return what a value, in one of the units, must be and is not."""
        least, most = self._end(self.least, unit), self._end(self.most, unit)
        lowest = self.above if least is None else 0.0 if least[0] > 0.0 else None
        if lowest is not None and value <= lowest and not self.or_zero and not self.or_negative:
            return f"be more than {lowest:g}" + (f" ({self.range})" if least else "")
        if least is not None and value < least[0]:
            return f"be 0, or at least {least[1]}" if self.or_zero else f"not be less than {least[1]}"
        if most is not None and value > most[0]:
            return f"not be more than {most[1]}"
        return ""

    def _end(self, ends: Sequence[Bound], unit: str) -> tuple[float, str] | None:
        """Return an end of the range in a unit, and in words."""
        if not ends:
            return None
        end = ends[min(self.units.index(unit), len(ends) - 1)]
        return (end if isinstance(end, float) else quantity(end, (unit,), where=end).value), _as_text(end)

    def _others(self) -> str:
        return ", or the same below 0" if self.or_negative else ""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the field: a text with one of the units, also a number where it may have none."""
        kinds = ["string", "number"] if self.units[0] == "1" else "string"
        return {"type": kinds, "format": "quantity", "x-unit": " or ".join(self.units), "x-range": self.range}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make pydantic validate the field by this object alone."""
        return core_schema.no_info_plain_validator_function(self)


def measured(
    *units: str, least: Bound | Sequence[Bound] = (), most: Bound | Sequence[Bound] = (), above: float | None = None,
    or_zero: bool = False, or_negative: bool = False,
) -> Measured:  # fmt: skip
    """Return the annotation of a quantity: ``Annotated[Quantity, measured("s", least="1 s", most="100 year")]``."""
    return Measured(units, _each(least, units), _each(most, units), above, or_zero, or_negative)


def _each(ends: Bound | Sequence[Bound], units: Sequence[str]) -> tuple[Bound, ...]:
    return (ends,) * len(units) if isinstance(ends, float | str) else tuple(ends)


def _as_text(end: Bound) -> str:
    return end if isinstance(end, str) else f"{end:g}"
