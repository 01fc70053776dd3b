"""The values of `--vary`, and settings that cannot be varied."""

import pytest

from airshed.core.errors import CaseError
from airshed.sweep.dimensions import Dimension, check_dimensions, varied


def values(text: str) -> list[str]:
    return [value for (value,) in varied(f"key={text}").points]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5,0.8,1", ["0.5", "0.8", "1"]),
        ("60 s, 2 min", ["60 s", "2 min"]),
        ("auto", ["auto"]),
        ('"a, b",c', ['"a, b"', "c"]),
        (r'"a\",b",c', [r'"a\",b"', "c"]),
        ("'a,b',\"c'd\"", ["'a,b'", '"c\'d"']),
        ('["1 m","2 m"],["3 m"]', ['["1 m","2 m"]', '["3 m"]']),
        ("{ NOx = 0.5, CO = 2 },{}", ["{ NOx = 0.5, CO = 2 }", "{}"]),
        ("0.5:1.5:5", ["0.5", "0.75", "1", "1.25", "1.5"]),
        ("0:0.3:4", ["0", "0.1", "0.2", "0.3"]),
        ("60 s:120 s:3", ["60 s", "90 s", "120 s"]),
        ("-1e-3:1e-3:2", ["-0.001", "0.001"]),
        ("2022-08-31T00:00:00Z", ["2022-08-31T00:00:00Z"]),
        ("a=1,b=2", ["a=1", "b=2"]),
    ],
)
def test_values_are_separated_by_commas_outside_of_quotes_and_brackets(text: str, expected: list[str]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("key", "is not understood"),
        ("=1", "is not understood"),
        ("key=", "a value is missing"),
        ("key=1,,2", "a value is missing"),
        ("key=1,2,1", "gives '1' twice"),
        ('key="a,b', "is not closed"),
        ("key=[1,2", "is not closed"),
        ("key=60 s:2 min:3", "the same unit"),
        ("key=0:1:1", "COUNT must be 2"),
        ("key=0:1:99999999", "COUNT must be 2"),
    ],
)
def test_an_invalid_list_of_values_is_refused(text: str, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        varied(text)


def test_a_name_in_the_dataset_has_no_slash() -> None:
    dimension = varied("emissions.scale.NOx/DE=0.5,1")
    assert (dimension.name, dimension.keys) == ("emissions.scale.NOx_DE", ("emissions.scale.NOx/DE",))
    assert dimension.overrides(1) == ["emissions.scale.NOx/DE=1"]


@pytest.mark.parametrize(
    ("vary", "settings", "message"),
    [
        ([], [], "needs --vary"),
        (["a=1", "a=2"], [], "a is varied twice"),
        (["a=1"], ["a = 2"], "both varied and given by --set"),
        (["grid.spacing=1 deg,2 deg"], [], "cannot be varied"),
        (["output.0.every=1 h,2 h"], [], "cannot be varied"),
        (["time.length=1 h,2 h"], [], "cannot be varied"),
        (["a=0:1:1000", "b=0:1:1000"], [], "1000000 members"),
    ],
)
def test_dimensions_that_do_not_go_together_are_refused(vary: list[str], settings: list[str], message: str) -> None:
    with pytest.raises(CaseError, match=message):
        check_dimensions([varied(text) for text in vary], settings)


def test_settings_that_keep_the_axes_can_be_varied() -> None:
    """The negative control."""
    check_dimensions([varied("time.step=60 s,90 s"), varied("gridded.x=1")], ["a=1"])
    check_dimensions([Dimension("member", ("a", "b"), (("1", "2"), ("3", "4")))], [])
