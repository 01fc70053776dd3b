"""Changes made in a browser: settings, releases, painting; control; and behaviour after the loss of the server."""

import threading
from pathlib import Path

import numpy as np
import pytest
from tests.web.conftest import PARIS, PARIS_CELL, Browse

import airshed
from airshed.parallel.communicator import SingleRank
from airshed.runtime.registry import load_case
from airshed.serve.access.tokens import Tokens
from airshed.serve.http.server import Address, Server

pytestmark = pytest.mark.thorough


def test_a_release_is_made_and_undone(chemistry: Server, browse: Browse) -> None:
    with airshed.connect(chemistry.url) as client:
        before, since = client.values("SO2", level=0), len(client.log())

        def look() -> float:
            return float(client.values("SO2", level=0)[PARIS_CELL])

        seen = browse("releases", chemistry, {"look": look}, species="SO2", place=PARIS)
        assert seen["during"] > 5 * before[PARIS_CELL]
        assert [each.command["kind"] for each in client.log(since)] == ["release"]
    with airshed.connect(chemistry.url, "b1") as undone:
        assert np.array_equal(undone.values("SO2", level=0), before)
        assert undone.state.scenario == "Without the release of SO2"
    assert "computed with that change. They stay in “Base run”" in seen["undone"]


def test_an_area_is_painted(air: Server, browse: Browse) -> None:
    corners = [[-2, -2], [2, -2], [2, 2], [-2, 2]]
    browse("paints", air, variable="TRACER2", corners=corners, value=25)
    with airshed.connect(air.url) as client:
        painted = np.isclose(client.values("TRACER2", level=0), 25e-9, rtol=1e-5)
    assert 18**2 <= painted.sum() <= 22**2  # corners are accurate to a pixel
    assert painted[12:28, 12:28].all()


def test_control_is_handed_over(air: Server, browse: Browse) -> None:
    seen = browse("hands", air)
    assert "has control of this session" in seen["refused"]
    assert seen["names"] == "People: 2 here. Guest 2 controls"


def test_a_stranger_is_let_in_and_a_link_to_look_opens_the_view(air: Server, browse: Browse) -> None:
    view = {"variable": "TRACER2", "level": 1, "places": [[1.1, -0.5]]}
    seen = browse("invites", air, view=view)
    assert f"Ben would like to look. Number {seen['number']}, from 127.0.0.1." in seen["question"]
    assert seen["people"] == ["Guest 1\nyou", "Ben\nlooks"]
    assert air.tokens.watch in seen["link"]
    assert air.tokens.control not in seen["link"]
    assert "allows to watch" in seen["refused"]
    assert {key: seen["view"][key] for key in view} == view
    assert "token" not in seen["address"]
    assert seen["referrer"] == ""
    assert seen["history"] <= 2  # a blank page and this one: no entry has the token


def test_a_run_that_has_ended_is_replaced_by_its_parent(air: Server, browse: Browse) -> None:
    with airshed.connect(air.url) as main, main.branch() as branch:
        view = {"session": branch.session, "variable": "TRACER2", "places": [[1.1, -0.5]]}
        seen = browse("ends", air, {"end": branch.end}, view=view)
    for text in (seen["here"], seen["there"]):
        assert text == f"The run “{branch.state.scenario}” has ended. This is its parent, “Base run”."
    assert (seen["view"].get("session", "main"), seen["view"]["variable"]) == ("main", "TRACER2")
    assert seen["view"]["places"] == [[1.1, -0.5]]


def test_the_page_reconnects_to_a_lost_server(browse: Browse, chromium: str) -> None:
    running = _RestartableServer()
    answers = {"stop": running.stop, "start": running.start}
    try:
        seen = browse("reconnects", running.server, answers)
    finally:
        running.stop()
    assert "Connection lost" in seen["message"]
    assert seen["drawn"] == "0"
    assert seen["overlay"] == 0


class _RestartableServer:
    """A server that ends and is started again at the same address, with the same token."""

    def __init__(self) -> None:
        self.address, self.token = Address(), "of-a-test"
        self.start()

    def start(self) -> None:
        self.server = Server(SingleRank(), self.address, tokens=Tokens(self.token))
        self.address = Address(port=self.server.port)
        self._listening = self.server.listening()
        self._listening.__enter__()
        self._thread = threading.Thread(target=self.server.run)
        self._thread.start()
        self.server.engine.open(load_case(Path("cases/tracer-rotation"), []), "main").result(120.0)

    def stop(self) -> None:
        if self._thread.is_alive():
            self.server.stop()
            self._thread.join(60.0)
            self._listening.__exit__(None, None, None)
