"""Settings registry: one description of each setting for validation, `airshed show` and the documentation.

A section of a case file is a :class:`Section`; each field carries a text, a unit and a default. `settings_of` lists all
settings by key.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import get_annotations
from math import inf
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from airshed.core.errors import CaseError
from airshed.core.text import shown
from airshed.core.units import Quantity, quantity

Number = Annotated[float, Strict()]
Whole = Annotated[int, Strict()]
Switch = Annotated[bool, Strict()]


class Section(BaseModel):
    """Section of a case file: immutable, with unknown keys refused.

    insert_before  the setting in front of which a subclass inserts its settings; without it they follow all others
    usual          settings that a missing section needs, if none is required in every case
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)
    insert_before: ClassVar[str] = ""
    usual: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Insert the settings of the subclass at their place."""
        fields, general = cls.__pydantic_fields__, cls.__mro__[1]
        if issubclass(general, Section) and general.insert_before in fields:
            names, own = list(general.model_fields), [name for name in get_annotations(cls) if name in fields]
            at = names.index(general.insert_before)
            order = dict.fromkeys([*(name for name in names[:at] if name not in own), *own, *names[at:]])
            cls.__pydantic_fields__ = {name: fields[name] for name in order}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).model_fields:
            raise CaseError(f"{name} cannot be set: cases are immutable; case.patched({{...}}) returns a changed copy")
        super().__setattr__(name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the section as plain TOML values, including defaults; unset values are omitted.

        Returns
        -------
        dict
            Values by the names of the settings.

        Examples
        --------
        >>> case.time.to_dict()["length"]
        '24 h'
        """
        return {name: _plain(value) for name in type(self).model_fields if (value := getattr(self, name)) is not None}


def setting(
    default: Any, text: str, *, unit: str = "", only_for: str | tuple[str, ...] = (), keys: str = "", **constraints: Any
) -> Any:
    """Declare a field of a Section: its default (``...`` if required), text, unit and bounds.

    A default that is a function is called on use. ``only_for`` lists the values of another setting with which this one
    takes effect; the text states it. ``keys`` describes the keys of a table, such as "species".
    """
    words = (only_for,) if isinstance(only_for, str) else only_for
    text = f"For {', '.join(f'`{word}`' for word in words)}: {text}" if words else text
    chosen = {"default_factory": default} if callable(default) else {"default": default}
    return Field(
        **chosen,
        description=text,
        json_schema_extra={"unit": unit, "only_for": list(words), "keys": keys},
        **constraints,
    )


@dataclass(frozen=True)
class KeywordUnion:
    """Annotation of a field that holds one of ``words`` or a value of type ``other``, with one error message for
    both.
    """

    words: tuple[str, ...]
    other: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Wrap the schema of the other type."""

        def validate(value: object, inner: Callable[[object], object]) -> object:
            return value if value in self.words else inner(value)

        return core_schema.no_info_wrap_validator_function(validate, handler.generate_schema(self.other))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the field as a word or a value of the other type."""
        return {"anyOf": [{"enum": list(self.words)}, handler(core)]}


_LEAST, _MOST = {"ge": "", "gt": "above "}, {"le": "", "lt": "below "}


@dataclass(frozen=True)
class Setting:
    """Description of one setting.

    range     of numbers, such as "1 s to 100 year"; "" if unbounded
    default   a plain value; None if there is none
    only_for  values of another setting with which this one takes effect; empty if it always does
    keys      description of the keys of a table, such as "species"
    """

    key: str
    kind: str
    unit: str
    range: str
    required: bool
    default: Any
    text: str
    only_for: tuple[str, ...] = ()
    keys: str = ""


def settings_of(section: type[Section], prefix: str = "") -> Iterator[Setting]:
    """Yield the settings of a section and of its subsections, in order; lists appear as ``output.N``."""
    for name, field in section.model_fields.items():
        key = f"{prefix}{name}"
        inner, many = section_inside(field.annotation)
        if inner is not None:
            yield from settings_of(inner, f"{key}.N." if many else f"{key}.")
        else:
            default = None if field.is_required() else _plain(field.get_default(call_default_factory=True))
            extra = field.json_schema_extra
            yield Setting(
                key, _kind(field), _unit(field), _range(field), field.is_required(), default, field.description or "",
                _words(extra.get("only_for")) if isinstance(extra, dict) else (),
                str(extra.get("keys", "")) if isinstance(extra, dict) else "",
            )  # fmt: skip


