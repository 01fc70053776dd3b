"""The recording of a session: any past hour, after a return to an earlier state, in a branch, and after a restart."""

import json
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.serve.conftest import Serve, serving

import airshed
from airshed.runtime.registry import load_case
from airshed.serve.client import Remote, ServerError
from airshed.serve.http.server import Server
from airshed.serve.protocol.errors import NotThereError
from airshed.serve.protocol.frames import Frame, frames
from airshed.serve.records import netcdf
from airshed.serve.records.recording import FOLDER

TENTHS = "output.0.every=10 min"


def times(client: Remote) -> list[float]:
    """Return the recorded times."""
    return [each["seconds"] for each in json.loads(client._ask("GET", "/recording"))["moments"]]


def records(client: Remote, query: str) -> list[Frame]:
    return list(frames(client._ask("GET", f"/recording/{query}")))


@pytest.fixture(scope="module")
def server(serve: Serve) -> Server:
    return serve("tracer-rotation", TENTHS, 'output.0.fields=["TRACER", "surface_pressure"]')


@pytest.fixture
def client(server: Server):
    with airshed.connect(server.url) as found:
        found.restart()
        yield found
        found._ask("DELETE", "/control")


def test_every_hour_that_was_computed_is_there_as_it_was(client: Remote) -> None:
    seen = {0.0: client["TRACER"].values}
    for _ in range(3):
        client.run(until=client.state.seconds + 600.0)
        seen[client.state.seconds] = client["TRACER"].values
    assert times(client) == list(seen)
    found = records(client, "TRACER?level=1")
    assert [each.header.seconds for each in found] == list(seen)
    for each, whole in zip(found, seen.values(), strict=True):
        assert np.array_equal(each.values, whole[1])


def test_recorded_hours_are_a_netcdf_file_with_coordinates(client: Remote) -> None:
    client.run(until="30 min")
    latest = client["TRACER"].values

    def opened(query: str) -> xr.Dataset:
        return xr.open_dataset(BytesIO(client._ask("GET", f"/netcdf?variables=TRACER{query}")), engine="scipy")

    every = opened("&recorded=true")
    assert every["TRACER"].dims == ("time", "level", "lat", "lon")
    assert np.array_equal(every["TRACER"].values[-1], latest)
    assert [str(each)[11:16] for each in every["time"].values] == ["00:00", "00:10", "00:20", "00:30"]
    assert every["TRACER"].attrs["units"] == "mol mol-1"
    assert every["lat"].attrs["standard_name"] == "latitude"
    assert every.attrs["Conventions"].startswith("CF-")
    one = opened("&at=1500&level=1")
    assert one["TRACER"].dims == ("time", "lat", "lon")
    assert np.array_equal(one["TRACER"].values[0], every["TRACER"].values[2, 1])
    assert float(one["level"]) == float(every["level"][1])
    for query, status in (("variables=NOTHING&recorded=true", 400), ("variables=TRACER&at=-5", 400)):
        with pytest.raises(ServerError) as refused:
            client._ask("GET", f"/netcdf?{query}")
        assert refused.value.status == status


def test_times_levels_and_windows_can_be_chosen(client: Remote) -> None:
    client.run(until="40 min")
    assert times(client) == [0.0, 600.0, 1200.0, 1800.0, 2400.0]
    assert [each.header.seconds for each in records(client, "TRACER?level=0&since=1200")] == [1800.0, 2400.0]
    [column] = records(client, "TRACER?at=1500&window=3,5,7,8")
    assert (column.header.seconds, column.header.shape) == (1200.0, [4, 2, 1])
    assert records(client, "surface_pressure")[0].header.shape == [40, 40]
    for query, reason in (("TRACER2", "is not recorded"), ("TRACER?level=9", "has no level 9")):
        with pytest.raises(ServerError, match=reason):
            records(client, query)


def test_the_weather_of_each_hour_is_recorded_with_the_output(client: Remote) -> None:
    """The page draws the wind of a past hour, and converts units by its air."""
    client.run(until="10 min")
    for name in ("eastward_wind", "northward_wind", "air_temperature", "air_pressure", "air_density"):
        assert np.array_equal(records(client, f"{name}?at=600")[0].values, client[name].values)


