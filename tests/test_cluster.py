"""The script for Slurm and the container file, without either program: shell, options, exit codes."""

import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from airshed.cli.program import app

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "examples" / "slurm.sh"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
DOCUMENT = (ROOT / "docs" / "how-to" / "parallel.md").read_text(encoding="utf-8")

Submit = Callable[..., tuple[int, list[list[str]]]]


def is_shell(text: str) -> bool:
    """Return whether sh can parse a text."""
    return subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False).returncode == 0


def is_taken(words: list[str]) -> bool:
    """Return whether the program accepts a command line, from its name on."""
    program = typer.main.get_command(app)
    assert isinstance(program, TyperGroup)
    context = program.make_context("airshed", [], resilient_parsing=True)
    command = program.commands.get(words[1])
    if words[0] != "airshed" or not isinstance(command, TyperCommand):
        return False
    try:
        command.make_context(words[1], words[2:], parent=context)
    except typer.TyperException:
        return False
    return True


def test_a_wrong_command_line_and_a_wrong_script_are_found() -> None:
    assert not is_taken(["airshed", "run"])
    assert not is_taken(["airshed", "fly"])
    assert not is_taken(["airflow", "doctor"])
    assert not is_shell("if true; then echo")


# ---- Slurm -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def submit(tmp_path: Path) -> Submit:
    """Return a function that runs the script as a job whose `srun` has an exit code; it returns code and commands."""
    for name in ("srun", "scontrol", "airshed"):
        stub = tmp_path / name
        code = 'if [ -n "$RESTART" ]; then mkdir -p "$RESTART"; fi; exit $CODE' if name == "srun" else ""
        stub.write_text(f'#!/bin/sh\nprintf "%s\\n" {name} "$@" "" >>"$CALLS"\n{code}\n')
        stub.chmod(0o755)

    def job(
        *arguments: str, code: int = 0, restart: str = "", cores: str | None = "4", **variables: str
    ) -> tuple[int, list[list[str]]]:
        calls = tmp_path / "calls"
        calls.write_text("")
        slurm = {
            "SLURM_JOB_ID": "17",
            **({"SLURM_CPUS_PER_TASK": cores} if cores else {}),
            "CODE": str(code),
            "CALLS": str(calls),
            "RESTART": restart,
        }
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", **slurm, **variables}
        command = ["sh", str(SCRIPT), *arguments]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=False)
        return done.returncode, [call.split("\n") for call in calls.read_text().split("\n\n") if call]

    return job


def test_a_job_starts_ranks_on_their_cores_and_resumes(submit: Submit) -> None:
    code, (srun,) = submit("cases/west-europe/")
    start = srun.index("airshed")
    assert code == 0
    assert {"--mpi=pmi2", "--cpus-per-task=4", "--cpu-bind=cores"} <= set(srun[:start])
    assert srun[start:] == ["airshed", "run", "cases/west-europe/", "--output", "runs/west-europe-17", "--resume"]
    assert is_taken(srun[start:])
    _, (srun,) = submit("mine.toml", "folder", AIRSHED_PMI="pmix")
    assert "--mpi=pmix" in srun
    assert srun[-2:] == ["folder", "--resume"]


def test_a_job_without_the_program_has_a_message(submit: Submit, tmp_path: Path) -> None:
    (tmp_path / "airshed").unlink()
    assert submit("west-europe") == (1, [])


def test_a_rank_has_one_core_by_default(submit: Submit) -> None:
    code, (srun,) = submit("west-europe", cores=None)
    assert (code, "--cpus-per-task=1" in srun) == (0, True)


def test_a_job_without_a_case_has_a_message(submit: Submit) -> None:
    assert submit() == (2, [])


@pytest.mark.parametrize(("code", "again"), [(0, False), (130, True), (1, False), (137, False)])
def test_only_stopped_runs_are_requeued(submit: Submit, code: int, again: bool) -> None:
    answer, calls = submit("west-europe", "folder", code=code, restart="folder/restart/3600.0.npz")
    assert answer == code
    assert calls[1:] == ([["scontrol", "requeue", "17"]] if again else [])


