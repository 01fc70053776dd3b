"""`airshed run`, against a simulation that only counts: progress, Ctrl-C, summary, refusals."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner, Result

from airshed.cli.interrupt import stop_on_interrupt
from airshed.cli.program import app
from airshed.core.errors import NumericalError
from airshed.core.report import Report, Table
from airshed.kernels.backends.cpu.kernel import WIDTH
from airshed.models.air.programs.context import LARGEST_BATCH

HOUR = 3600.0


@dataclass(frozen=True)
class Info:
    time: float
    step: int
    dt: float = 600.0
    cells_per_second: float = 2.5e6
    fraction: float = 0.5


class CountingSimulation:
    """Stand-in for the simulation: steps of ten minutes; ``during`` is called before each of them."""

    during: ClassVar[Callable[["CountingSimulation"], None]] = staticmethod(lambda simulation: None)
    last: ClassVar["CountingSimulation"]
    notices: ClassVar[list[str]] = []
    has_map = True

    def __init__(
        self, case: Any, *, output: Path, resume: bool, accept_changed_inputs: bool = False, overwrite: bool = False
    ) -> None:
        self.case, self.output, self.resume, self.steps, self.stop = case, output, resume, 0, False
        self.end, self.closed, self.stride = case.time.length.value, False, 1
        type(self).last = self

    def __enter__(self) -> "CountingSimulation":
        return self

    def __exit__(self, *error: object) -> None:
        self.closed = True

    @property
    def seconds(self) -> float:
        return 600.0 * self.steps

    def request_stop(self) -> None:
        self.stop = True

    def run(self, observer: Callable[[Info], None], stride: int) -> None:
        total, self.stride = round(self.end / 600.0), stride
        while self.steps < total and not self.stop:
            type(self).during(self)
            self.steps += 1
            observer(Info(self.seconds, self.steps, fraction=self.steps / total))

    def summary(self, *, brief: bool) -> Report:
        return Report(
            "Summary", [Table("Budget", ("species", "emitted [mol]"), [("O3", 12345.678)])], {"steps": self.steps}
        )


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> type[CountingSimulation]:
    module = ModuleType("airshed.runtime.simulation")
    fake = type("Simulation", (CountingSimulation,), {})
    module.Simulation = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return fake


def airshed(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run(tmp_path: Path, *arguments: str) -> Result:
    return airshed("run", "tracer-rotation", "--output", tmp_path / "out", *arguments)


def test_a_run_ends_with_a_summary_and_says_where_the_results_are(
    counting: type[CountingSimulation], tmp_path: Path
) -> None:
    result = run(tmp_path, "--threads", "2", "--set", "time.length=3 h")
    assert result.exit_code == 0, result.output
    assert (counting.last.steps, counting.last.output, counting.last.resume) == (18, tmp_path / "out", False)
    assert counting.last.case.run.threads == 2
    for part in ("Summary", "emitted [mol]", "1.235e+04", f"airshed plot {tmp_path / 'out'}"):
        assert part in result.stdout


def test_without_a_terminal_there_is_nothing_but_the_summary(
    counting: type[CountingSimulation], tmp_path: Path
) -> None:
    result = run(tmp_path, "--set", "time.length=3 h")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Summary\n")


def test_on_demand_there_is_a_line_for_each_simulated_hour(counting: type[CountingSimulation], tmp_path: Path) -> None:
    lines = run(tmp_path, "--verbose", "--set", "time.length=3 h").stderr.splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("2022-06-01 01:00 UTC  step 6 (600 s)   33%  2.5 M cells/s  ")
    assert lines[-1].endswith("0:00:00 left")


@pytest.mark.parametrize("options", [[], ["--quiet"], ["--verbose"]])
def test_progress_asks_for_no_smaller_batches_of_steps_than_the_model_makes(
    counting: type[CountingSimulation], tmp_path: Path, options: list[str]
) -> None:
    assert run(tmp_path, *options).exit_code == 0
    assert counting.last.stride >= LARGEST_BATCH


@pytest.mark.parametrize("options", [["--quiet"], ["--quiet", "--verbose"]])
def test_quiet_says_nothing(counting: type[CountingSimulation], tmp_path: Path, options: list[str]) -> None:
    result = run(tmp_path, *options)
    assert (result.exit_code, result.output) == (0, "")


def test_from_where_a_run_goes_on_is_a_line_and_damage_one_even_where_quiet(
    counting: type[CountingSimulation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "notices", ["2.npz is damaged; an earlier restart is taken", "resumed at 1 h"])
    damaged = "airshed: 2.npz is damaged; an earlier restart is taken\n"
    assert run(tmp_path, "--resume").stderr == damaged + "airshed: resumed at 1 h\n"
    assert run(tmp_path, "--resume", "-q").stderr == damaged


def test_the_results_go_to_a_folder_named_after_the_case(
    counting: type[CountingSimulation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert airshed("run", "tracer-rotation", "-q", "--resume").exit_code == 0
    assert counting.last.output == Path("runs/tracer-rotation")
    assert counting.last.resume


def test_ctrl_c_stops_at_a_step_boundary(counting: type[CountingSimulation], tmp_path: Path) -> None:
    def interrupt(simulation: CountingSimulation) -> None:
        if simulation.steps == 6:
            signal.raise_signal(signal.SIGINT)

    counting.during = staticmethod(interrupt)
    result = run(tmp_path, "--quiet")
    assert result.exit_code == 130
    assert (counting.last.steps, counting.last.closed) == (7, True)
    assert "airshed: stopped at 2022-06-01 01:10 UTC" in result.stderr
    assert "--resume continues" in result.stderr


def test_ctrl_c_in_the_last_step_is_a_finished_run(counting: type[CountingSimulation], tmp_path: Path) -> None:
    def interrupt(simulation: CountingSimulation) -> None:
        if simulation.seconds == simulation.end - 600.0:
            signal.raise_signal(signal.SIGINT)

    counting.during = staticmethod(interrupt)
    assert run(tmp_path, "-q").exit_code == 0


def test_a_second_ctrl_c_ends_at_once(counting: type[CountingSimulation], tmp_path: Path) -> None:
    def interrupt(simulation: CountingSimulation) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    counting.during = staticmethod(interrupt)
    result = run(tmp_path)
    assert (result.exit_code, counting.last.steps) == (130, 0)
    assert result.stderr.endswith("airshed: stopped\n")


INTERRUPTED_EARLY = """
import signal, sys
from airshed.cli.main import main

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[-1]:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
main()
"""


def interrupted_early(*arguments: str, rank: str = "") -> tuple[int, str]:
    """Run the program, with Ctrl-C during the import that the last argument names."""
    ranks = {"PMI_RANK": rank, "PMI_SIZE": "2"} if rank else {}
    command = [sys.executable, "-c", INTERRUPTED_EARLY, "run", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **ranks})
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize("ranks", [[], ["-n", "2"]], ids=["alone", "ranks"])
@pytest.mark.parametrize("moment", ["typer", "airshed.cli.commands.run", "airshed.parallel.launch"])
def test_ctrl_c_before_the_run_began_is_told(ranks: list[str], moment: str) -> None:
    assert interrupted_early(*ranks, moment) == (130, "airshed: interrupted before it began\n")


def test_ctrl_c_before_the_run_began_is_told_by_the_first_rank_alone() -> None:
    assert interrupted_early("typer", rank="1") == (130, "")


def test_ctrl_c_once_the_command_has_begun_stops_it() -> None:
    """The negative control: the early handler is removed."""
    assert interrupted_early("airshed.case.locations") == (130, "airshed: stopped\n")


def test_ctrl_c_while_arguments_are_read_is_told() -> None:
    code = (
        "import signal; from airshed.cli import main, errors; "
        "errors.CommandGroup.make_context = lambda *all, **more: signal.raise_signal(signal.SIGINT); main.main()"
    )
    done = subprocess.run([sys.executable, "-c", code, "run", "x"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "airshed: interrupted before it began\n")


def test_a_signal_that_is_turned_off_stays_so() -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from airshed.cli import interrupt; "
        "interrupt.answer_early(); signal.raise_signal(signal.SIGINT); interrupt.end_early_answers(); print('on')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "on\n", "")


def test_a_signal_is_handled_as_before_when_the_block_ends() -> None:
    before = signal.getsignal(signal.SIGTERM)
    stops: list[bool] = []
    with stop_on_interrupt(lambda: stops.append(True)):
        assert not stops
        signal.raise_signal(signal.SIGTERM)
        assert stops == [True]
    assert signal.getsignal(signal.SIGTERM) is before


def test_errors_in_the_run_are_messages_and_defects_are_tracebacks(
    counting: type[CountingSimulation], tmp_path: Path
) -> None:
    def fail(simulation: CountingSimulation) -> None:
        raise NumericalError("O3 is not a number at 2022-06-01 00:00; take a shorter time.step")

    counting.during = staticmethod(fail)
    result = run(tmp_path, "-q")
    assert result.exit_code == 2
    assert result.stderr == "airshed: error: O3 is not a number at 2022-06-01 00:00; take a shorter time.step\n"

    def defect(simulation: CountingSimulation) -> None:
        raise KeyError("a defect")

    counting.during = staticmethod(defect)
    assert isinstance(run(tmp_path, "-q").exception, KeyError)


def test_debugging_keeps_every_traceback(
    counting: type[CountingSimulation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(simulation: CountingSimulation) -> None:
        raise NumericalError("wrong")

    counting.during = staticmethod(fail)
    monkeypatch.setenv("AIRSHED_DEBUG", "1")
    assert isinstance(run(tmp_path, "-q").exception, NumericalError)


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "out/x.nc"), OSError(28, "No space", "x")])
def test_what_the_system_refuses_is_a_message(
    counting: type[CountingSimulation], tmp_path: Path, error: OSError
) -> None:
    def fail(simulation: CountingSimulation) -> None:
        raise error

    counting.during = staticmethod(fail)
    result = run(tmp_path, "-q")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"airshed: error: {error.filename}: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_refused_run_leaves_no_empty_folder(counting: type[CountingSimulation], tmp_path: Path) -> None:
    def refuse(simulation: CountingSimulation) -> None:
        raise NumericalError("refused")

    counting.during = staticmethod(refuse)
    (tmp_path / "there").mkdir()
    for place in ("new/deep", "there/new", "there"):
        assert airshed("run", "tracer-rotation", "-q", "--output", tmp_path / place).exit_code == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["there"]

    def write(simulation: CountingSimulation) -> None:
        (simulation.output / "record").touch()
        raise NumericalError("refused")

    counting.during = staticmethod(write)
    assert airshed("run", "tracer-rotation", "-q", "--output", tmp_path / "new").exit_code == 2
    assert (tmp_path / "new" / "record").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_the_run(
    counting: type[CountingSimulation], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    result = airshed("run", "tracer-rotation", "--output", tmp_path / "file" / "out")
    assert result.exit_code == 2
    assert "choose another folder" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["run", "nosuch"], ["there is no case 'nosuch'"]),
        (["run", "{tmp}"], ["has no case.toml"]),
        (["run", "tracer-rotation", "--set", "time.stepp=1 s"], ["did you mean time.step?"]),
        (["run", "tracer-rotation", "--set", "time.step=1"], ["needs a unit"]),
        (["run", "tracer-rotation", "--set", "time.length=-1 h"], ["must be more than 0"]),
        (["run", "tracer-rotation", "--set", "output.0.strategy=nosuch"], ["there is no strategy 'nosuch'"]),
        (["run", "tracer-rotation", "--set", "nonsense"], ["key=value"]),
        (["show", "{tmp}/case.toml"], ["there is no case"]),
        (["show", "tracer-rotation", "--set", "chemistry.mechanism=nosuch"], ["chemistry.mechanism: there is"]),
        (["kernel", "show", "nosuch.eqn"], ["nosuch.eqn"]),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_2(
    counting: type[CountingSimulation], tmp_path: Path, arguments: list[str], parts: list[str]
) -> None:
    result = airshed(*(argument.replace("{tmp}", str(tmp_path)) for argument in arguments))
    assert result.exit_code == 2, result.output
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("airshed: error: ")
    for part in parts:
        assert part in lines[0]


def test_the_installed_program_refuses_without_a_traceback() -> None:
    program = Path(sys.executable).with_name("airshed")
    command = [program, "run", "tracer-rotation", "--set", "grid.spacingg=1 deg"]
    environment = {key: value for key, value in os.environ.items() if key != "AIRSHED_DEBUG"}
    answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert answer.stderr == "airshed: error: --set: grid.spacingg is not a setting; did you mean grid.spacing?\n"


def test_a_strategy_that_is_none_is_refused_in_the_words_of_its_option(
    counting: type[CountingSimulation], tmp_path: Path
) -> None:
    result = run(tmp_path, "--strategy", "bogus", "-n", "2")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("airshed: error: there is no strategy 'bogus'; known are auto, files, gather")


@pytest.mark.parametrize(
    ("ranks", "overrides", "told"),
    [
        (1000, [], f"1000 ranks cannot share 32 rows of {32 // WIDTH} packs"),
        (1000, ["parallel.tiles=[2,2]"], "for 4 ranks, but there are 1000"),
        (1000, ["parallel.groups.chemistry=4", "parallel.groups.transport=996", "chemistry.integrator=strang"], ""),
        (64, [], ""),
    ],
)
def test_more_ranks_than_can_share_a_case_are_refused_before_they_are_started(
    ranks: int, overrides: list[str], told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started = []
    monkeypatch.setattr("airshed.parallel.launch.launch", lambda count, command: started.append(count) or 0)
    chosen = [word for override in overrides for word in ("--set", override)]
    ended = airshed("run", "aqm-benchmark", "-n", str(ranks), "--output", tmp_path / "run", *chosen)
    assert started == ([] if told else [ranks])
    assert told in ended.stderr
