"""What all documents are made of. A change that an old client would not understand raises `PROTOCOL`."""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

PROTOCOL: Final = 1

Name = Annotated[str, Field(min_length=1, max_length=200)]
Encoding = Literal["float32", "byte"]
Number = Annotated[float, Field(allow_inf_nan=False)]
Index = Annotated[int, Field(ge=0, le=2**31)]
Window = tuple[Index, Index, Index, Index]
"""First row, end of rows, first column, end of columns; ends are not part of it."""

Value = bool | Annotated[int, Field(ge=-(2**53), le=2**53)] | Number | Annotated[str, Field(max_length=200)]
"""What a field or a setting can be set to."""


class Document(BaseModel):
    """What a client sends or gets; closed to keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Problem(Document):
    """What went wrong, and what to do about it."""

    error: str
    message: str
