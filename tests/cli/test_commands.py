"""The other commands, the progress display and the tables."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from benchmarks.__main__ import app as benchmarks
from typer.testing import CliRunner, Result

from airshed import __version__
from airshed.cli import progress
from airshed.cli.commands import adjoint as adjoint_command
from airshed.cli.errors import CommandGroup
from airshed.cli.program import app
from airshed.cli.render import show, terminal
from airshed.core.report import Report, Table, cell_text
from airshed.inverse.fourdvar.minimise import Record
from airshed.mechanism import load_mechanism
from airshed.models.air.case import Case
from airshed.models.air.case.estimate import estimate, stage_estimate, step_estimate
from airshed.parallel.launch import TERMINALS
from airshed.runtime.simulation import Simulation

START = datetime(2022, 8, 31, tzinfo=UTC)


@dataclass(frozen=True)
class Info:
    time: float
    step: int = 1
    dt: float = 120.0
    cells_per_second: float = 1.5e6
    fraction: float = 0.25


def airshed(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **contents: object) -> None:
    module = ModuleType(name)
    vars(module).update(contents)
    monkeypatch.setitem(sys.modules, name, module)
    parent, _, child = name.rpartition(".")
    __import__(parent)
    monkeypatch.setattr(sys.modules[parent], child, module, raising=False)


def test_version_and_help() -> None:
    assert airshed("--version").output == f"airshed {__version__}\n"
    listed = airshed("--help").output
    for command in ("run", "adjoint", "assimilate", "show", "box", "plot", "verify", "doctor", "kernel"):
        assert re.search(rf"\b{command}\b", listed)
        assert airshed(command, "--help").exit_code == 0


@pytest.mark.parametrize(("value", "told"), [("0", "give 1 or more"), ("two", "give a whole number")])
def test_numbers_that_cannot_be_are_refused_in_plain_words(value: str, told: str) -> None:
    refused = CliRunner().invoke(app, ["run", "west-europe", "-n", value])
    assert (refused.exit_code, "Input should" in refused.stderr) == (2, False)
    assert refused.stderr.startswith(f"airshed: error: invalid value for '--ranks' / '-n': {told} (help: ")


def test_help_shows_words_in_brackets() -> None:
    """Text in brackets is markup of the help, and not shown, unless it is escaped."""

    def texts(command: Any) -> Iterator[str]:
        yield from (option.help or "" for option in command.params if hasattr(option, "help"))
        for each in getattr(command, "commands", {}).values():
            yield from texts(each)

    found = list(texts(typer.main.get_command(app)))
    assert any("[pasture]" in text for text in found)
    assert [text for text in found if re.search(r"(?<!\\)\[[a-z]", text)] == []


def test_a_model_without_gradients_is_refused() -> None:
    refused = airshed("adjoint", "cases/pollu-box/conditions.toml")
    assert refused.exit_code == 2
    assert "the model box has no gradients, as air and pasture have" in refused.output


def test_help_needs_none_of_the_heavy_libraries() -> None:
    code = "import sys; from airshed.cli.program import app; app(['-h'], standalone_mode=False); print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(answer.stdout.split())
    assert "typer" in loaded
    assert loaded.isdisjoint({"numpy", "xarray", "matplotlib", "pydantic", "netCDF4", "pint", "lark"})


def test_show_lists_every_setting_with_its_origin_and_an_estimate() -> None:
    result = airshed("show", "tracer-rotation", "--all", "--set", "time.step=90 s")
    assert result.exit_code == 0, result.output
    assert re.search(r"grid +40 x 40 columns, 4 layers: 6400 cells", result.stdout)
    assert re.search(r'time\.step +"90 s" +--set', result.stdout)
    assert re.search(r"time\.spinup +\"0 h\" +default", result.stdout)
    assert re.search(r'chemistry\.mechanism +"tracer" +case\.toml:\d+', result.stdout)
    for key in Case.load("tracer-rotation").provenance:
        assert key in result.stdout


def test_show_leaves_out_defaults() -> None:
    result = airshed("show", "tracer-rotation", "--set", "time.courant=0.4")
    assert result.exit_code == 0, result.output
    shown = [line.split()[0] for line in result.stdout.splitlines() if re.match(r" +[a-z]+[\w.]*  ", line)]
    provenance = Case.load("tracer-rotation", ["time.courant=0.4"]).provenance
    assert "time.courant" in shown  # it has its default value, but is set
    assert [key for key in provenance if key in shown] == [key for key in provenance if provenance[key] != "default"]
    assert (
        f"{sum(value == 'default' for value in provenance.values())} more settings have their default" in result.stdout
    )
    assert "airshed show --all" in result.stdout


def test_show_prints_times_of_placements() -> None:
    result = airshed("show", "tracer-rotation", "--placements")
    assert result.exit_code == 0, result.output
    assert "Placements of a step" in result.stdout
    assert "all on cpu" in result.stdout


def test_show_as_a_case_file_loads_as_the_same_case(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(airshed("show", "west-europe", "--toml").stdout)
    assert Case.load(tmp_path) == Case.load("west-europe")


def test_the_estimate_grows_with_the_work() -> None:
    case = Case.load("west-europe")
    assert estimate(case)["species"] == 66
    assert "28800 cells" in str(estimate(case)["grid"])
    assert 90.0 < step_estimate(case) < 200.0
    assert step_estimate(Case.load("west-europe", ["time.courant=0.2"])) == pytest.approx(step_estimate(case) / 2)
    assert step_estimate(Case.load("west-europe", ["time.step=2 min"])) == 120.0
    assert str(estimate(Case.load("west-europe", ["time.maximum_step=1 h"]))["step"]).endswith("in winds of 30 m/s")
    assert "1440 steps" in str(estimate(Case.load("west-europe", ["time.step=2 min"]))["step"])


def test_the_step_in_a_steady_wind_is_that_of_the_run() -> None:
    for settings in ([], ["meteorology.rotation=48 h"], ["meteorology.eastward=30 m/s"]):
        case = Case.load("tracer-rotation", ["grid.spacing=1 deg", *settings, "output.0.every=24 h"])
        with Simulation(case) as simulation:
            longest = simulation.model.longest_step(3600.0)
        assert step_estimate(case) == pytest.approx(longest, rel=1e-4)
    still = ["meteorology.rotation=1000000 h", "time.length=10 min"]
    assert estimate(Case.load("tracer-rotation", still))["step"] == "about 600 s, 1 step"


def seconds_of(*settings: str) -> float:
    """The estimated time of west-europe with some settings changed."""
    found = re.match(
        r"about (\d+) s with \d threads?, on idle cores of", str(estimate(Case.load("west-europe", settings))["time"])
    )
    assert found
    return float(found[1])


@pytest.mark.parametrize(
    ("precision", "threads", "measured"), [("double", 1, 37), ("double", 2, 31), ("single", 1, 30), ("single", 2, 24)]
)
def test_the_estimated_time_is_that_of_measured_runs(precision: str, threads: int, measured: float) -> None:
    settings = [f"chemistry.precision={precision}", f"run.threads={threads}"]
    assert measured / 1.5 < seconds_of(*settings) < 1.5 * measured
    # the control: a run of an eighth of the time is another one
    assert not measured / 1.5 < seconds_of(*settings, "time.length=1 h", "time.spinup=5 h") < 1.5 * measured


def test_the_estimate_for_strang_splitting() -> None:
    """Two hours on one thread took 9.5 s of a processor; steps are not bound to the Courant number, methods cost."""
    settings = ("chemistry.integrator=strang", "run.threads=1", "time.length=2 h", "time.spinup=0 h")
    case = Case.load("west-europe", settings)
    assert "about 300 s, 24 steps" in str(estimate(case)["step"])
    assert 9.5 / 1.5 < seconds_of(*settings) < 1.5 * 9.5
    assert not 9.5 / 1.5 < seconds_of(*settings, "time.length=6 h") < 1.5 * 9.5
    assert seconds_of(*settings, "chemistry.solver=rodas4", "time.length=6 h") > seconds_of(
        *settings, "time.length=6 h"
    )
    move = case.program(case.network()).stages[1]
    assert stage_estimate(case, move, 900.0) > stage_estimate(case, move, 100.0)


@pytest.mark.parametrize(
    "less",
    ["chemistry.sweeps=1", "chemistry.precision=single", "run.threads=2", "time.spinup=0 h", "time.step=240 s",
     "restart.every=48 h", "output.0.levels=ground", 'output.0.fields=["O3"]', "output.0.every=3 h"],
)  # fmt: skip
def test_each_part_of_the_work_counts(less: str) -> None:
    assert seconds_of("run.threads=1", less) < seconds_of("run.threads=1")


def test_reports_are_tables_or_json_and_a_failed_check_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table("Speed", ("process", "share [1]"), [("chemistry", 0.7), ("[transport]", None)], note="one core")
    stand_in(monkeypatch, "benchmarks.speed", run=lambda: Report("Bench", [table], {"cores": 2}))
    shown = CliRunner().invoke(benchmarks, [])
    assert shown.exit_code == 0, shown.output
    for part in ("Bench", "cores", "share [1]", "[transport]", "0.7", "one core"):
        assert part in shown.stdout
    assert (
        json.loads(CliRunner().invoke(benchmarks, ["--json"]).stdout)
        == Report("Bench", [table], {"cores": 2}).to_dict()
    )

    for ok, code in ((True, 0), (False, 1)):
        stand_in(monkeypatch, "airshed.verify.checks", run=lambda ok=ok, **options: Report("Verify", ok=ok))
        result = airshed("verify", "--json")
        assert (result.exit_code, json.loads(result.stdout)["ok"]) == (code, ok)


def test_a_picture_that_cannot_be_written_is_refused_before_measuring(tmp_path: Path) -> None:
    for picture, reason in (
        (tmp_path / "x.svg", "must end in .png"),
        (tmp_path / "no" / "x.png", "there is no folder"),
    ):
        result = CliRunner().invoke(benchmarks, ["io", "--picture", str(picture)])
        assert result.exit_code != 0
        assert reason in result.output


def test_bench_runs_the_benchmarks_of_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "airshed", "bench", "io", "--help"], capture_output=True, text=True, check=True
    )
    assert "--strategies" in answer.stdout
    monkeypatch.setattr("airshed.__file__", str(tmp_path / "lib/airshed/__init__.py"))
    result = airshed("bench")
    assert (result.exit_code, "clone its repository" in result.output) == (2, True)


def test_numbers_are_not_broken_in_a_table_that_is_too_wide(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("Wide", [f"column {i}" for i in range(20)], [[-1.234e-5 * (i + 1) for i in range(20)]])
    show(Report("r", [table]))
    lines = capsys.readouterr().out.splitlines()
    assert any(all(cell_text(value) in line for value in table.rows[0]) for line in lines)


def test_doctor_in_json_has_its_checks() -> None:
    result = airshed("doctor", "--json")
    assert {"airshed", "healthy", "checks"} <= json.loads(result.stdout).keys()


def test_kernel_show_prints_code() -> None:
    result = airshed("kernel", "show", "tracer", "--levels", "3", "--precision", "single")
    assert result.exit_code == 0, result.output
    assert "tracer" in result.stdout
    assert "typedef float real" in result.stdout


def test_kernel_show_prints_what_a_run_compiles_and_what_is_not_balanced() -> None:
    """The atoms of N and S that reactions make stand in the code, and each reaction's label once in its comments."""
    network = load_mechanism("emep")
    shown = airshed("kernel", "show", "emep").stdout
    heading = [line for line in shown.splitlines() if line.startswith("//")]
    assert heading[0] == "// emep: 135 reactions, of which conserved by atom: C 116, N 133, S 135"
    nitrogen = [line for line in heading[2:] if re.match(r"//.* N +[-+]\d", line)]
    assert [line[line.index("<") + 1 :].split(">")[0] for line in nitrogen] == ["R162", "R164"]
    assert "// atoms that the others make" not in airshed("kernel", "show", "tracer").stdout
    assert re.search(r"EACH_LEVEL\(z\)   // N\n +t\.imbalance\[0\] \+= ", shown)
    assert "constexpr int FAMILIES = 2;" in shown
    for reaction in network.reactions:
        label = f"<{reaction.label}>"
        assert f" {label} " in shown
        assert f"{label} {label}" not in shown


