"""The error for a former key of a setting names the present one, from a file, `--set` and Python."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from airshed.case.case import RunCase
from airshed.case.messages import explain
from airshed.case.renamed import RENAMED
from airshed.core.errors import CaseError
from airshed.core.settings import settings_of
from airshed.inverse.function.run_function import requested_inputs
from airshed.models.air.case import Case
from airshed.models.air.case.inverse import ReceptorSection
from airshed.models.box.conditions import BoxConditions

TEXT = """\
[grid]
area = { lon = [0, 2], lat = [50, 51] }
spacing = "1 deg"

[time]
start = 2022-08-31
length = "1 h"
longest = "2 min"

[chemistry]
mechanism = "tracer"
"""


def fault(path: Path, text: str = TEXT, overrides: list[str] | dict[str, object] = []) -> str:  # noqa: B006  read only
    """Return the message with which a case is refused."""
    (path / "case.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CaseError) as error:
        Case.load(path, overrides)
    return str(error.value)


def test_a_former_key_of_a_file_is_refused_with_its_line_and_the_present_key(tmp_path: Path) -> None:
    assert fault(tmp_path) == f"{tmp_path / 'case.toml'}:8: time.longest was renamed to time.maximum_step"


def test_a_former_key_of_an_override_and_of_python_is_refused_with_the_present_key(tmp_path: Path) -> None:
    text, message = TEXT.replace('longest = "2 min"', ""), "time.longest was renamed to time.maximum_step"
    assert fault(tmp_path, text, ["time.longest=2 min"]) == f"--set: {message}"
    assert fault(tmp_path, text, {"time.longest": "2 min"}) == message
    former = "assimilation.control.0.of=initial"
    expected = "--set: assimilation.control.0.of was renamed to assimilation.control.0.target"
    assert expected in fault(tmp_path, text, [former])
    case = Case.load(tmp_path)
    with pytest.raises(CaseError, match=f"^{message}$"):
        case.patched({"time.longest": "2 min"})


@pytest.mark.parametrize(("former", "present"), RENAMED.items())
def test_former_keys_are_no_settings_and_present_keys_are(former: str, present: str) -> None:
    keys = {each.key for each in settings_of(Case)}
    assert former not in keys
    assert present in keys
    assert former.rpartition(".")[0] == present.rpartition(".")[0]


def test_a_section_that_is_validated_by_itself_names_the_present_key() -> None:
    with pytest.raises(ValidationError) as error:
        ReceptorSection.model_validate({"layer": 3})
    message = explain(error.value, ReceptorSection, {"layer": 3}, lambda key: "", None)
    assert message == "layer was renamed to map_layer"
    with pytest.raises(CaseError, match=r"^inputs factors a: per was renamed to resolution$"):
        requested_inputs({"factors": {"a": {"species": ["NO"], "per": "cell"}}})


def test_conditions_of_a_box_name_the_present_key() -> None:
    with pytest.raises(CaseError, match=r"wet_deposition.origin was renamed to wet_deposition.precipitation_top"):
        BoxConditions.from_dict({"time": {"length": "1 h"}, "wet_deposition": {"origin": "1 km"}})


def test_a_key_of_another_section_is_not_taken_for_a_former_key() -> None:
    data = {"model": "air", "time": {"start": "2022-08-31", "length": "1 h", "origin": "1 km"}}
    with pytest.raises(CaseError, match=r"time.origin is not a setting; known here are start, length"):
        RunCase.from_dict(data)