def test_a_return_to_an_earlier_state_removes_what_followed(client: Remote) -> None:
    client.run(until="20 min")
    name = client.snapshot()
    client.run(until="40 min")
    client.restore(name)
    assert times(client) == [0.0, 600.0, 1200.0]
    client.set({"emissions.point.0.rate": "2 mol/s"})
    client.run(until="30 min")
    assert times(client)[-1] == 1800.0
    assert np.array_equal(records(client, "TRACER?at=1800&level=0")[0].values, client["TRACER"].values[0])


def test_a_branch_has_the_hours_of_its_parent(client: Remote) -> None:
    client.run(until="30 min")
    times(client)
    name = client.snapshot()
    branch = client.branch(name, {"emissions.point.0.rate": "0 mol/s"})
    branch.run(until="40 min")
    assert times(branch) == [0.0, 600.0, 1200.0, 1800.0, 2400.0]
    mine, others = records(client, "TRACER?level=0"), records(branch, "TRACER?level=0")
    assert all(np.array_equal(one.values, other.values) for one, other in zip(mine, others, strict=False))
    branch.end()
    branch.close()


def test_a_resumed_session_continues_its_recording(tmp_path: Path) -> None:
    case = load_case(Path("tracer-rotation"), [TENTHS, 'output.0.fields=["TRACER"]'])
    for resume, until, expected in ((False, 1800.0, 4), (True, 2400.0, 5)):
        with serving(case, folder=tmp_path, resume=resume) as server, airshed.connect(server.url) as client:
            client.run(until=until)
            assert len(times(client)) == expected
    with xr.open_zarr(tmp_path / "main" / FOLDER) as stored:
        assert stored.sizes["time"] == 5
        assert str(stored["time"].values[-1])[:19] == "2022-06-01T00:40:00"
        assert float(stored["TRACER"].isel(time=4).max()) > float(stored["TRACER"].isel(time=1).max()) * 0.5 > 0.0


def test_a_full_disk_ends_the_recording_and_not_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, events = load_case(Path("tracer-rotation"), [TENTHS, 'output.0.fields=["TRACER"]']), []

    def full(self: object, *arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with serving(case, folder=tmp_path) as server, airshed.connect(server.url) as client:
        server.engine.on_event = events.append
        assert times(client) == [0.0]
        monkeypatch.setattr("airshed.serve.records.recording._Files.write", full)
        client.run(until="20 min")
        assert times(client) == [0.0]
        assert client.state.seconds == 1200.0
    [problem] = [each.problem for each in events if each.problem is not None]
    assert "No space left" in problem.message


def test_a_return_to_another_run_keeps_no_hours_of_the_present_one(client: Remote) -> None:
    """Negative control: a return to a state of the present run keeps all hours before it."""
    client.run(until="10 min")
    begin = client.snapshot()
    client.run(until="30 min")
    first = client.snapshot()
    there = records(client, "TRACER?at=1200&level=0")[0].values
    client.restore(begin)
    client.set({"emissions.point.0.rate": "9 mol/s"})
    client.run(until="30 min")
    second = client.snapshot()
    assert not np.array_equal(records(client, "TRACER?at=1200&level=0")[0].values, there)
    with client.branch(second) as branch:
        assert times(branch) == [0.0, 600.0, 1200.0, 1800.0]
        branch.end()
    with client.branch(first) as branch:
        assert times(branch) == [0.0, 600.0, 1800.0]
        branch.end()
    client.restore(first)
    assert times(client) == [0.0, 600.0, 1800.0]
    assert np.array_equal(records(client, "TRACER?at=1800")[0].values, client["TRACER"].values)
    client.run(until="40 min")
    third = client.snapshot()
    client.run(until="50 min")
    client.restore(third)
    assert times(client) == [0.0, 600.0, 1800.0, 2400.0]


def test_records_of_an_ended_session_are_refused_or_whole(client: Remote, server: Server) -> None:
    with client.branch(client.snapshot()) as branch:
        recorded = server.engine.sessions[branch.state.session].recorded
        branch.end()
    assert recorded is not None
    recorded.flush()
    with pytest.raises(NotThereError, match="earlier state"):
        recorded.read("TRACER", 99, 0, None)


def test_a_file_of_many_fields_is_limited(client: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    one = "/netcdf?variables=TRACER&recorded=true"
    size = len(client._ask("GET", one))
    monkeypatch.setattr(netcdf, "MOST_BYTES", size)
    assert len(client._ask("GET", one)) == size
    monkeypatch.setattr(netcdf, "MOST_BYTES", size // 4)
    with pytest.raises(ServerError, match="too large for a file"):
        client._ask("GET", one)