def test_progress_fits_where_it_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for quiet, verbose, kind in (
        (True, True, progress.Silent), (False, False, progress.Silent), (False, True, progress.Lines),
    ):  # fmt: skip
        assert type(progress.progress_for(START, quiet=quiet, verbose=verbose)) is kind
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert type(progress.progress_for(START, quiet=True, verbose=True)) is progress.Silent
    live = progress.progress_for(START, quiet=False, verbose=False)
    assert isinstance(live, progress.Live)
    with live as display:
        display(Info(time=-3600.0))
        display(Info(time=7200.0, step=60, fraction=1.0))
    assert "2022-08-31 02:00 UTC" in capsys.readouterr().err


def test_lines_come_once_an_hour_and_tell_the_time_left() -> None:
    lines: list[str] = []
    seconds = iter([0.0, 0.0, 10.0, 20.0])
    show = progress.Lines(START, lines.append, clock=lambda: next(seconds))
    for time, fraction in ((-3600.0, 0.5), (-1800.0, 0.55), (0.0, 0.6), (600.0, 0.65), (3500.0, 0.7), (7200.0, 0.9)):
        show(Info(time, fraction=fraction))
    assert lines == [
        "2022-08-30 23:00 UTC  spin-up  step 1 (120 s)   50%  1.5 M cells/s  ? left",
        "2022-08-31 00:00 UTC  step 1 (120 s)   60%  1.5 M cells/s  0:00:40 left",
        "2022-08-31 02:00 UTC  step 1 (120 s)   90%  1.5 M cells/s  0:00:05 left",
    ]