def section_inside(annotation: Any) -> tuple[type[Section] | None, bool]:
    """Return the Section class that a field holds, if any, and whether the field holds a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation, False
    if get_origin(annotation) is tuple and get_args(annotation)[1:] == (...,):
        return section_inside(get_args(annotation)[0])[0], True
    return None, False


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return value.to_dict()
    if isinstance(value, Quantity):
        return value.text
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _annotations(field: FieldInfo) -> list[Any]:
    return [field.annotation, *field.metadata]


def _inside(annotations: Iterable[Any]) -> Iterator[Any]:
    """Yield the annotations of a field and of the values in it."""
    for annotation in annotations:
        if isinstance(annotation, KeywordUnion):
            yield from _inside([annotation.other])
        elif isinstance(annotation, FieldInfo):
            yield from _inside(annotation.metadata)
        else:
            yield annotation
            yield from _inside([*getattr(annotation, "__metadata__", ()), *get_args(annotation)])


def _range(field: FieldInfo) -> str:
    """Return the range of a field's numbers as text."""
    found = list(_inside(_annotations(field)))
    ranges = [each.range for each in found if isinstance(each, QuantityRange)]
    least, most = ([text for each in found if (text := _end(each, words))] for words in (_LEAST, _MOST))
    ranges += [f"{least[0]} to {most[0]}"] if least and most else []
    return "; ".join(dict.fromkeys(filter(None, ranges)))


def ends_of(annotation: Any, field: FieldInfo, unit: str) -> tuple[float, float]:
    """Return the minimum and maximum, in a unit, of a setting of a given type."""
    found = list(_inside([annotation, *field.metadata]))
    least, most = ([end for each in found for end in _ends(each, words).values()] for words in (_LEAST, _MOST))
    for low, high in (each.ends(unit) for each in found if isinstance(each, QuantityRange)):
        least, most = [*least, low], [*most, high]
    return max(least, default=-inf), min(most, default=inf)


def _end(bound: object, words: Mapping[str, str]) -> str:
    """Return a bound of a pydantic constraint as text."""
    return next((f"{words[name]}{end:g}" for name, end in _ends(bound, words).items()), "")


def _ends(bound: object, names: Iterable[str]) -> dict[str, float]:
    """Return the bounds of a pydantic constraint."""
    found = {name: getattr(bound, name, None) for name in names}
    return {name: float(end) for name, end in found.items() if isinstance(end, int | float)}


def _unit(field: FieldInfo) -> str:
    extra, measures = field.json_schema_extra, [m for m in _inside(_annotations(field)) if isinstance(m, QuantityRange)]
    given = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
    return given or " or ".join(dict.fromkeys(unit for m in measures for unit in m.units))


def _kind(field: FieldInfo) -> str:
    words = [repr(word) for a in field.metadata if isinstance(a, KeywordUnion) for word in a.words]
    others = [_name(a.other) for a in field.metadata if isinstance(a, KeywordUnion)] or [_name(field.annotation)]
    return ", ".join([*words, *others]).replace("'", '"')


