"""The five-minute visit: a reader who sees the page for the first time, at three sizes and in both themes.

AIRSHED_PICTURES names a folder for its screenshots.
"""

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serve.conftest import serving
from tests.web.conftest import PAGES, Browse

from airshed.runtime.registry import load_case
from airshed.serve.http.server import Server
from airshed.serve.records.recorded_day import recorded_session

BUDGET = 350_000
"""Bytes of all files of the page, compressed with gzip."""

PANELS = ["Fields", "Place", "Stations", "Budget", "About"]
SIZES = [(1440, 900), (768, 1024), (390, 844)]


@pytest.fixture(scope="module")
def recorded(chromium: str) -> Iterator[Server]:
    """The recorded day of western Europe, without its model."""
    session = recorded_session(load_case("west-europe"))
    assert session is not None
    with serving(None) as server:
        server.engine.show(session)
        yield server


def visit(recorded: Server, browse: Browse, size: tuple[int, int], theme: str, axe: list[str]) -> None:
    pictures = os.environ.get("AIRSHED_PICTURES")
    if pictures:
        Path(pictures).mkdir(parents=True, exist_ok=True)
    seen = browse(
        "visits", recorded, width=size[0], height=size[1], theme=theme, city="Paris", axe=axe, pictures=pictures
    )
    found = re.fullmatch(
        r"Ozone in Paris on Wed 31 Aug, \d\d:00 UTC: ([\d.]+) .+\. Highest ([\d.]+) .+ on Wed 31 Aug, (\d\d):00 UTC\.",
        seen["sentence"],
    )
    assert found is not None, seen["sentence"]
    assert float(found[2]) >= float(found[1])
    assert 11 <= int(found[3]) <= 17  # the highest ozone is in the afternoon
    assert recorded.tokens.watch in seen["link"]
    assert recorded.tokens.control not in seen["link"]
    assert seen["wide"] <= size[0]
    assert "Settings" not in seen["tabs"]
    assert seen["faults"] == []


@pytest.mark.standard
def test_a_visitor_finds_the_ozone_of_a_city_and_shares_it(recorded: Server, browse: Browse) -> None:
    visit(recorded, browse, (1440, 900), "light", [])


@pytest.mark.thorough
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_visit_is_possible_and_accessible_on_every_screen(
    recorded: Server, browse: Browse, size: tuple[int, int], theme: str
) -> None:
    visit(recorded, browse, size, theme, PANELS)


@pytest.fixture(scope="module")
def offered(chromium: str) -> Iterator[Server]:
    """The recorded day, whose model can be set up, with few cells and without a spin-up."""
    session = recorded_session(load_case("west-europe"))
    assert session is not None
    with serving(None) as server:
        server.engine.show(session)
        few = ["run.threads=1", "grid.spacing=1 deg", "time.spinup=0 h", "time.length=12 h"]
        server.engine.offer(load_case("west-europe", few))
        yield server


@pytest.mark.standard
def test_a_visitor_halves_the_traffic_of_a_country(offered: Server, browse: Browse) -> None:
    pictures = os.environ.get("AIRSHED_PICTURES")
    seen = browse("wonders", offered, width=1440, height=900, city="Cologne", pictures=pictures)
    assert seen["name"] == "Road transport −50 %, Germany"
    assert seen["runs"] == ["Recorded day", "Live run", seen["name"]]
    assert f"Effect on Ozone\n{seen['name']}, compared with Live run" in seen["words"]
    found = re.search(r"Place 1, (?:near )?Cologne\n([+−][\d.]+) µg/m³\n?\s*([\d.]+) → ([\d.]+)", seen["words"])
    assert found is not None, seen["words"]
    change = float(found[1].replace("−", "-"))
    assert change > 0.1  # at night, less nitric oxide leaves more ozone in the city
    assert float(found[3]) - float(found[2]) == pytest.approx(change, abs=0.1)
    assert seen["undone"] == f"“{seen['name']}” is removed."


@pytest.mark.standard
def test_the_page_is_within_its_budget(chromium: str) -> None:
    page = PAGES.read_text("utf-8")
    assets = (PAGES.parent / "assets").iterdir()
    files = [PAGES, *(each for each in assets if each.name in page)]  # not of former builds
    assert any(each.suffix == ".css" for each in files)
    assert sum(len(gzip.compress(each.read_bytes())) for each in files) < BUDGET
