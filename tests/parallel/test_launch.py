"""Ranks started by the launcher, under MPICH's mpiexec and, if installed, OpenMPI's, with all kinds of ends."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("programs.py")
START = "import sys; from airshed.parallel.launch import launch; sys.exit(launch(int(sys.argv[1]), sys.argv[2:]))"
HAS_OPENMPI = shutil.which("mpiexec.openmpi") is not None

needs_openmpi = pytest.mark.skipif(not HAS_OPENMPI, reason="OpenMPI is not installed: apt install openmpi-bin")
mpi = pytest.mark.parametrize(
    "mpi",
    [
        "mpich",
        pytest.param(
            "openmpi",
            marks=[
                pytest.mark.thorough,
                pytest.mark.skipif(not HAS_OPENMPI, reason="no OpenMPI: apt install openmpi-bin"),
            ],
        ),
    ],
)


def started(name: str, mpi: str, ranks: int = 2, **environment: str) -> "subprocess.Popen[str]":
    given = {**os.environ, **({"MPI4PY_MPIABI": "openmpi"} if mpi == "openmpi" else {}), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", START, str(ranks), sys.executable, str(PROGRAMS), *name.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
        env=given,
    )


def ended(name: str, mpi: str, ranks: int = 2, **environment: str) -> tuple[int, str, list[str]]:
    """Return exit code, output and error lines, without the warning of many ranks on few cores."""
    process = started(name, mpi, ranks, **environment)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, [line for line in errors.splitlines() if "would be faster" not in line]


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    """Return the reports of the programs that create simulations or folders on two ranks, in one start of Python."""
    names = ("asked_at_the_target", "one_looks", "not_finite", "many_runs")
    code, output, errors = ended(" ".join(names), "mpich")
    assert (code, errors) == (0, [])
    return dict(zip(names, output.splitlines(), strict=True))


def alive(number: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def parent_of(number: int) -> int:
    return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])


@mpi
@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone reports the end of a process that is not a child")
def test_no_rank_outlives_a_launcher_that_is_killed(mpi: str) -> None:
    process = started("numbered", mpi)
    assert process.stdout is not None
    lines = [process.stdout.readline().strip() for _ in range(3)]
    ranks = [int(line) for line in lines if line.isdecimal()]
    others = [parent_of(ranks[0]), parent_of(parent_of(ranks[0]))]  # processes between the rank and the launcher
    everybody = [number for number in {*ranks, *others} if number not in (process.pid, os.getpid())]
    assert len(ranks) == 2
    assert all(map(alive, everybody))  # the negative control
    process.kill()
    process.communicate(timeout=20)
    for _ in range(200):
        if not any(map(alive, everybody)):
            return
        time.sleep(0.05)
    pytest.fail(f"of {everybody} there are still {[number for number in everybody if alive(number)]}")


@mpi
@pytest.mark.parametrize("unbuffered", ["1", pytest.param("", marks=pytest.mark.thorough)])
def test_lines_come_through_whole(mpi: str, unbuffered: str) -> None:
    code, output, errors = ended("hello", mpi, 3, PYTHONUNBUFFERED=unbuffered)
    told = sorted(f"rank {rank} of 3 prints {number}" for rank in range(3) for number in range(100))
    assert (code, sorted(output.splitlines()), errors) == (0, told, [])


def test_output_comes_byte_by_byte_as_it_is() -> None:
    _, output, _ = ended("bytes_as_they_are", "mpich")
    whole = b"\r 50%\r100%\n" + b"=" * 83 + b"\n\n" + bytes(range(128, 256)) + b"\nmpiexec none"
    assert output.encode(errors="surrogateescape").replace(b"\n", b"\r") == whole.replace(b"\n", b"\r")


def test_the_exit_code_is_that_of_the_ranks() -> None:
    assert ended("code_three", "mpich") == (3, "", [])


def test_an_error_of_all_ranks_is_told_once() -> None:
    assert ended("all_raise", "mpich", 3) == (2, "", ["error: no such case"])


@pytest.mark.thorough
def test_each_of_several_errors_is_told_with_its_ranks() -> None:
    code, _, errors = ended("two_kinds", "mpich", 3)
    assert (code, sorted(errors)) == (2, ["error: even (ranks 0, 2 of 3)", "error: odd (rank 1 of 3)"])


@mpi
def test_a_rank_that_raises_stops_all_with_its_message(mpi: str) -> None:
    assert ended("one_raises", mpi, 3) == (2, "", ["error: a field is missing (rank 1 of 3)"])


@pytest.mark.thorough
def test_runs_give_their_communicators_back(told: dict[str, str]) -> None:
    assert told["many_runs"] == "2000"


@pytest.mark.thorough
def test_runs_on_two_groups_give_their_communicators_back() -> None:
    assert ended("many_groups", "mpich", 3) == (0, "2036 4\n", [])


def test_a_stop_that_one_rank_hears_at_the_last_moment_is_that_of_all(told: dict[str, str]) -> None:
    assert told["asked_at_the_target"] == "['interrupted at 600', 'interrupted at 600']"


def test_all_ranks_make_the_same_batches_of_steps_whoever_looks(told: dict[str, str]) -> None:
    assert told["one_looks"] == "[180.0, 360.0, 540.0] [540.0, 540.0]"


def test_a_lost_state_of_one_rank_is_told_by_all_and_is_neither_in_records_nor_in_restarts(
    told: dict[str, str],
) -> None:
    assert told["not_finite"] == "{'the state is no longer finite at 40 min'} 2 ['1200.0.npz', '1800.0.npz']"


def test_a_defect_of_the_first_rank_stops_all() -> None:
    assert ended("one_has_a_defect", "mpich") == (1, "", ["defect: nought (rank 0 of 2)"])


@pytest.mark.thorough
def test_a_rank_that_is_done_stops_nobody() -> None:
    assert ended("one_is_done", "mpich") == (0, "", [])


@mpi
def test_a_lost_rank_is_named_in_one_line(mpi: str) -> None:
    code, _, errors = ended("one_is_killed", mpi, 3)
    assert code == 128 + signal.SIGKILL
    assert len(errors) == 1
    assert errors[0].startswith("airshed: error: rank 1 was lost by SIGKILL")
    assert "--resume" in errors[0]


@mpi
def test_ctrl_c_reaches_every_rank_once(mpi: str) -> None:
    process = started("steps", mpi, 3)
    assert process.stdout is not None
    assert process.stdout.readline() == "stepping\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "heard [1, 1, 1]\n"), errors


@pytest.mark.thorough
def test_an_interrupt_of_one_rank_is_left_to_nobody_to_wait_for() -> None:
    assert ended("early", "mpich", 3) == (130, "", ["stopped (rank 1 of 3)"])


@mpi
def test_the_second_ctrl_c_kills(mpi: str) -> None:
    process = started("stubborn", mpi)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    assert (process.returncode, errors.splitlines()[-1]) == (130, "airshed: stopped")


def test_a_world_of_another_size_is_refused() -> None:
    mpiexec = str(Path(sys.executable).parent / "mpiexec")
    command = [mpiexec, "-n", "2", sys.executable, str(PROGRAMS), "hello"]
    for asked, refused in (("2", False), ("3", True)):
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "AIRSHED_RANKS": asked}, timeout=60, check=False
        )
        assert ("3 ranks were started, but each sees a world of 2" in done.stderr) is refused
        assert (done.returncode != 0) is refused


@pytest.mark.thorough
@needs_openmpi
def test_an_mpiexec_of_another_mpi_is_refused() -> None:
    mpiexec = str(Path(sys.executable).parent / "mpiexec")
    _, _, errors = ended("hello", "openmpi", AIRSHED_MPIEXEC=mpiexec)
    assert any("2 ranks were started, but each sees a world of 1: mpiexec belongs" in line for line in errors), errors


@mpi
def test_ranks_share_the_cores_of_a_machine(mpi: str) -> None:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("one core has nothing to share")
    shares = eval(ended("binding", mpi, 2)[1])
    assert sorted(core for share in shares for core in share) == cores


@pytest.mark.thorough
def test_more_ranks_than_cores_are_bound_to_none() -> None:
    cores = sorted(os.sched_getaffinity(0))
    assert eval(ended("binding", "mpich", len(cores) + 1)[1]) == [cores] * (len(cores) + 1)
