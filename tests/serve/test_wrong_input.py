"""What is wrong with a document names its place, and all that would have been allowed there."""

import pytest
from pydantic import ValidationError

from airshed.serve import types

SEVERAL = "Input should be a valid boolean, or a valid integer, or a valid number, or a valid string"


@pytest.mark.parametrize(
    ("kind", "given", "place", "message"),
    [
        (types.Set, {"name": "x", "value": [1, 2]}, ("value",), SEVERAL),
        (types.Branch, {"changes": {"a": None, "b": [2]}}, ("changes", "a"), SEVERAL),
        (types.Run, {"until": [3]}, ("until",), "Input should be a valid number, or a valid string"),
        (types.Step, {"steps": -1}, ("steps",), "Input should be greater than or equal to 1"),
        (types.Set, {}, ("name",), "Field required"),
        (types.Step, {"stops": 2}, ("stops",), "Extra inputs are not permitted"),
    ],
)  # fmt: skip
def test_the_first_error_is_told_with_all_that_is_allowed_there(kind, given, place, message) -> None:
    with pytest.raises(ValidationError) as found:
        kind(**given)
    assert types.first_wrong(found.value.errors()) == (place, message)
