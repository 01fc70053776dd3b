"""Pictures and page of an evaluation."""

import re
from pathlib import Path

import numpy as np
import pytest
from tests.evaluate.synthetic import AIR, OZONE, hourly, ozone, write_observations, write_run
from typer.testing import CliRunner

import airshed
from airshed.cli.program import app
from airshed.plot.evaluation import drawn
from airshed.plot.evaluation.report_page import conclusion, report_page

pytestmark = pytest.mark.standard

KINDS = ["series", "cycle", "scatter", "taylor", "target", "bias"]


@pytest.fixture
def two_runs(tmp_path: Path) -> airshed.evaluate.Evaluation:
    base = write_run(tmp_path / "base.nc")
    less = write_run(tmp_path / "less.nc", field=lambda *at: ozone(*at) - 2e-9)
    rows = hourly("A", 7.25, 52.0, bias=3.0) + hourly("B & <C>", 8.5, 51.25)
    return airshed.evaluate([base, less], write_observations(tmp_path / "o.csv", rows))


def test_each_kind_of_picture_is_drawn_once(two_runs: airshed.evaluate.Evaluation) -> None:
    assert [(species, kind) for species, kind, _ in drawn(two_runs)] == [("O3", kind) for kind in KINDS]


def test_the_series_shows_observations_and_each_run(two_runs: airshed.evaluate.Evaluation) -> None:
    figure = next(figure for _, kind, figure in drawn(two_runs) if kind == "series")
    panel = figure.axes[0]
    lines = [line for line in panel.lines if len(line.get_xdata()) == 24]
    observed = two_runs.matched.observations.value[two_runs.matched.observations.station == "A"]
    assert len(lines) == 3
    assert any(np.array_equal(line.get_ydata(), observed) for line in lines)


def test_the_series_shows_a_lone_interval_as_a_level_line(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.nc")
    file = write_observations(tmp_path / "o.csv", [("A", 7.25, 52.0, "O3", 50.0, "ug/m3", 24.0)])
    found = airshed.evaluate(run, file, averaging="24 h")
    figure = next(figure for _, kind, figure in drawn(found) if kind == "series")
    lines = [
        line for line in figure.axes[0].lines if np.array_equal(line.get_ydata(), found.matched.modelled[0, [0, 0]])
    ]
    assert [np.ptp(line.get_xdata()) for line in lines] == [24 * 60.0]


def test_the_bias_stands_on_the_field_of_its_own_run(two_runs: airshed.evaluate.Evaluation) -> None:
    figure = next(figure for _, kind, figure in drawn(two_runs) if kind == "bias")
    shown = [mesh.get_array().ravel() for axes in figure.axes[:2] for mesh in axes.collections[:1]]
    size = OZONE * AIR * 1e9
    assert len(shown) == 2
    np.testing.assert_allclose(shown[0] - shown[1], 2e-9 * size, rtol=1e-6)


def test_texts_lie_within_each_picture_and_apart(two_runs: airshed.evaluate.Evaluation) -> None:
    for _, kind, figure in drawn(two_runs):
        width, height = figure.get_size_inches() * figure.dpi
        boxes = [text.get_window_extent() for text in figure.texts if text.get_text()]
        for box in boxes:
            assert box.x0 >= 0, kind
            assert box.x1 <= width + 1, kind
            assert box.y0 >= 0, kind
            assert box.y1 <= height + 1, kind
        for number, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[number + 1 :]), kind


def test_the_page_needs_nothing_from_elsewhere(two_runs: airshed.evaluate.Evaluation) -> None:
    page = report_page(two_runs, {("O3", "series"): b"picture"})
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == ["data:image/png;base64,cGljdHVyZQ=="]
    assert not re.search(r"@import|url\(|<script|<link", page)
    assert "B &amp; &lt;C&gt;" in page
    assert "<C>" not in page


def test_the_conclusion_names_bias_course_and_objective(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.nc")
    found = airshed.evaluate(run, write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0, bias=10.0)))
    first, second = conclusion(found)
    assert re.fullmatch(r"At one station the model simulates on average 10 µg/m³ \(\d+ %\) too much O₃\.", first)
    assert "follows the observed course of O₃ closely (R 1.00)" in second
    assert "would meet FAIRMODE's quality objective (defined for a year) for O₃" in second


def test_the_conclusion_of_two_runs_tells_the_change(two_runs: airshed.evaluate.Evaluation) -> None:
    first, second = conclusion(two_runs)
    assert re.search(r"from base to less the error \(RMSE\) of O₃ rises from 2\.12 to \S+ µg/m³\.$", first)
    assert second.startswith("Run less follows")


def test_the_command_writes_page_and_pictures(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.nc")
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0))
    done = CliRunner().invoke(app, ["evaluate", str(run), "--observations", str(file)])
    assert done.exit_code == 0, done.output
    written = {path.name for path in (tmp_path / "evaluation").iterdir()}
    pictures = {f"O3_{kind}.{suffix}" for kind in KINDS for suffix in ("png", "pdf")}
    assert written == {
        "evaluation.html", "statistics.csv", "statistics.json", "report.txt", "rejected.csv", "pairs_run.nc", *pictures
    }  # fmt: skip
