"""Files of strangers: nothing of them runs, is markup, or steers the terminal, whatever the command."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from airshed.cli.program import app
from airshed.cli.render import drawn, say, show
from airshed.core.report import Report, Table

CASE = """title = "[red]a[/red] case"
[grid]
area = { lon = [0, 5], lat = [50, 52] }
spacing = "1 deg"
layers = ["100 m", "500 m"]
[time]
start = 2022-06-01T10:00:00Z
length = "1 h"
[chemistry]
mechanism = "m.def"
"""
CONDITIONS = """[time]
length = "1 h"
[environment]
temperature = "290 K"
pressure = "1000 hPa"
"""
MECHANISM = "#DEFVAR\nA = IGNORE;\n#EQUATIONS\n<[red]1[/red]> A = PROD : k;\n"


def airshed(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A case whose mechanism's code leaves a trace where it runs."""
    (tmp_path / "code.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w')\ndef k(TEMP):\n    return 0*TEMP\n")
    (tmp_path / "m.rates.toml").write_text('k = { python = "code.py:k" }\n')
    (tmp_path / "m.def").write_text(MECHANISM)
    (tmp_path / "case.toml").write_text(CASE)
    (tmp_path / "box.toml").write_text(CONDITIONS)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    ["show .", "mechanism show m.def", "mechanism check m.def", "mechanism map m.def", "kernel show m.def",
     "mechanism convert m.def new.eqn"],
)  # fmt: skip
def test_to_look_at_a_file_runs_no_code_of_it(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    answer = airshed(*command.split())
    assert answer.exit_code == 0, answer.output
    assert not (folder / "trace").exists()
    if command in ("show .", "mechanism show m.def"):
        assert "--allow-code" in answer.stdout
    if "show" in command:
        assert "[red]" in answer.stdout  # literally


@pytest.mark.parametrize("command", ["run .", "box m.def --conditions box.toml --output o.csv"])
def test_a_run_refuses_code_in_one_line(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    answer = airshed(*command.split())
    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1
    assert "m.rates.toml:1:1: k: code.py:k is code of the mechanism's own" in answer.stderr
    assert "--allow-code" in answer.stderr
    assert not (folder / "trace").exists()


def test_a_species_with_the_name_of_a_coordinate_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "m.rates.toml").unlink()
    (folder / "m.def").write_text("#DEFVAR\ntime = IGNORE; lat_bnds = IGNORE; LON = IGNORE;\n")
    answer = airshed("run", ".")
    assert answer.exit_code == 2
    assert "species time, lat_bnds: output has coordinates of that name; rename" in answer.stderr
    answer = airshed("box", "m.def", "--conditions", "box.toml", "--output", "o.csv")
    assert answer.exit_code == 2
    assert "species time: the time series has other variables with these names" in answer.stderr


STEERING = "\x1b[2J\x9b31m\x07\u202e"


def test_reports_show_words_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    words = f"[red]A[/red] [/nothing] a\\ {STEERING}"
    table = Table(words, (words, "b"), [(words, 1.0)], words)
    show(Report(words, [table], {words: words}))
    say(f"{words}\nnext", err=True)
    told = capsys.readouterr()
    for text in (told.out, told.err, Report(words, [table], {"a": words}).to_text()):
        assert "[red]A[/red] [/nothing] a\\" in text
        assert "\\x1b[2J" in text
        assert all(each.isprintable() for each in text.replace("\n", ""))
    assert drawn(table).title is not None


def test_messages_steer_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / f"{STEERING}.def"
    path.write_text("#DEFVAR\nA = IGNORE\n")
    answer = airshed("mechanism", "check", path)
    assert answer.exit_code == 2
    assert all(each.isprintable() for each in answer.stderr.replace("\n", ""))
    assert "\\x1b[2J" in answer.stderr


def test_an_endless_path_is_told_in_short(folder: Path) -> None:
    (folder / "box.toml").write_text(CONDITIONS.replace('"290 K"', f'{{ csv = "{"a" * 100_000}", column = "T" }}'))
    answer = airshed("box", "small_strato", "--conditions", folder / "box.toml", "--output", folder / "box.nc")
    assert answer.exit_code == 2
    assert "environment.temperature: " in answer.stderr
    assert "cannot be read (File name too long); check its path" in answer.stderr
    assert len(answer.stderr) <= 600
