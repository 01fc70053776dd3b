"""The settings registry: one description of every setting feeds validation, `airshed show` and the documentation.

A section of a case file is a :class:`Section`; each of its fields carries a text, a unit and a default. `settings_of`
lists them all by their key.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import get_annotations
from math import inf
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from airshed.core.measured import KEY, Measured, measured, refuse
from airshed.core.units import Quantity

__all__ = [
    "KEY", "Measured", "Number", "OrWords", "Section", "Setting", "Switch", "Whole", "ends_of", "measured", "refuse",
    "section_inside", "setting", "settings_of",
]  # fmt: skip

Number = Annotated[float, Strict()]
Whole = Annotated[int, Strict()]
Switch = Annotated[bool, Strict()]


class Section(BaseModel):
    """A table of a case file: immutable, and closed to keys that it does not know.

    own_before  a setting before which those stand that a more special section declares; without it they are behind all
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)
    own_before: ClassVar[str] = ""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Put the settings that the class adds where they belong."""
        fields, general = cls.__pydantic_fields__, cls.__mro__[1]
        if issubclass(general, Section) and general.own_before in fields:
            names, own = list(general.model_fields), [name for name in get_annotations(cls) if name in fields]
            at = names.index(general.own_before)
            order = dict.fromkeys([*(name for name in names[:at] if name not in own), *own, *names[at:]])
            cls.__pydantic_fields__ = {name: fields[name] for name in order}

    def to_dict(self) -> dict[str, Any]:
        """Return the section as plain TOML values, defaults included; what is not set is left out."""
        return {name: _plain(value) for name in type(self).model_fields if (value := getattr(self, name)) is not None}


def setting(
    default: Any, text: str, *, unit: str = "", only_for: str | tuple[str, ...] = (), keys: str = "", **constraints: Any
) -> Any:
    """Declare a field of a Section: its default (``...`` when it must be given), its text and unit, and its bounds.

    A default that is a function is called where it is needed. ``only_for`` has the words of another setting with
    which alone this one changes anything; the text says so. ``keys`` of a table are names of these things: "species".
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
class OrWords:
    """Annotates a field that holds one of ``words`` or else a value of type ``other``: one error, not one for each."""

    words: tuple[str, ...]
    other: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Wrap the schema of the other type."""

        def validate(value: object, inner: Callable[[object], object]) -> object:
            return value if value in self.words else inner(value)

        return core_schema.no_info_wrap_validator_function(validate, handler.generate_schema(self.other))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the field: a word, or what the other type is."""
        return {"anyOf": [{"enum": list(self.words)}, handler(core)]}


_LEAST, _MOST = {"ge": "", "gt": "above "}, {"le": "", "lt": "below "}


@dataclass(frozen=True)
class Setting:
    """What there is to know about one setting.

    range     of numbers, such as "1 s to 100 year"; "" where there is none
    default   a plain value, None where there is none
    only_for  the words of another setting with which alone it changes anything; none where it always does
    keys      names of what the keys of a table are, such as "species"
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
    """List the settings of a section and of those inside it, in their order; lists show as ``output.N``."""
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


def _inside(annotations: Iterable[Any]) -> Iterator[Any]:
    """Yield what annotates a field and the values in it."""
    for annotation in annotations:
        if isinstance(annotation, OrWords):
            yield from _inside([annotation.other])
        elif isinstance(annotation, FieldInfo):
            yield from _inside(annotation.metadata)
        else:
            yield annotation
            yield from _inside([*getattr(annotation, "__metadata__", ()), *get_args(annotation)])


def _range(field: FieldInfo) -> str:
    """Return the range of a field's numbers in words."""
    found = list(_inside(_annotations(field)))
    ranges = [each.range for each in found if isinstance(each, Measured)]
    least, most = ([text for each in found if (text := _end(each, words))] for words in (_LEAST, _MOST))
    ranges += [f"{least[0]} to {most[0]}"] if least and most else []
    return "; ".join(dict.fromkeys(filter(None, ranges)))


def ends_of(annotation: Any, field: FieldInfo, unit: str) -> tuple[float, float]:
    """Return the least and the greatest number, in a unit, that a setting of a type may be."""
    found = list(_inside([annotation, *field.metadata]))
    least, most = ([end for each in found for end in _ends(each, words).values()] for words in (_LEAST, _MOST))
    for low, high in (each.ends(unit) for each in found if isinstance(each, Measured)):
        least, most = [*least, low], [*most, high]
    return max(least, default=-inf), min(most, default=inf)


def _end(bound: object, words: Mapping[str, str]) -> str:
    """Return the end of a range that pydantic looks at, in words."""
    return next((f"{words[name]}{end:g}" for name, end in _ends(bound, words).items()), "")


def _ends(bound: object, names: Iterable[str]) -> dict[str, float]:
    """Return those ends of a range that pydantic looks at."""
    found = {name: getattr(bound, name, None) for name in names}
    return {name: float(end) for name, end in found.items() if isinstance(end, int | float)}


def _unit(field: FieldInfo) -> str:
    extra, measures = field.json_schema_extra, [m for m in _inside(_annotations(field)) if isinstance(m, Measured)]
    given = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
    return given or " or ".join(dict.fromkeys(unit for m in measures for unit in m.units))


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


def _words(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
