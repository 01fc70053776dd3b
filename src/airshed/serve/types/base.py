"""What all documents are made of. A change that an old client would not understand raises `PROTOCOL`."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import ErrorDetails

PROTOCOL: Final = 1

Name = Annotated[str, Field(min_length=1, max_length=200)]
Encoding = Literal["float32", "byte"]
Number = Annotated[float, Field(allow_inf_nan=False)]
Index = Annotated[int, Field(ge=0, le=2**31)]
Window = tuple[Index, Index, Index, Index]
"""First row, end of rows, first column, end of columns; ends are not part of it."""

Value = bool | Annotated[int, Field(ge=-(2**53), le=2**53)] | Number | Annotated[str, Field(max_length=200)]
"""What a field or a setting can be set to."""

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
