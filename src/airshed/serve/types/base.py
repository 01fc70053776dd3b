"""What all documents are made of. A change that an old client would not understand raises `PROTOCOL`."""

from collections.abc import Sequence
from math import isfinite
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

PROTOCOL: Final = 2

Name = Annotated[str, Field(min_length=1, max_length=200)]
Encoding = Literal["float32", "byte"]
Number = Annotated[float, Field(allow_inf_nan=False)]
Index = Annotated[int, Field(ge=0, le=2**31)]
Window = tuple[Index, Index, Index, Index]
"""First row, end of rows, first column, end of columns; ends are not part of it."""

_LONGEST_TEXT, _LARGEST, _DEEPEST = 200, 2**53, 8


def _check_value(value: Any, depth: int = 0) -> Any:
    """Return a value of a patch; raises the validator's error for one that no setting has."""
    match value:
        case str() if len(value) <= _LONGEST_TEXT:
            return value
        case bool() | int() | float() if abs(value) <= _LARGEST or (isinstance(value, float) and isfinite(value)):
            return value
        case list() if depth < _DEEPEST:
            return [_check_value(each, depth + 1) for each in value]
        case dict() if depth < _DEEPEST and all(isinstance(key, str) for key in value):
            return {_check_value(key): _check_value(each, depth + 1) for key, each in value.items()}
    raise PydanticCustomError("value", "a value is a number, a text of 200 letters, true or false, a list or a table")


Value = Annotated[
    Any, PlainValidator(_check_value),
    WithJsonSchema({"type": ["boolean", "number", "string", "array", "object"], "maxLength": _LONGEST_TEXT}),
]  # fmt: skip
"""What a field or a setting can be set to, as JSON has it."""

Patch = Annotated[dict[Name, Value], Field(max_length=1000)]
"""Values by the path of a setting or the name of a field."""

_SHOULD: Final = "Input should be "


class Document(BaseModel):
    """What a client sends or gets; closed to keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Problem(Document):
    """What went wrong, and what to do about it."""

    error: str
    message: str


def first_wrong(errors: Sequence[ErrorDetails]) -> tuple[tuple[int | str, ...], str]:
    """Return the place of the first error and what it says; where several types are allowed, all that they say."""
    first = errors[0]
    place = first["loc"]
    same = [each for each in errors if each["input"] is first["input"] and each["loc"][:-1] == place[:-1]]
    if len(same) == 1 or first["type"] == "missing":  # several that are missing have one input: what lacks them
        return place, first["msg"]
    said = dict.fromkeys(each["msg"].partition(",")[0] for each in same)
    return place[:-1], _SHOULD + ", or ".join(each.removeprefix(_SHOULD) for each in said)
