"""The progress of a sweep in words."""

import pytest

from airshed.cli.progress import shown_progress, words
from airshed.sweep.runner import Progress


def test_words() -> None:
    assert words(Progress(12, 0, 0, 2)) == "0 of 12 members done, 0 failed, 2 running"
    assert words(Progress(12, 3, 1, 2, 80.4)) == "3 of 12 members done, 1 failed, 2 running, 0:01:20 left"
    assert words(Progress(12, 11, 1, 0, 0.0)) == "11 of 12 members done, 1 failed, 0 running"


def test_without_a_terminal_each_finished_member_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress(quiet=False) as show:
        for done in (0, 0, 1, 1):
            show(Progress(2, done, 0, 2 - done))
    assert capsys.readouterr().err.splitlines() == [
        "airshed: 0 of 2 members done, 0 failed, 2 running", "airshed: 1 of 2 members done, 0 failed, 1 running",
    ]  # fmt: skip
    with shown_progress(quiet=True) as show:
        show(Progress(2))
    assert capsys.readouterr().err == ""
