"""Scenarios of a running model: names of branches, states before changes, and the effect of a change."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest
from tests.serve.conftest import Serve, reached, serving

import airshed
from airshed.runtime.registry import load_case
from airshed.serve.access.limits import Limits
from airshed.serve.client import Remote, ServerError
from airshed.serve.http.server import Server
from airshed.serve.model.sessions import DAY, UNDO
from airshed.serve.protocol.types import Document, OpenSession, SnapshotInfo

RATE = "emissions.point.0.rate"


@pytest.fixture(scope="module")
def server(serve: Serve) -> Server:
    return serve("tracer-rotation", "output.0.every=10 min", 'output.0.fields=["TRACER"]')


class Trunk(Remote):
    """A client that closes its branches with itself."""

    def branch(self, *given: Any, **more: Any) -> Remote:
        made = super().branch(*given, **more)
        self.__dict__.setdefault("made", []).append(made)
        return made

    def close(self) -> None:
        for each in self.__dict__.get("made", []):
            each.end()
            each.close()
        self._ask("DELETE", "/control")
        super().close()


@pytest.fixture
def main(server: Server) -> Iterator[Trunk]:
    with Trunk(server.url) as found:
        found.restart()
        yield found


def posted(server: Server, path: str, document: Document) -> Request:
    """Return a request to a server."""
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    return Request(f"http://127.0.0.1:{server.port}{path}", document.model_dump_json().encode(), headers)


def states(client: Remote) -> list[SnapshotInfo]:
    """Return the states before changes."""
    return [each for each in client.snapshots() if each.change is not None]


def test_a_branch_has_a_name_in_plain_words(main: Trunk) -> None:
    assert main.state.scenario == ""
    main.run(until="20 min")
    shade = main.branch(changes={"photolysis.cloud": False})
    again = main.branch(changes={"photolysis.cloud": False})
    named = main.branch("start", {"boundary.scale.TRACER": 0.5}, "Clean air")
    assert [each.state.scenario for each in (shade, again, named)] == [
        "Shade of clouds off",
        "Shade of clouds off (2)",
        "Clean air",
    ]
    assert main.branch().state.scenario == "Copy from 00:20"
    assert named.rename("  Cleaner   air ").scenario == "Cleaner air"
    assert shade.rename("Cleaner air").scenario == "Cleaner air (2)"
    assert shade.rename("Cleaner air (2)").scenario == "Cleaner air (2)"
    with pytest.raises(airshed.AirshedError, match="scenario"):
        shade.rename("x" * 81)
    assert main.log()[-1].command["kind"] == "restart"  # of the fixture: names are no changes of the state


def test_names_are_those_of_a_resumed_server(tmp_path: Path) -> None:
    case = load_case(Path("tracer-rotation"), [])
    with serving(case, folder=tmp_path) as server, airshed.connect(server.url) as main:
        main.branch(changes={"photolysis.cloud": False}).close()
        with main.branch(changes={"time.courant": 0.5}) as branch:
            branch.rename("Calm")
        main.rename("As it was")
    with serving(case, folder=tmp_path, resume=True) as server:
        for name in ("b1", "b2"):
            reached(server.url, name).close()
        names = {each.state.scenario for each in server.engine.sessions.values()}
    assert names == {"As it was", "Shade of clouds off", "Calm"}


def test_a_session_that_is_opened_with_changes_has_their_name(server: Server, main: Trunk) -> None:
    request = OpenSession(case="tracer-rotation", changes={"photolysis.cloud": False})
    opened = json.loads(urlopen(posted(server, "/api/sessions", request)).read())
    assert opened["scenario"] == "Shade of clouds off"
    with airshed.connect(server.url, opened["session"]) as other:
        other.end()


def test_each_change_is_undone_by_a_branch_from_before_it(main: Trunk) -> None:
    main.run(until="20 min")
    main.set({RATE: "3 mol/s"})
    main.run(until="40 min")
    changed = main["TRACER"].values
    state = states(main)[-1]
    assert (state.snapshot, state.change, state.seconds) == (f"before-{state.change}", len(main.log()) - 1, 1200.0)
    undone = main.branch(state.snapshot)
    assert undone.state.scenario == "Without emissions point 0 rate = 3 mol/s"
    assert undone.log() == main.log()[: state.change]
    undone.run(until="40 min")
    assert main.replay().equal
    assert undone.replay().equal
    assert not np.array_equal(undone["TRACER"].values, changed)
    plain = main.branch("start")
    plain.run(until="40 min")
    assert np.array_equal(undone["TRACER"].values, plain["TRACER"].values)

    # in place, and again
    main.restore(state.snapshot)
    main.run(until="40 min")
    assert np.array_equal(main["TRACER"].values, plain["TRACER"].values)
    assert main.replay().equal


def test_paintings_and_releases_are_undone_too(main: Trunk) -> None:
    main.paint("TRACER2", 2.0, operation="multiply", window=(0, 4, 0, 4))
    main.release("TRACER", (0.0, 0.0), 1.0, unit="mol/s", duration=600.0)
    names = [main.branch(each.snapshot).state.scenario for each in states(main)[-2:]]
    assert names == ["Without the painting of TRACER2", "Without the release of TRACER"]


def test_the_states_before_the_last_changes_are_stored(main: Trunk) -> None:
    for number in range(UNDO + 3):
        main.set({"TRACER": 1e-9 * (number + 1)})
    assert len(states(main)) == UNDO
    assert states(main)[-1].change == len(main.log()) - 1
    with pytest.raises(ServerError):
        main.set({"nothing": 1})
    assert len(states(main)) == UNDO  # a refused change stores none
    main.restore(states(main)[0].snapshot)
    assert main.replay().equal


def test_states_before_changes_leave_space_for_snapshots(serve: Serve) -> None:
    with Trunk(serve("tracer-rotation", limits=Limits(snapshots=2)).url) as main:
        size = main.snapshots()[0].bytes
        main.set({"TRACER": 1e-9})
        main.snapshot()
        with pytest.raises(ServerError, match="2 snapshots are stored"):
            main.snapshot()
    with Trunk(serve("tracer-rotation", limits=Limits(snapshot_bytes=3 * size)).url) as main:
        for _ in range(3):
            main.set({"TRACER": 1e-9})
        assert len(states(main)) == 1


def test_the_start_of_the_day_is_stored_after_a_spin_up(serve: Serve) -> None:
    with Trunk(serve("tracer-rotation", "time.spinup=1 h").url) as main:
        main.run(until=-1800.0)
        assert DAY not in [each.text for each in main.snapshots()]
        main.run(until="20 min")
        [day] = [each for each in main.snapshots() if each.text == DAY]
        assert 0.0 <= day.seconds < 600.0
        assert main.log()[-1].author == "airshed"
        assert main.replay().equal
        branch = main.branch(day.snapshot)
        branch.run(until="20 min")
        assert np.array_equal(branch["TRACER"].values, main["TRACER"].values)


def test_the_effect_of_a_scenario(main: Trunk) -> None:
    main.run(until="1 h")
    less = main.branch("start", {RATE: "0 mol/s"})
    less.run(until="50 min")
    found = less.effect(main, "TRACER", places=[(2.0, 0.0)])
    assert found.missing is not None
    assert (found.missing.session, found.missing.since, found.missing.until) == (less.session, 3000.0, 3600.0)
    assert found.increase is None
    assert found.decrease is not None
    assert (found.decrease.before > 0.0, found.decrease.after) == (True, 0.0)
    assert abs(found.decrease.lon - 2.0) < 0.5
    assert found.hours == 5
    with pytest.raises(ServerError, match="is not recorded"):
        less.effect(main, "TRACER2")
    with pytest.raises(ServerError, match="pattern"):
        less._ask("GET", "/effect?other=main&variable=TRACER&places=here")