def test_an_assimilation_shows_its_iteration_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    now = [0.0]
    shown = progress.Iterations(quiet=False, most=3, clock=lambda: now[0])
    for number in range(4):
        shown.progress("forward", 0.5)
        now[0] += 10.0
        shown.see(Record(number, 1.0, {}, 1.0, number + 1))
    shown.progress("backward", 0.25)
    words = [line.strip() for line in capsys.readouterr().err.split("\r") if line.strip()]
    assert words == [
        "iteration 0 of at most 3: forward  50%",
        "iteration 1 of at most 3: forward  50%",
        "iteration 2 of at most 3: forward  50%, at most 0:00:20 left",
        "iteration 3 of at most 3: forward  50%, at most 0:00:10 left",
        "spread of the analysis, and withheld observations: backward  25%",
    ]


def test_numbers_are_short() -> None:
    assert [cell_text(v) for v in (None, True, 3, 1234567, 0.123456, "x")] == ["", "yes", "3", "1234567", "0.1235", "x"]
    assert [progress.speed(v) for v in (12.0, 4.5e4, 2.9e6, 1.2e9)] == [
        "12 cells/s",
        "45 k cells/s",
        "2.9 M cells/s",
        "1.2 G cells/s",
    ]


@pytest.mark.parametrize(("told", "colours"), [("", False), ("stderr", False), ("stdout,stderr", True), (None, True)])
def test_ranks_on_terminals_of_their_own_write_as_the_launcher_says(
    told: str | None, colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenMPI gives each rank a terminal, also where the user's output goes to a file."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv(TERMINALS, raising=False) if told is None else monkeypatch.setenv(TERMINALS, told)
    assert terminal().is_terminal == colours


def test_a_note_is_as_wide_as_the_console_not_as_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    note = "a sentence that is much longer than so small a table is wide"
    show(Report("r", [Table("t", ("a",), [[1]], note=note)]))
    assert note in capsys.readouterr().out.splitlines()


class InterruptedName:
    def __set_name__(self, owner: type, name: str) -> None:
        raise KeyboardInterrupt


def test_ctrl_c_while_a_class_is_made_is_no_traceback() -> None:
    program = typer.Typer(cls=CommandGroup)

    @program.command()
    def interrupted() -> None:
        type("Late", (), {"value": InterruptedName()})

    @program.command()
    def defective() -> None:
        raise RuntimeError("a defect")

    stopped = CliRunner().invoke(program, ["interrupted"])
    assert (stopped.exit_code, stopped.output) == (130, "airshed: stopped\n")
    assert isinstance(CliRunner().invoke(program, ["defective"]).exception, RuntimeError)


def test_no_name_is_broken_in_80_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    columns = ("source", "country", "sector", "species", "change by a 10 % cut [ppb]", "of the value")
    rows = [("point sources", "LU", "Off-road transport", "NC4H10", -1.234e-5, "-0.000124 %"),
            ("boundary", "", "", "MEK", -0.1, "+12.3 %")]  # fmt: skip
    show(Report("r", [Table("Each source", columns, rows)]))
    lines = capsys.readouterr().out.splitlines()
    assert all(any(cell_text(cell) in line for line in lines) for row in rows for cell in row)
    assert all(any(word in line for line in lines) for name in columns for word in name.split())
    assert max(map(len, lines)) <= 80


def shown_on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv(TERMINALS, raising=False)


def test_a_run_shows_from_the_beginning_what_it_does_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown_on_terminal(monkeypatch)
    with progress.progress_for(None, quiet=False, verbose=False) as live:
        before = capsys.readouterr().err
        live.prepare(Case.load("west-europe"))
        preparing = capsys.readouterr().err
        live(Info(time=7200.0, fraction=1.0))
    assert "reading the case" in before
    assert re.search(r"preparing.* about 0:\d\d:\d\d left", preparing)
    assert "2022-08-31 02:00 UTC" in capsys.readouterr().err


def test_other_work_shows_its_parts_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.Work("reading", quiet=False) as work:
        work.show("drawing", 0.5)
    assert capsys.readouterr().err == ""
    shown_on_terminal(monkeypatch)
    with progress.Work("reading", quiet=True) as work:
        work.show("drawing", 0.5)
    assert capsys.readouterr().err == ""
    with progress.Work("reading", quiet=False, estimate=100.0) as work:
        first = capsys.readouterr().err
        work.show("drawing", 0.5)
    assert re.search("reading.* about 0:01:.* left", first)
    assert re.search(r"drawing.* 50%.* left", capsys.readouterr().err)


def test_forward_and_backward_are_parts_of_one_whole() -> None:
    seen: list[tuple[str, float]] = []

    class WorkRecord(progress.Work):
        def show(self, now: str, done: float) -> None:
            seen.append((now, done))

    for part, done in (("forward", 0.0), ("forward", 1.0), ("backward", 0.0), ("backward", 1.0)):
        adjoint_command._show(WorkRecord("", quiet=True), part, done)
    assert seen == [("forward    0%", 0.0), ("forward  100%", 0.2), ("backward   0%", 0.2), ("backward 100%", 1.0)]


def test_a_shell_can_complete_commands_and_options() -> None:
    environment = {"_AIRSHED_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    for words, completed in (("airshed sh", "show"), ("airshed --install", "--install-completion")):
        words_so_far = {"COMP_WORDS": words}
        answer = subprocess.run(
            [sys.executable, "-m", "airshed"], env={**os.environ, **environment, **words_so_far}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert answer.stdout.split() == [completed], answer.stderr
