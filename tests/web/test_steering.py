"""What people change in a browser: settings, releases, painting; who may; and what a lost server does."""

import threading
from pathlib import Path

import numpy as np
import pytest
from tests.web.conftest import Browse

import airshed
from airshed.parallel.communicator import Alone
from airshed.runtime.registry import load_case
from airshed.serve.server import Address, Server

PARIS = [2.5, 48.5]
ROW, COLUMN = 3, 2


def test_an_emission_factor_makes_a_branch_differ(chemistry: Server, browse: Browse) -> None:
    def look() -> float:
        name = next(each for each in chemistry.engine.sessions if each != "main")
        with airshed.connect(chemistry.url) as main, airshed.connect(chemistry.url, name) as branch:
            assert branch.log()[-1].command["kind"] == "set" or branch.state().parent == "main"
            difference = branch.values("NO2", level=0) - main.values("NO2", level=0)
        return float(difference[ROW, COLUMN]) * 1e9

    seen = browse("branches", chemistry, {"look": look}, variable="NO2", pollutant="NOx", place=PARIS)
    assert seen["names"][0] == "main"
    low, high = seen["scale"]["low"], seen["scale"]["high"]
    assert low == -high
    assert seen["scale"]["colours"] == "balance"
    shown = float(seen["value"].split()[0].replace("−", "-"))
    assert shown == pytest.approx(seen["difference"], rel=2e-3)
    assert shown < 0 < high
    assert seen["drawn"] > 1
    assert seen["blanks"] == 0  # while both run, the map never waits for the slower one


def test_keys_alone_steer(chemistry: Server, browse: Browse) -> None:
    with airshed.connect(chemistry.url) as client:
        since, before = len(client.log()), client.values("O3", level=0)
        browse("steers", chemistry, variable="O3", factor="DE/F_RoadTransport", place=PARIS)
        done = [each.command for each in client.log(since) if each.command["kind"] not in ("snapshot", "forget")]
        painted = client.values("O3", level=0) / before
    assert [(each["name"], each["value"]) for each in done[:3]] == [
        ("transport.advection", False), ("transport.advection", True), ("emissions.scale.DE/F_RoadTransport", 0.5),
    ]  # fmt: skip
    assert (done[3]["species"], done[3]["lon"], done[3]["lat"], done[3]["rate"]) == ("SO2", *PARIS, 3.0)
    assert done[4]["kind"] == "paint"
    assert set(np.unique(painted.round(5))) == {1.0, 2.0}


def test_a_release_is_made_and_undone(chemistry: Server, browse: Browse) -> None:
    with airshed.connect(chemistry.url) as client:
        before, since = client.values("SO2", level=0), len(client.log())

        def look() -> float:
            return float(client.values("SO2", level=0)[ROW, COLUMN])

        seen = browse("releases", chemistry, {"look": look}, species="SO2", place=PARIS)
        assert seen["during"] > 5 * before[ROW, COLUMN]
        assert np.array_equal(client.values("SO2", level=0), before)
        done = [each.command["kind"] for each in client.log(since)]
        assert done[:3] == ["snapshot", "release", "restore"]  # and the snapshot is forgotten soon


def test_an_area_is_painted(air: Server, browse: Browse) -> None:
    corners = [[-2, -2], [2, -2], [2, 2], [-2, 2]]
    browse("paints", air, variable="TRACER2", corners=corners, value=25)
    with airshed.connect(air.url) as client:
        painted = np.isclose(client.values("TRACER2", level=0), 25e-9, rtol=1e-5)
    assert 18**2 <= painted.sum() <= 22**2  # corners are clicked to a pixel
    assert painted[12:28, 12:28].all()


def test_control_is_handed_over(air: Server, browse: Browse) -> None:
    assert "controls this session" in browse("hands", air)["refused"]


def test_a_lost_server_is_found_again(browse: Browse, chromium: str) -> None:
    running = _Running()
    answers = {"stop": running.stop, "start": running.start}
    try:
        seen = browse("reconnects", running.server, answers)
    finally:
        running.stop()
    assert "connection is lost" in seen["told"]
    assert seen["drawn"] == "0"
    assert seen["standing"] == 0


class _Running:
    """A server that is ended and started again at the same address, with the same token."""

    def __init__(self) -> None:
        self.address, self.token = Address(), "of-a-test"
        self.start()

    def start(self) -> None:
        self.server = Server(Alone(), self.address, token=self.token)
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
