"""The settings registry: one description of every setting feeds validation, `airshed show` and the documentation.

A section of a case file is a :class:`Section`; each of its fields carries a text, a unit and a default. `settings_of`
lists them all by their key.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, Strict
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from airshed.core.errors import CaseError
from airshed.core.units import Quantity, quantity

KEY = "{key}"
"""Stands for the key path in the message of a validator, which does not know where it is used."""

Number = Annotated[float, Strict()]
Whole = Annotated[int, Strict()]
Switch = Annotated[bool, Strict()]


class Section(BaseModel):
    """A table of a case file: immutable, and closed to keys that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the section as plain TOML values, defaults included; what is not set is left out."""
        return {name: _plain(value) for name in type(self).model_fields if (value := getattr(self, name)) is not None}


def refuse(message: str) -> PydanticCustomError:
    """Return the error by which a validator refuses a value; ``{key}`` in the message becomes the key path."""
    return PydanticCustomError("refused", "{message}", {"message": message})


def setting(default: Any, text: str, *, unit: str = "", **constraints: Any) -> Any:
    """Declare a field of a Section: its default (``...`` when it must be given), its text and unit, and its bounds.

    A default that is a function is called where it is needed.
    """
    chosen = {"default_factory": default} if callable(default) else {"default": default}
    return Field(**chosen, description=text, json_schema_extra={"unit": unit}, **constraints)


@dataclass(frozen=True)
class Measured:
    """Annotates a field that holds a quantity in one of ``units``, with bounds in the first of them."""

    units: tuple[str, ...]
    above: float | None = None
    least: float | None = None

    def __call__(self, value: object) -> Quantity:
        """Return the parsed quantity; raises the validator's error."""
        try:
            found = quantity(value, self.units, where=KEY)
        except CaseError as error:
            raise refuse(str(error)) from error
        if self.above is not None and found.value <= self.above:
            raise refuse(f"{KEY} = {found.text!r} must be more than {self.above:g}")
        if self.least is not None and found.value < self.least:
            raise refuse(f"{KEY} = {found.text!r} must not be less than {self.least:g}")
        return found

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make pydantic validate the field by this object alone."""
        return core_schema.no_info_plain_validator_function(self)


def measured(*units: str, above: float | None = None, least: float | None = None) -> Measured:
    """Return the annotation of a quantity: ``Annotated[Quantity, measured("s", above=0)]``."""
    return Measured(units, above, least)


@dataclass(frozen=True)
class OrWords:
    """Annotates a field that holds one of ``words`` or else a value of type ``other``: one error, not one for each."""

    words: tuple[str, ...]
    other: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Wrap the schema of the other type."""

        def validate(value: object, inner: Callable[[object], object]) -> object:
            return value if value in self.words else inner(value)

        return core_schema.no_info_wrap_validator_function(validate, handler.generate_schema(self.other))


@dataclass(frozen=True)
class Setting:
    """What there is to know about one setting; ``default`` is a plain value, None where there is none."""

    key: str
    kind: str
    unit: str
    required: bool
    default: Any
    text: str


def settings_of(section: type[Section], prefix: str = "") -> Iterator[Setting]:
    """List the settings of a section and of those inside it, in their order; lists show as ``output.N``."""
    for name, field in section.model_fields.items():
        key = f"{prefix}{name}"
        inner, many = section_inside(field.annotation)
        if inner is not None:
            yield from settings_of(inner, f"{key}.N." if many else f"{key}.")
        else:
            default = None if field.is_required() else _plain(field.get_default(call_default_factory=True))
            yield Setting(key, _kind(field), _unit(field), field.is_required(), default, field.description or "")


def section_inside(annotation: Any) -> tuple[type[Section] | None, bool]:
    """Return the Section that a field holds, if any, and whether it holds a list of them."""
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


def _measures(annotations: list[Any]) -> Iterator[Measured]:
    for annotation in annotations:
        if isinstance(annotation, Measured):
            yield annotation
        elif isinstance(annotation, OrWords):
            yield from _measures([annotation.other])
        else:
            yield from _measures(list(getattr(annotation, "__metadata__", ())) + list(get_args(annotation)))


def _unit(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    given = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
    return given or " or ".join(dict.fromkeys(unit for m in _measures(_annotations(field)) for unit in m.units))


def _kind(field: FieldInfo) -> str:
    words = [repr(word) for a in field.metadata if isinstance(a, OrWords) for word in a.words]
    others = [_name(a.other) for a in field.metadata if isinstance(a, OrWords)] or [_name(field.annotation)]
    return ", ".join([*words, *others]).replace("'", '"')


def _name(annotation: Any) -> str:
    """Return the name of a type in a reader's words."""
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
