"""The error of a document names the location and all types that are allowed there."""

import pytest
from pydantic import ValidationError

from airshed.serve.protocol import types

VALUE = "a value is a number, a text of 200 letters, true or false, a list or a table"


@pytest.mark.parametrize(
    ("kind", "given", "place", "message"),
    [
        (types.Set, {"changes": {"a": [1, {"b": None}]}}, ("changes", "a"), VALUE),
        (types.Branch, {"changes": {"a": None, "b": 201 * "x"}}, ("changes", "a"), VALUE),
        (types.Run, {"until": [3]}, ("until",), "Input should be a valid number, or a valid string"),
        (types.Step, {"steps": -1}, ("steps",), "Input should be greater than or equal to 1"),
        (types.Set, {}, ("changes",), "Field required"),
        (types.Step, {"stops": 2}, ("stops",), "Extra inputs are not permitted"),
    ],
)  # fmt: skip
def test_the_first_error_has_all_allowed_types(kind, given, place, message) -> None:
    with pytest.raises(ValidationError) as found:
        kind(**given)
    assert types.first_wrong(found.value.errors()) == (place, message)