def test_a_job_without_progress_is_not_requeued(submit: Submit) -> None:
    assert len(submit("west-europe", "folder", code=130)[1]) == 1
    assert len(submit("west-europe", "folder", code=130, restart="folder/restart/3600.0.npz")[1]) == 2
    assert len(submit("west-europe", "folder", code=130, restart="folder/restart/3600.0.npz")[1]) == 1
    assert len(submit("west-europe", "folder", code=130, restart="folder/restart/7200.0.npz")[1]) == 2


def test_the_job_requests_a_warning_and_an_appended_log() -> None:
    options = dict(re.findall(r"^#SBATCH --([\w-]+)=?(.*)$", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE))
    assert options["signal"].startswith("TERM@")  # to the ranks; with B: only the script would get it
    assert options["open-mode"] == "append"
    assert {"requeue", "cpus-per-task"} <= options.keys()


# ---- container -------------------------------------------------------------------------------------------------------


def steps(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a container file, with continued lines joined."""
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line)]


def installed(stage: str) -> set[str]:
    """Return the Debian packages that a stage installs."""
    words = " ".join(re.findall(r"apt-get install ([^&]*)", stage)).split()
    return {word for word in words if not word.startswith("-")}


STEPS = steps(DOCKERFILE)
STAGES = [
    "\n".join(f"{word} {rest}" for word, rest in steps(stage))
    for stage in re.split(r"^(?=FROM)", DOCKERFILE, flags=re.MULTILINE)[1:]
]


def test_instructions_are_ones_of_a_container_file_and_their_shell_is_shell() -> None:
    known = {"FROM", "RUN", "COPY", "WORKDIR", "ENV", "USER", "ENTRYPOINT", "CMD"}
    assert {word for word, _ in STEPS} == known
    assert [rest for word, rest in STEPS if word == "RUN" and not is_shell(rest)] == []


def test_a_container_runs_doctor_as_an_ordinary_user() -> None:
    commands = {word: rest for word, rest in STEPS if word in ("ENTRYPOINT", "CMD", "USER")}
    assert is_taken([*json.loads(commands["ENTRYPOINT"]), *json.loads(commands["CMD"])])
    assert f"useradd --create-home {commands['USER']}" in STAGES[-1]


def test_a_user_without_a_home_draws_without_a_warning() -> None:
    """Matplotlib stores its fonts in the folder of its settings."""
    assert re.search(r"^ENV .*MPLCONFIGDIR=/tmp/", STAGES[-1], re.MULTILINE)


def test_the_command_of_a_container_is_accepted() -> None:
    lines = re.findall(r"^(?:#  | {3}) *(docker run .*)$", DOCKERFILE + DOCUMENT, re.MULTILINE)
    assert len(lines) >= 2
    for line in lines:
        words = shlex.split(line, comments=True)
        assert is_taken(words[words.index("airshed") :]), line
        assert any(word.startswith("--shm-size=") for word in words)


def test_copied_files_exist() -> None:
    """The wheel's folders are in the context; the first stage creates the files that the second one copies."""
    hidden = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = ["src", "README.md", "LICENSE", "requirements.lock", *wheel["force-include"]]
    assert [name for name in needed if not (ROOT / name).exists() or any(fnmatch(name, part) for part in hidden)] == []
    taken = re.findall(r"^COPY --from=build (\S+)", STAGES[-1], re.MULTILINE)
    assert taken
    assert all(f"make web VENV={path} " in STAGES[0] for path in taken)
    assert STAGES[0].index("make web") < STAGES[0].index("pip install")


def test_packages_are_those_of_the_documents() -> None:
    documented = set(re.findall(r"^\| `([\w.+-]+)` \|", DOCUMENT, re.MULTILINE)) & installed(STAGES[-1])
    assert documented == installed(STAGES[-1]) - {"python3", "g++"}
    assert {"openmpi-bin", "libpnetcdf0d", "libnetcdf-mpi-19"} <= documented
