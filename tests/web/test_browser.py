"""Actions of users in a browser, on models of air and of pasture."""

from pathlib import Path

import pytest
from tests.web.conftest import Browse

import airshed
from airshed.serve.http.server import Server

pytestmark = pytest.mark.thorough


def test_another_case_has_a_map_of_its_own(air: Server, browse: Browse) -> None:
    assert browse("opens", air, name="queensland", title="A year of pasture over Queensland", word="Townsville")


def test_budgets_of_air_close_on_the_page(chemistry: Server, browse: Browse) -> None:
    seen = browse("sums", chemistry, table="Budgets of species [mol]", view={"variable": "NO2"})
    head, rows = seen["rows"][0], {row[0]: dict(zip(seen["rows"][0], row, strict=True)) for row in seen["rows"][1:]}
    assert {"inflow", "outflow", "emitted", "deposited", "chemistry", "residual"} <= set(head)
    no2 = {name: _read(text) for name, text in rows["NO2"].items() if name != "species"}
    came = no2["inflow"] - no2["outflow"] + no2["emitted"] - no2["deposited"] + no2["chemistry"] + no2["clipped"]
    assert no2["emitted"] > 0
    assert came == pytest.approx(no2["change"], abs=0.01 * max(map(abs, no2.values())))  # three digits are shown
    assert "transport" in seen["parts"]


def test_balances_of_pasture_are_shown(pasture: Server, browse: Browse) -> None:
    seen = browse("sums", pasture, table="Balance of water, mean over the land [mm]")
    terms = {name: _read(text) for name, text in seen["rows"][1:]}
    assert terms.pop("change in store") == pytest.approx(sum(terms.values()), abs=0.01 * max(map(abs, terms.values())))
    assert "cells" in seen["parts"]


def _read(text: str) -> float:
    """Return a number in the notation of the pages, such as 1.2·10⁻⁵."""
    plain = text.translate(str.maketrans("−⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "-0123456789-"))
    return float(plain.replace("·10", "e"))


def test_a_marked_place_has_a_series_and_a_profile(air: Server, browse: Browse) -> None:
    seen = browse("looks", air, words="tracer2", place=[1.1, -0.5])
    assert seen["curves"] == [4, 4]  # steps and the start; levels
    assert (seen["view"]["variable"], seen["view"]["level"]) == ("TRACER2", 1)
    assert not seen["token"]


def test_past_steps_can_be_shown(air: Server, browse: Browse) -> None:
    seen = browse("scrolls", air, place=[2.1, 0.1])
    assert len({value for _, value in seen["seen"]}) == 4
    assert seen["again"] == seen["seen"]
    assert (seen["marked"], seen["left"]) == (1, 0)


def test_the_keyboard_reaches_all_functions_and_a_wrong_token_none(air: Server, browse: Browse) -> None:
    seen = browse("types", air)
    assert {"Space", ".", "z", "?", "Arrows", "Enter", "+", "−", "0"} <= set(seen["keys"])
    assert len(seen["keys"]) > 30
    assert seen["level"] == 1
    assert "no longer valid" in seen["refused"]


def test_the_time_bar_shows_any_hour_while_the_model_runs(air: Server, browse: Browse) -> None:
    with airshed.connect(air.url) as client:
        client.step(250)
        client._ask("DELETE", "/control")
    seen = browse("travels", air)
    assert seen["running"] == "running"
    assert seen["stays"][0] == seen["stays"][1]
    assert seen["played"] == 3
    assert seen["at"] > 0
    assert seen["unchanged"] == seen["paused"]  # playing and the offer compute nothing
    assert seen["text"].startswith("Run the model to ")


def test_the_dock_is_resized_and_remembered(air: Server, browse: Browse) -> None:
    seen = browse("docks", air)
    first, by_key, by_pointer, reloaded = seen["widths"]
    assert first < by_key < by_pointer == reloaded
    assert (seen["moved"], seen["shown"]) == (True, "tab-budget")


@pytest.mark.parametrize("model", ["air", "pasture"])
def test_the_page_is_accessible(model: str, browse: Browse, request: pytest.FixtureRequest, chromium: str) -> None:
    server = request.getfixturevalue(model)
    places = {"air": [[0.1, 0.1]], "pasture": [[145.0, -23.0]]}[model]
    assert browse("admits", server, places=places) == []


@pytest.mark.parametrize("model", ["air", "pasture"])
def test_a_telephone_shows_it(model: str, browse: Browse, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    assert max(browse("narrows", request.getfixturevalue(model), picture=str(tmp_path / "narrow.png"))) <= 360
