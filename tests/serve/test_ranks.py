"""Equal commands on one rank and on two give equal bits, for painting, releases, settings and restored snapshots."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.serve.conftest import Start, reached, serving

import airshed
from airshed.runtime.registry import load_case
from airshed.serve.client import Remote
from airshed.serve.protocol.types import Paint, Release

pytestmark = pytest.mark.thorough

SHORT = "--set", 'time.spinup="0 h"', "--set", 'time.length="6 h"'
Bits = dict[str, bytes]


def bits(remote: Remote, *names: str) -> Bits:
    """Return the bits of fields of a session."""
    return {name: remote.values(name).tobytes() for name in names}


def tracers(remote: Remote) -> list[Bits]:
    """Steer tracers in every way, and return the states in between; replays and branches are checked."""
    states: list[Bits] = []

    def note() -> None:
        states.append(bits(remote, "TRACER", "TRACER2", "air_density"))

    remote.step(2)
    across = [(-4.0, -4.0), (4.0, -4.0), (0.0, 4.0)]
    remote.command(Paint(variable="TRACER2", value=3.0, operation="multiply", level=None, polygon=across))
    note()
    remote.step(2)
    remote.command(Paint(variable="TRACER", value=5e-8, operation="add", level=1, window=(2, 38, 15, 25)))
    remote.command(Release(species="TRACER2", lon=0.05, lat=0.1, height=60.0, rate=90.0, unit="mol/s", duration=900.0))
    remote.step(3)
    note()
    name = remote.snapshot()
    remote.set({"transport.diffusion": False})
    remote.set({"deposition.velocities.TRACER": "2 cm/s"})
    remote.step(3)
    note()
    with remote.branch(name, {"transport.diffusion": False}) as branch:
        branch.set({"deposition.velocities.TRACER": "2 cm/s"})
        branch.step(3)
        assert bits(branch, *states[-1]) == states[-1]
        branch.command(Paint(variable="TRACER", value=0.0, level=0, window=(0, 40, 0, 20)))
        branch.step(2)
        states.append(bits(branch, "TRACER", "TRACER2"))
        assert branch.replay().equal
    remote.restore(name)
    remote.step(4)
    note()
    assert remote.replay().equal
    remote.restart()
    remote.step(2)
    note()
    assert remote.replay().equal
    return states


def chemistry(remote: Remote) -> list[Bits]:
    """Steer a day of chemistry over land for a few steps."""
    names = "O3", "NO2", "HCHO"
    remote.step(2)
    here = [(4.0, 50.0), (8.0, 50.5), (7.0, 53.0)]
    remote.command(Paint(variable="NO2", value=2.0, operation="multiply", level=None, polygon=here))
    remote.command(Release(species="SO2", lon=6.0, lat=51.0, height=80.0, rate=5.0, duration=1800.0))
    name = remote.snapshot()
    remote.set({"emissions.scale.NOx": 0.5})
    remote.step(2)
    states = [bits(remote, *names, "SO2")]
    with remote.branch(name, {"emissions.scale.NOx": 0.5}) as branch:
        branch.step(2)
        assert bits(branch, *states[0]) == states[0]
        branch.end()
    remote.restore(name)
    remote.step(2)
    states.append(bits(remote, *names))
    assert states[0]["NO2"] != states[1]["NO2"]
    assert remote.replay().equal
    return states


def pasture(remote: Remote) -> list[Bits]:
    """Burn, stock and rain on Queensland."""
    remote.step(40)
    remote.command(Paint(variable="rain", value=30.0, window=(10, 60, 10, 60)))
    remote.set({"grazing.stocking_rate": 0.5})
    name = remote.snapshot()
    remote.step(20)
    states = [bits(remote, "green_leaf", "standing_dry_matter")]
    assert remote.replay().equal
    remote.restore(name)
    remote.step(20)
    assert bits(remote, *states[0]) == states[0]
    return states


@pytest.mark.parametrize(
    ("case", "settings", "steer"),
    [("tracer-rotation", (), tracers), ("west-europe", SHORT, chemistry), ("queensland", (), pasture)],
)
def test_two_ranks_give_the_bits_of_one_for_all_commands(
    start: Start, case: str, settings: tuple[str, ...], steer: Callable[[Remote], list[Bits]]
) -> None:
    with (
        serving(load_case(Path(case), ["run.threads=1", *settings[1::2]])) as server,
        airshed.connect(server.url) as one,
    ):
        expected = steer(one)
    _, two = start("-n", "2", "--threads", "1", *settings, case=case)
    assert two.info().ranks == 2
    found = steer(two)
    assert [sorted(each) for each in found] == [sorted(each) for each in expected]
    for mine, theirs in zip(found, expected, strict=True):
        assert [name for name in mine if mine[name] != theirs[name]] == []
    assert all(np.isfinite(np.frombuffer(each, np.float32)).any() for state in found for each in state.values())


def test_two_ranks_that_share_the_work_on_cells_answer_all(start: Start) -> None:
    """Figures of load balance are summed over ranks: rank 0 alone would wait for ever."""
    strang = "--set", "chemistry.integrator=strang", "--set", "parallel.balance=true"
    _, remote = start("-n", "2", *SHORT, *strang, case="west-europe")
    remote.step(1)
    assert remote.info().ranks == 2
    assert any("evened out" in note for note in remote.summary().tables[-1].note.split(";"))
    assert remote.step(1).step == 2


def test_a_session_resumes_on_other_ranks_with_other_tiles(start: Start) -> None:
    process, remote = start("--output", "live", "-n", "2", "--set", "parallel.tiles=[1, 2]")
    remote.step(2)
    remote.set({"transport.diffusion": False})
    with remote.branch() as branch:
        branch.step(1)
    expected = bits(remote, "TRACER")
    process.terminate()
    assert process.wait(60.0) == 0
    _, again = start("--output", "live", "--resume")
    assert bits(again, "TRACER") == expected
    with reached(again.url, branch.session) as other:
        assert other.step(1).step == 4
