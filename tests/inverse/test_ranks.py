"""Gradients on several ranks have the bits of one rank, for all inputs, decompositions, threads and plans."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.started import python

from airshed.inverse import Options, sensitivity
from airshed.inverse.checkpoints.stores import commits, rank_folder

from .small import IN_TIME, RECEPTOR, hashes, small

MPIEXEC = Path(sys.executable).with_name("mpiexec")
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")

ALONE = '1 auto 1 adjoint.plan="auto"'


def printed_by(folder, *cases):
    """Return the output of the program on four ranks."""
    command = [MPIEXEC, "-n", "4", python(), "-m", "mpi4py", "-m", "tests.inverse.on_ranks", folder, *cases]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False, env=environment
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-4000:]
    return json.loads(answer.stdout)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    return printed_by(tmp_path_factory.mktemp("case"))


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    return printed_by(tmp_path_factory.mktemp("case"), ROOT / "cases")


@pytest.mark.standard
@pytest.mark.parametrize("case", ["small", "split", "small, field", "split, field"])
def test_ranks_and_threads_give_the_same_bits(short, case):
    runs = short[case]
    alone = runs[ALONE]
    assert len(runs) == 3
    assert {name: found for name, found in runs.items() if found != alone} == {}


@pytest.mark.standard
@pytest.mark.parametrize("case", ["small", "split"])
def test_dot_products_and_budgets_by_face_on_ranks(short, case):
    """The boundary concentrations differ by face cell and time."""
    runs = short[f"{case}, verified"]
    alone = runs["1 auto 1"]
    assert len(runs) == 3
    assert {name: found for name, found in runs.items() if found != alone} == {}
    assert alone["error"] < 1e-13
    assert alone["dots"][0]["boundary faces"] != 0.0
    assert len({alone["budget"][name] for name in ("inflow_faces", "outflow_faces", "outflow_top")}) == 3


@pytest.mark.standard
def test_wrong_edges_are_detected(short):
    """Negative control: one of two ranks receives the rows of its neighbour in reverse order in the backward pass."""
    alone, (spoilt,) = short["small"][ALONE], short["spoilt"].values()
    assert {name for name in alone if spoilt[name] == alone[name]} == {"value", "steps"}


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize(("case", "count"), [("small", 9), ("real", 3)])
def test_any_number_of_ranks_and_threads_gives_the_same_bits(printed, case, count):
    runs = printed[case]
    alone = runs[ALONE]
    assert len(runs) == count
    assert {name: found for name, found in runs.items() if found != alone} == {}


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize("case", ["split", "split in groups", "concurrent", "concurrent in groups", "symmetric"])
def test_any_ranks_threads_and_groups_give_the_same_bits_with_splittings(printed, case):
    runs = printed[case]
    alone = runs[ALONE]
    assert len(runs) == 4
    assert "in groups" in runs
    assert {name: found for name, found in runs.items() if found != alone} == {}


@pytest.mark.thorough
@pytest.mark.compiles
def test_concurrent_steps_differ(printed):
    assert printed["split"][ALONE]["value"] != printed["concurrent"][ALONE]["value"]


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize("case", ["small", "split in groups", "concurrent"])
def test_derivatives_are_verified_on_ranks_with_the_bits_of_one(printed, case):
    """Compare dot products, a Taylor test, and the tangent of a run."""
    runs = printed[f"{case}, verified"]
    alone = runs["1 auto 1"]
    assert len(runs) == (4 if case == "small" else 3)
    assert {name: found for name, found in runs.items() if found != alone} == {}
    assert alone["ok"] == [True, True]
    assert alone["error"] < 1e-13


@pytest.mark.thorough
@pytest.mark.compiles
def test_a_run_as_a_function_is_the_same_on_ranks(printed):
    runs = printed["functions"]
    alone = runs["1 auto 1"]
    assert len(runs) == 4
    assert {name: found for name, found in runs.items() if found != alone} == {}


@pytest.mark.thorough
@pytest.mark.compiles
def test_derivatives_with_wrong_edges_are_detected(printed):
    alone, (spoilt,) = printed["small, verified"]["1 auto 1"], printed["spoilt, verified"].values()
    assert [name for name in alone if spoilt[name] == alone[name]] == []


@pytest.mark.thorough
@pytest.mark.compiles
def test_all_ranks_get_the_sensitivities_of_one(printed):
    found = printed["sensitivity"]
    assert found["together"] == [found["alone"]] * 4


def resumed(folder, *more, count=2):
    command = [MPIEXEC, "-n", str(count), python(), "-m", "mpi4py", Path(__file__).with_name("resumed_on_ranks.py")]
    return subprocess.run([*command, folder, *more], capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.thorough
@pytest.mark.compiles
def test_killed_on_ranks_it_resumes_from_the_last_common_commit(tmp_path):
    assert resumed(tmp_path, "die").returncode != 0
    newest = [max(commits(rank_folder(tmp_path / "commits", rank))) for rank in range(2)]
    (rank_folder(tmp_path / "commits", 0) / f"manifest.{newest[0]}.npz").unlink()
    answer = resumed(tmp_path)
    assert answer.returncode == 0, answer.stderr[-4000:]
    alone = hashes(sensitivity(small(tmp_path, receptor=IN_TIME), RECEPTOR, options=Options(read=False)))
    for found, (line,) in json.loads(answer.stdout):
        assert found == alone
        assert line.startswith("resuming from a commit in the backward pass")
    assert not (tmp_path / "commits").exists()


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize(("before", "now"), [(1, 2), (2, 1)])
def test_another_number_of_ranks_is_refused_and_removes_nothing(tmp_path, before, now):
    assert resumed(tmp_path, "die", count=before).returncode != 0
    left = {path: path.read_bytes() for path in (tmp_path / "commits").rglob("*.npz")}
    answer = resumed(tmp_path, count=now)
    assert answer.returncode != 0
    assert f"it was rank 0 of {before} with" in answer.stderr
    assert f"now is rank 0 of {now} with" in answer.stderr
    assert {path: path.read_bytes() for path in (tmp_path / "commits").rglob("*.npz")} == left