def _name(annotation: Any) -> str:
    """Return the name of a type for users."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _name(arguments[0])
    if origin is Literal:
        return ", ".join(repr(word) for word in arguments)
    if origin in (Union, UnionType):
        return ", ".join(_name(argument) for argument in arguments if argument is not type(None))
    if origin is tuple:
        return f"list of {_plural(_name(arguments[0]))}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"table of {_plural(_name(arguments[1]))}"
    names = {str: "text", int: "whole number", float: "number", bool: "true or false", Quantity: "quantity"}
    return names.get(annotation, "time")


def _plural(name: str) -> str:
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _words(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


# Quantities as fields of a Section: their units and valid range.


KEY = "{key}"
"""Placeholder for the key path in the message of a validator, which does not have the path."""

Bound = float | str
"""Bound of a range: a quantity such as "1 s", or a number in any unit."""


def refuse(message: str) -> PydanticCustomError:
    """Return the error with which a validator refuses a value; ``{key}`` in the message becomes the key path."""
    return PydanticCustomError("refused", "{message}", {"message": message})


@dataclass(frozen=True)
class QuantityRange:
    """Annotation of a field that holds a quantity in one of ``units``, within a range.

    least, most  bounds of the range; with several units one for each, in their order
    above        exclusive lower bound, with or without ``least``
    or_zero      whether 0 is valid in addition to a range above 0
    or_negative  whether the range applies to the magnitude of a value of either sign
    """

    units: tuple[str, ...]
    least: tuple[Bound, ...]
    most: tuple[Bound, ...]
    above: float | None = None
    or_zero: bool = False
    or_negative: bool = False

    def __call__(self, value: object) -> Quantity:
        """Return the parsed quantity; raise the validator's error."""
        try:
            found = quantity(value, self.units, where=KEY)
        except CaseError as error:
            raise refuse(str(error)) from error
        fault = self._fault(abs(found.value) if self.or_negative else found.value, found.unit)
        if fault and not (self.or_zero and found.value == 0.0):
            raise refuse(f"{KEY} = {shown(found.text)} must {fault}{self._also_negative()}")
        return found

    @property
    def range(self) -> str:
        """Range as text: "1 s to 100 year"; "" if a bound is missing."""
        if not (self.least or self.above is not None) or not self.most:
            return ""
        zero = "0, or " if self.or_zero else ""
        ends = list(zip(self.least or (0.0,) * len(self.most), self.most, strict=True))
        above = "above " if self.above is not None and not self.least else ""
        return (
            zero
            + above
            + " or ".join(f"{_as_text(least)} to {_as_text(most)}" for least, most in ends)
            + self._also_negative()
        )

    def ends(self, unit: str) -> tuple[float, float]:
        """Return the minimum and maximum in one of the units."""
        least, most = self._end(self.least, unit), self._end(self.most, unit)
        lowest = -inf if self.above is None else self.above
        lowest, highest = (lowest if least is None else least[0]), (inf if most is None else most[0])
        return -highest if self.or_negative else min(lowest, 0.0) if self.or_zero else lowest, highest

    def _fault(self, value: float, unit: str) -> str:
        """Return the requirement that a value violates, as text; "" if it is valid."""
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
        """Return a bound in a unit, and as text."""
        if not ends:
            return None
        end = ends[min(self.units.index(unit), len(ends) - 1)]
        return (end if isinstance(end, float) else quantity(end, (unit,), where=end).value), _as_text(end)

    def _also_negative(self) -> str:
        return ", or the same below 0" if self.or_negative else ""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the field as text with one of the units, or a number if a unit is not required."""
        kinds = ["string", "number"] if self.units[0] == "1" else "string"
        return {"type": kinds, "format": "quantity", "x-unit": " or ".join(self.units), "x-range": self.range}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make pydantic validate the field by this object alone."""
        return core_schema.no_info_plain_validator_function(self)


def quantity_range(
    *units: str, least: Bound | Sequence[Bound] = (), most: Bound | Sequence[Bound] = (), above: float | None = None,
    or_zero: bool = False, or_negative: bool = False,
) -> QuantityRange:  # fmt: skip
    """Return the annotation of a quantity, as in ``Annotated[Quantity, quantity_range("s", least="1 s", most="1
    h")]``.
    """
    return QuantityRange(units, _each(least, units), _each(most, units), above, or_zero, or_negative)


def _each(ends: Bound | Sequence[Bound], units: Sequence[str]) -> tuple[Bound, ...]:
    return (ends,) * len(units) if isinstance(ends, float | str) else tuple(ends)


def _as_text(end: Bound) -> str:
    return end if isinstance(end, str) else f"{end:g}"
