"""Runs of a case as a session of the server, driven by a client over HTTP that also reads fields."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import airshed
from airshed.core.units import to
from airshed.parallel.communicator import Communicator
from airshed.serve.access.limits import Limits
from airshed.serve.client import Remote
from airshed.serve.http.server import Address, Server
from airshed.serve.model.host import Host
from airshed.serve.model.sessions import HostedSession
from airshed.serve.model.store import SessionRequest
from airshed.serve.protocol.types import Paint, Release


def served(
    row: Mapping[str, str], case: Any, folder: Path, ranks: Communicator, *, until: str | None, resume: bool
) -> dict[str, str]:
    """Run a case, or a part of it, as a session that keeps its state in a folder; return the digests at the end."""
    from tests.laws.ways import digests

    begun: list[HostedSession] = []
    prepare = Host.prepare

    def prepared(host: Host, opening: SessionRequest) -> HostedSession:
        begun.append(prepare(host, opening))
        return begun[-1]

    found: dict[str, str] = {}
    close = HostedSession.close

    def closed(hosted: HostedSession) -> None:
        if hosted is begun[0]:
            found.update(digests(hosted.simulation))
        close(hosted)

    with mock.patch.object(Host, "prepare", prepared), mock.patch.object(HostedSession, "close", closed):
        if ranks.rank == 0:
            end = case.time.length.value if until is None else to(until, "s", where="until")
            use = steer if row["observer"] == "steering" else partial(watch, end=end, steps=int(row["batch"]))
            serve(case, folder, ranks, use, resume=resume)
        else:
            Host(ranks).follow()
    return found


def serve(case: Any, folder: Path, ranks: Communicator, use: Callable[[Remote, Any], None], *, resume: bool) -> None:
    """Serve a case to a client in a thread of its own; for the first rank."""
    server = Server(ranks, Address(), Limits(), folder=folder)
    failures: list[BaseException] = []

    def connect() -> None:
        try:
            server.engine.open(case, "main", resume=resume).result(60.0)
            with airshed.connect(server.url) as remote:
                use(remote, case)
        except BaseException as failure:
            failures.append(failure)
        finally:
            server.stop()

    client = threading.Thread(target=connect)
    with server.listening():
        client.start()
        server.run()
        client.join()
    if failures:
        raise failures[0]


def watch(remote: Remote, case: Any, *, end: float, steps: int) -> None:
    """Make steps until an end, so many at a time, and look at three fields after them."""
    names = [each.name for each in remote.info().variables][:3]
    while remote.state.seconds < end - 1.0:
        remote.step(min(steps, remaining(remote.state.seconds, end, case)))
        for name in names:
            remote.values(name)


def steer(remote: Remote, case: Any) -> None:
    """Change a run of air in all ways of a client, return to an earlier time and repeat it."""
    remote.step(2)
    corners = [(-29.0, 40.2), (-21.0, 41.0), (-25.0, 45.5)]
    remote.command(Paint(variable="O3", value=2.0, operation="multiply", level=None, polygon=corners))
    remote.command(Paint(variable="NO2", value=5e-9, operation="add", level=1, window=(1, 11, 5, 18)))
    remote.command(Release(species="NO", lon=-24.9, lat=43.1, height=60.0, rate=90.0, unit="mol/s", duration=900.0))
    remote.step(3)
    name = remote.snapshot()
    remote.set({"sea_surface_strength": 2.0})
    remote.set({"deposition.velocities.O3": "2 cm/s"})
    remote.step(2)
    changed = remote.values("O3").tobytes()
    with remote.branch(name, {"deposition.velocities.O3": "2 cm/s"}) as branch:
        branch.step(2)
        assert branch.values("O3").tobytes() != changed, "the branch has the old strength"
        branch.set({"sea_surface_strength": 1.0})
    remote.restore(name)
    assert remote.values("O3").tobytes() != changed
    remote.step(2)
    assert remote.replay().equal


def remaining(seconds: float, end: float, case: Any) -> int:
    """Return how many steps lead to an end."""
    length = {"air": 300.0, "pasture": 86400.0, "row": 100.0}[case.model]
    return max(1, round((end - seconds) / length))
