"""Progress bars in a notebook and in the terminal of IPython, which a module of its name stands for."""

import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.runtime.test_run_folder import CASE

import airshed
from airshed.runtime import progress
from airshed.runtime.progress import ProgressBar


class Notebook:
    """Output of a cell: each displayed object with its updates."""

    def __init__(self, *, has_kernel: bool = True) -> None:
        self.shown: list[list[str]] = []
        self.module = ModuleType("IPython")
        shell = SimpleNamespace(kernel=object()) if has_kernel else SimpleNamespace()
        display = SimpleNamespace(HTML=str, display=self._display)
        vars(self.module).update(get_ipython=lambda: shell, display=display)

    def _display(self, html: str, display_id: bool) -> Any:
        assert display_id
        self.shown.append([html])
        return SimpleNamespace(update=self.shown[-1].append)


class Clock:
    """A clock that advances by a number of seconds with each reading."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    made = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", made.module)
    return made


def test_a_notebook_shows_one_bar_that_is_updated(notebook: Notebook) -> None:
    with ProgressBar(clock=Clock(2.0)) as bar:
        bar(0.25, "<forward>")
        bar(0.5, "backward")
    (updates,) = notebook.shown
    assert 'value="0.250"' in updates[0]
    assert "&lt;forward&gt;, 0:00:06 left" in updates[0]
    assert "50%" in updates[1]
    assert "done after 0:00:06" in updates[-1]


def test_a_short_call_and_frequent_updates_show_nothing(notebook: Notebook) -> None:
    with ProgressBar(clock=Clock(0.01)) as bar:
        for number in range(50):
            bar(number / 50, "run")
    assert notebook.shown == []
    with ProgressBar(clock=Clock(0.1)) as bar:
        for number in range(40):
            bar(number / 40, "run")
    assert 8 <= len(notebook.shown[0]) <= 12  # of 40


def test_an_error_stops_the_bar(notebook: Notebook) -> None:
    bar = ProgressBar(clock=Clock(2.0)).__enter__()
    bar(0.25, "run")
    bar.__exit__(ValueError, ValueError("broken"), None)
    assert "stopped after" in notebook.shown[0][-1]
    assert "<progress" not in notebook.shown[0][-1]


def test_the_terminal_of_ipython_shows_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", Notebook(has_kernel=False).module)
    stream = io.StringIO()
    with ProgressBar(clock=Clock(2.0), stream=stream) as bar:
        bar(0.5, "run")
    lines = stream.getvalue().split("\r")
    assert lines[1].startswith(" 50%  run, 0:00:02 left")
    assert lines[2].startswith("done after")


def test_python_without_ipython_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    stream = io.StringIO()
    with ProgressBar(clock=Clock(2.0), stream=stream) as bar:
        bar(0.5, "run")
    assert stream.getvalue() == ""


def test_a_run_shows_its_progress_unless_it_has_an_observer(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    with airshed.Simulation(airshed.Case.from_dict(CASE)) as simulation:
        simulation.run(until="30 min")
        assert "2022-01-01 00:30 UTC" in notebook.shown[0][-2]
        assert "100%" in notebook.shown[0][-2]
        simulation.run(observer=lambda info: None)
    assert len(notebook.shown) == 1
