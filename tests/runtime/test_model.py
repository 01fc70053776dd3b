"""The runtime requires only the members of `Model`: a model other than air has records, restarts and times."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import airshed
from airshed.core.alarm import Alarm
from airshed.core.errors import CaseError
from airshed.core.fields import FieldRegistry, FieldSpec
from airshed.core.report import Report
from airshed.grid import Grid
from airshed.grid.box import Box
from airshed.models.air.model import AirModel
from airshed.parallel.communicator import SingleRank
from airshed.parallel.domain import Domain
from airshed.runtime.clock import Clock
from airshed.runtime.model import BatchLimits, Model, PlainModel, SavedState, Snapshot, Timings
from airshed.runtime.records import FolderUse, RunRecords
from airshed.runtime.view import wall_time

Array = npt.NDArray[np.float64]
SHEEP = FieldSpec("sheep", ("lat", "lon"), "1", "Sheep in a paddock")
CASE: dict[str, Any] = {
    "grid": {"area": {"lon": [0, 4], "lat": [0, 4]}, "spacing": "1 deg", "layers": ["1 m"]},
    "time": {"start": "2022-01-01T00:00:00Z", "length": "6 h"},
    "chemistry": {"mechanism": "tracer"},  # which this model does not use
    "output": [{"every": "1 h", "strategy": "files"}],
    "restart": {"every": "2 h"},
}


class Pasture(PlainModel):
    """Sheep that become more where there are some; in one pack of four columns."""

    batch_limits = BatchLimits(batch=4)

    def __init__(self, whole: Grid) -> None:
        super().__init__()
        self.fields = FieldRegistry([SHEEP])
        self.domain = Domain(
            whole.axes, SingleRank(), Box.whole(*whole.shape[1:]), Box.whole(4, 1), {"references": "a shepherd"}
        )
        self.sheep = np.arange(16.0).reshape(4, 1, 4)

    def longest_step(self, until: float) -> float:
        return 700.0

    def step_to(self, seconds: float) -> None:
        self.sheep *= 1.0 + 1e-5 * (seconds - self.seconds)

    def view(self, name: str) -> Array:
        return self.sheep.reshape(4, 4)

    def save(self) -> Snapshot:
        return Snapshot({"sheep": self.sheep}, {}, self._moment())

    def restore(self, saved: SavedState) -> None:
        self.sheep[...] = saved.part("sheep", self.domain.held)
        self._set_moment(saved)

    def summary(self, *, brief: bool = False) -> Report:
        return Report("Pasture", [wall_time(self, dict.fromkeys(PARTS, 1.0), 0.0, "")], {}, True)

    def timings(self) -> Timings:
        return Timings({"grazing": 0.5}, notes=["sheep do not hurry"])


PARTS = ("preparation", "forcing and steps", "output and restarts")


def graze(folder: Path, until: float, *, resume: bool = False) -> Pasture:
    case = airshed.Case.from_dict(CASE)
    model = Pasture(case.make_grid())
    with RunRecords(case, model, case.output, FolderUse(folder, resume)) as records:
        planned, _ = records.restore()
        clock = Clock(model, [Alarm(3600.0)], case.time.length.value, planned)
        if not model.steps:
            records.keep(clock)
        while model.seconds < until:
            records.release()
            model.step_through(clock.next_steps(until, records.steps_free(model.batch_limits.batch)))
            records.keep(clock)
        complete = until == case.time.length.value
        if complete:
            records.gather(complete=True)
            records.finish(model.summary(), complete=True)
    return model


def test_sheep_are_recorded_and_go_on_after_a_restart(tmp_path: Path) -> None:
    whole = graze(tmp_path / "whole", 21600.0)
    graze(tmp_path / "run", 3 * 3600.0)
    again = graze(tmp_path / "run", 21600.0, resume=True)
    assert (again.sheep.tobytes(), again.steps) == (whole.sheep.tobytes(), whole.steps)
    with airshed.open_run(tmp_path / "run") as found, airshed.open_run(tmp_path / "whole") as expected:
        assert found.load().identical(expected.load())
        assert found["sheep"].dims == ("time", "lat", "lon")
        np.testing.assert_array_equal(found["sheep"][-1], whole.sheep.reshape(4, 4).astype(np.float32))
        assert found.attrs["references"] == "a shepherd"
    assert "sheep do not hurry" in (tmp_path / "run" / "summary.txt").read_text()


def test_a_field_that_the_model_lacks_is_refused(tmp_path: Path) -> None:
    case = airshed.Case.from_dict({**CASE, "output": [{"fields": ["cows"]}]})
    with pytest.raises(CaseError, match="cows"):
        RunRecords(case, Pasture(case.make_grid()), case.output, FolderUse(tmp_path / "run"))


def test_the_model_of_air_has_what_the_protocol_names() -> None:
    """Find members that only the protocol has; a type checker finds more."""
    asked = {name for name in vars(Model) if not name.startswith("_")}
    with airshed.Simulation(airshed.Case.load("tracer-rotation")) as simulation:
        model: Model = simulation.model
        assert isinstance(model, AirModel)
        assert {name for name in asked if not hasattr(model, name)} == set()
    assert {"domain", "step_through"} < asked
    assert len(asked) == 15
