"""The runtime needs of a model what `GriddedModel` says: one that is not of air has records, restarts and times."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

import airshed
from airshed.air.model import AirModel
from airshed.core.errors import CaseError
from airshed.core.every import Every
from airshed.core.protocols import Model, Saved, Snapshot
from airshed.core.report import Report
from airshed.fields.spec import FieldRegistry, FieldSpec
from airshed.grid import Grid
from airshed.parallel.communicator import Alone
from airshed.parallel.share import Share
from airshed.runtime.clock import Clock
from airshed.runtime.model import GriddedModel
from airshed.runtime.records import RunRecords
from airshed.runtime.wall_time import wall_time

Array = npt.NDArray[np.float64]
SHEEP = FieldSpec("sheep", ("lat", "lon"), "1", "Sheep in a paddock")
CASE: dict[str, Any] = {
    "grid": {"area": {"lon": [0, 4], "lat": [0, 4]}, "spacing": "1 deg", "layers": ["1 m"]},
    "time": {"start": "2022-01-01T00:00:00Z", "length": "6 h"},
    "chemistry": {"mechanism": "tracer"},  # of which this model knows nothing
    "output": [{"every": "1 h", "strategy": "files"}],
    "restart": {"every": "2 h"},
}


class Pasture:
    """Sheep that become more where there are some; in one pack of four columns."""

    waiting = ()
    lasting = 0
    at_once = 4

    def __init__(self, whole: Grid) -> None:
        self.whole, self.registry, self.attributes = whole, FieldRegistry([SHEEP]), {"references": "a shepherd"}
        self.share = Share.of(*whole.shape[1:], 4, Alone())
        self.seconds, self.steps, self.cells = 0.0, 0, 16
        self.sheep = np.arange(16.0).reshape(4, 1, 4)

    def next_change(self) -> float:
        return float("inf")

    def longest_step(self, until: float) -> float:
        return 700.0

    def step_to(self, seconds: float) -> None:
        self.sheep *= 1.0 + 1e-5 * (seconds - self.seconds)
        self.seconds, self.steps = seconds, self.steps + 1

    def step_through(self, ends: Sequence[float]) -> None:
        for end in ends:
            self.step_to(end)

    def value(self, name: str) -> Array:
        return self.sheep.reshape(4, 4)

    def view(self, name: str) -> Array:
        return self.value(name)

    def output_fields(self, names: Sequence[str] | Literal["all"]) -> tuple[FieldSpec, ...]:
        return self.registry.select(["sheep"] if names == "all" else names, where="output.fields")

    def save(self) -> Snapshot:
        return Snapshot({"sheep": self.sheep}, {}, {"seconds": self.seconds, "steps": self.steps})

    def restore(self, saved: Saved) -> None:
        self.sheep[...] = saved.tile("sheep", (0, 4), (0, 1))
        self.seconds, self.steps = saved.metadata["seconds"], saved.metadata["steps"]

    def summary(self, *, brief: bool = False) -> Report:
        return Report("Pasture", [wall_time(self, dict.fromkeys(PARTS, 1.0), 0.0, "")], {}, True)

    def wall(self) -> dict[str, float]:
        return {"grazing": 0.5}

    def wall_notes(self) -> list[str]:
        return ["sheep do not hurry"]

    def close(self) -> None:
        pass


PARTS = ("preparation", "forcing and steps", "output and restarts")


def graze(folder: Path, until: float, *, resume: bool = False) -> Pasture:
    case = airshed.Case.from_dict(CASE)
    model = Pasture(case.make_grid())
    with RunRecords(case, model, case.output, folder, resume=resume) as records:
        stretch = records.restore()
        clock = Clock(model, [Every(3600.0)], case.time.length.value, stretch)
        if not model.steps:
            records.keep()
        while model.seconds < until:
            records.release()
            model.step_through(clock.next_steps(until, records.steps_free(model.at_once)))
            records.keep()
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
        RunRecords(case, Pasture(case.make_grid()), case.output, tmp_path / "run", resume=False)


def test_the_model_of_air_has_what_the_protocols_name() -> None:
    """A type checker says more; this finds a member that only the protocol has."""
    asked = {name for each in (Model, GriddedModel) for name in vars(each) if not name.startswith("_")}
    with airshed.Simulation(airshed.Case.load("tracer-rotation")) as simulation:
        model: GriddedModel = simulation.model
        assert isinstance(model, AirModel)
        assert {name for name in asked if not hasattr(model, name)} == set()
    assert "share" in asked
    assert "step_through" in asked
