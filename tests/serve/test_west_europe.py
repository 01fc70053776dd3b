"""The case of the README, with chemistry, vegetation and weather files: branches and replays have the same bits."""

import numpy as np
import pytest

import airshed
from airshed.serve.client import ServerError

pytestmark = pytest.mark.thorough


def test_west_europe_is_steered_branched_and_replayed(serve) -> None:
    server = serve("west-europe", "run.threads=1", 'time.spinup="0 h"')
    with airshed.connect(server.url) as remote:
        settings = {each.key: each for each in remote.info().settings}
        assert {"NOx", "DE", "F_RoadTransport"} <= set(settings["emissions.scale"].keys)
        assert "chemistry.sweeps" in settings
        assert not {"meteorology.eastward", "chemistry.solver"} & set(settings)  # of other weather or integrator
        remote.step(4)
        name = remote.snapshot()
        remote.step(3)
        trunk = remote["NO2"].values
        with remote.branch(name) as same, remote.branch(name, {"emissions.scale.NOx": 0.5}) as less:
            same.step(3)
            assert np.array_equal(same["NO2"].values, trunk)
            less.step(3)
            assert 0.5 < less["NO2"].values[0].mean() / trunk[0].mean() < 0.999
            assert less.replay().equal
            with pytest.raises(ServerError, match="no pollutant, sector or country"):
                less.set({"emissions.scale.NOX2": 0.5})
            less.end()
            same.end()
        remote.restore(name)
        remote.step(3)
        assert np.array_equal(remote["NO2"].values, trunk)
        remote.restart()
        remote.step(1)
        assert remote.replay().equal
