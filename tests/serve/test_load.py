"""Short measurements of `airshed bench serve`: each reader gets its frames, and the server's memory does not grow."""

from types import SimpleNamespace

import pytest
from benchmarks.serve import load, timing
from tests.started import python


@pytest.mark.thorough
def test_many_readers_get_frames_while_the_model_steps() -> None:
    with timing.serving("tracer-rotation", "--threads", "1", "--set", 'time.step="10 s"') as (remote, process):
        remote.step(3)
        alone = load.undisturbed(remote, 1.0)
        first = load.load(remote, 20, 10.0, 3.0, process)
        second = load.load(remote, 20, 10.0, 3.0, process)
    assert alone > 0.0
    for each in (first, second):
        assert len(each.frames) == 20
        assert min(each.frames) >= 3
        assert max(each.frames) <= 33  # at most as many as requested
        assert min(each.frames) > 0.5 * max(each.frames)
        assert each.steps > 0.0
    assert second.memory[-1] - first.memory[-1] < 30e6


def test_the_exercise_of_the_paper_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "_REPEATS", 5)
    monkeypatch.setattr(timing, "sys", SimpleNamespace(executable=python()))
    report = timing.run(5)
    assert report.facts["queensland_10_calls_s"] > report.facts["timer_overhead_us"] * 1e-6
    (table,) = report.tables
    assert [row[0] for row in table.rows][:2] == ["state", "image 10 x 10"]
    assert all(row[3] > 0.0 for row in table.rows)
