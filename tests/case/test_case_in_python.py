"""Cases in an interactive session: changes by sections, short displays, and help without the methods of pydantic."""

import inspect
import pydoc
import re
from typing import Any

import pytest

import airshed
from airshed.case.patch import with_sections
from airshed.core.errors import CaseError

NAME = "tracer-rotation"


def test_sections_change_the_settings_that_they_name() -> None:
    plain = airshed.Case.load(NAME)
    case = airshed.Case.load(NAME, time={"length": "6 h"}, title="Short", transport={"diffusion": False})
    assert case.time.length.value == 21600.0
    assert case.time.start == plain.time.start  # which the section did not name
    assert case.title == "Short"
    assert case.provenance["time.length"] == "given"
    assert case.provenance["time.start"].startswith("case.toml:")
    assert case == airshed.Case.load(NAME, ["time.length=6 h", 'title="Short"', "transport.diffusion=false"])
    assert airshed.load_case(NAME, time={"length": "6 h"}).time.length.value == 21600.0


def test_sections_are_added_to_other_changes() -> None:
    case = airshed.Case.load(NAME, ["time.length=6 h"], time={"step": "60 s"})
    assert (case.time.length.text, case.time.step.text) == ("6 h", "60 s")
    assert airshed.Case.load(NAME, {"time.length": "6 h"}, time={"step": "60 s"}) == case


PATCHES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nested": ({"emissions": {"scale": {"NOx": 0.5}}}, {"emissions.scale.NOx": 0.5}),
    "a list": ({"output": [{"every": "1 h"}]}, {"output": [{"every": "1 h"}]}),
    "a name with a dot": ({"rates": {"PHOTO.jNO2": 1.0}}, {"rates": {"PHOTO.jNO2": 1.0}}),
    "an empty table": ({"emissions": {"scale": {}}}, {"emissions.scale": {}}),
}


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_sections_are_patches_by_dotted_paths(patch: tuple[dict[str, Any], dict[str, Any]]) -> None:
    sections, expected = patch
    assert with_sections({}, sections) == expected


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a wrong section": ({"tiem": {"length": "6 h"}}, "tiem is not a setting; did you mean time"),
    "a wrong key": ({"time": {"lenght": "6 h"}}, "time.lenght is not a setting; did you mean time.length"),
    "a wrong unit": ({"time": {"length": "6 m"}}, "wrong kind of unit: expected a time"),
}


@pytest.mark.parametrize("sections", WRONG.values(), ids=WRONG)
def test_a_wrong_section_is_refused_without_blame_of_the_file(sections: tuple[dict[str, Any], str]) -> None:
    changes, message = sections
    for load in (airshed.Case.load, airshed.load_case):
        with pytest.raises(CaseError, match=message) as refused:
            load(NAME, **changes)
        assert "case.toml" not in str(refused.value)


def test_a_case_is_shown_in_a_few_lines() -> None:
    case = airshed.Case.load(NAME, time={"length": "6 h"})
    lines = repr(case).splitlines()
    assert lines[0] == "<Case 'A plume in turning air'>"
    assert lines[2].split() == ["time", "6", "h", "from", "2022-06-01", "00:00", "UTC"]
    assert lines[3].endswith("case.toml")
    assert lines[4].split(maxsplit=1) == ["changed", 'time.length = "6 h"']
    assert len(lines) == 6
    assert str(case) == repr(case)
    assert "changed" not in repr(airshed.Case.load(NAME))


def test_many_changes_are_cut() -> None:
    changes = {f"boundary.scale.TRACER{number}": 1.0 for number in ("", "2")}
    changes |= {"run.threads": 1, "title": "x", "description": "y", "time.length": "6 h", "time.courant": 0.1}
    assert "and 1 more" in repr(airshed.Case.load(NAME, changes))


def test_a_notebook_shows_all_settings() -> None:
    html = airshed.Case.load(NAME, title="A <b>")._repr_html_()
    assert "<b>A &lt;b&gt;</b>" in html
    assert "<td>time.length</td><td>&quot;24 h&quot;</td><td>case.toml:" in html
    assert "A <b></b>" not in html


@pytest.mark.parametrize("name", ["air", "box", "pasture"])
def test_help_is_short(name: str) -> None:
    from airshed.runtime.registry import model_kind

    case = model_kind(name).case
    text = pydoc.render_doc(case, renderer=pydoc.plaintext)
    assert len(text.rstrip().splitlines()) <= 20
    for noise in ("parse_obj", "model_construct", "model_dump", "__pydantic", "insert_before", "moves_planes"):
        assert noise not in text
    load = pydoc.render_doc(case.load, renderer=pydoc.plaintext)
    assert re.search(r"load\([\s|]*path", load)  # Python 3.13 breaks long signatures
    assert str(inspect.signature(case)) == "(**sections)"


def test_help_begins_with_the_calls_that_users_need() -> None:
    first = "\n".join(pydoc.render_doc(airshed.Case, renderer=pydoc.plaintext).splitlines()[:20])
    for call in ("Case(**sections)", "airshed.Case.load(", "``patched``", "``from_dict``", "``to_toml``"):
        assert call in first


def test_a_case_is_made_of_sections_and_cannot_be_set() -> None:
    with pytest.raises(CaseError, match=r"Case\(\.\.\.\) takes sections by name; Case\.load\(path\) reads a case file"):
        airshed.Case(NAME)
    with pytest.raises(CaseError, match=r"grid is missing: the case needs grid\.area\.lon"):
        airshed.Case()
    with pytest.raises(CaseError, match="the case is 'mine'; give nested dictionaries, or a path"):
        airshed.Case.from_dict("mine")  # type: ignore[arg-type]
    case = airshed.Case.load(NAME)
    with pytest.raises(CaseError, match="length cannot be set: cases are immutable"):
        case.time.length = "3 h"
    with pytest.raises(CaseError, match="title cannot be set"):
        case.title = "x"
    with pytest.raises(CaseError, match=r"did you mean time.start\? Or known here are .*begin"):
        case.patched({"emissions.point.0.start": "1 h"})
    with pytest.raises(CaseError, match=r"across the date line write \[176, 184\]"):
        case.patched({"grid.area.lon": [176, -176]})


def test_a_case_offers_its_sections_and_public_methods() -> None:
    offered = dir(airshed.Case.load(NAME))
    assert {"time", "grid", "load", "patched", "to_toml", "rows"} <= set(offered)
    assert not {"insert_before", "moves_planes", "model_dump", "copy"} & set(offered)
    assert callable(airshed.Case.model_json_schema)  # hidden names still work
