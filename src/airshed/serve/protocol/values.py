"""Values in documents: names, numbers, indices, windows, and values of settings."""

from math import isfinite
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

Name = Annotated[str, Field(min_length=1, max_length=200)]
Encoding = Literal["float32", "byte"]
Number = Annotated[float, Field(allow_inf_nan=False)]
Index = Annotated[int, Field(ge=0, le=2**31)]
Window = tuple[Index, Index, Index, Index]
"""First row, end of rows, first column, end of columns; ends are exclusive."""

_LONGEST_TEXT: Final = 200
_LARGEST: Final = 2**53
_DEEPEST: Final = 8


def _check_value(value: Any, depth: int = 0) -> Any:
    """Return a value of a patch; raises the validator's error for a type that no setting has."""
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
"""Value of a field or a setting, in JSON."""

ScenarioName = Annotated[str, Field(max_length=80)]
"""Name of a scenario in plain words; empty for a run that did not branch off."""

Patch = Annotated[dict[Name, Value], Field(max_length=1000)]
"""Values by the path of a setting or the name of a field."""
