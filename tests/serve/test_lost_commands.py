"""An acknowledged command is never lost without notice, whatever part of a session's folder is damaged."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import Start, refused, serving

import airshed
from airshed.core.errors import AirshedError
from airshed.runtime.registry import load_case
from airshed.serve.access.limits import Limits
from airshed.serve.client import Remote
from airshed.serve.model.store import LOST
from airshed.serve.protocol.errors import DefectError


def paint(remote: Remote, times: int = 1) -> None:
    for _ in range(times):
        remote.paint("TRACER", 1e-9, window=(0, 5, 0, 5))


def states(folder: Path) -> list[Path]:
    return sorted((folder / "main" / "restart").glob("*.npz"), key=lambda path: float(path.stem))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(bytes(content))


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a server that ended after two states with a command each."""
    folder = tmp_path_factory.mktemp("left")
    with serving(load_case(Path("tracer-rotation")), folder=folder) as server, airshed.connect(server.url) as main:
        for _ in range(2):
            paint(main)
            main.step(2)
            main.snapshot()
        paint(main)  # is in the state stored at the end
    return folder


def resumed(folder: Path) -> tuple[list[str], int]:
    """Resume the server of a folder; return its notices, and the number of its commands."""
    case = load_case(Path("tracer-rotation"))
    with serving(case, folder=folder, resume=True) as server, airshed.connect(server.url) as main:
        return main.info().notices, main.state.log_entries


def test_without_losses_there_are_no_notices(left: Path, tmp_path: Path) -> None:
    shutil.copytree(left, tmp_path / "live")
    notices, commands = resumed(tmp_path / "live")
    assert commands == 5
    assert not any("lost" in each for each in notices)


def test_commands_after_an_older_state_are_reported(left: Path, tmp_path: Path) -> None:
    folder = tmp_path / "live"
    shutil.copytree(left, folder)
    flip(states(folder)[-1])
    notices, commands = resumed(folder)
    assert commands == 4
    assert any("the state before it is resumed" in each for each in notices)
    assert any(each.startswith("lost: 1 command after the state") and "paint at step 4" in each for each in notices)
    assert '"paint"' in (folder / "main" / LOST).read_text()


def test_without_a_complete_state_the_server_does_not_start(left: Path, tmp_path: Path) -> None:
    folder = tmp_path / "live"
    shutil.copytree(left, folder)
    for path in states(folder):
        flip(path)
    before = {path: path.read_bytes() for path in (folder / "main").rglob("*") if path.is_file()}
    with pytest.raises(AirshedError, match=r"no restart in .* is intact"):
        resumed(folder)
    del before[folder / "main" / "run.json"]
    assert all(path.read_bytes() == content for path, content in before.items())


def test_missing_states_are_reported(left: Path, tmp_path: Path) -> None:
    folder = tmp_path / "live"
    shutil.copytree(left, folder)
    shutil.rmtree(folder / "main" / "restart")
    notices, commands = resumed(folder)
    assert commands == 0
    assert any(each.startswith("lost: 5 commands") for each in notices)


def test_a_killed_server_reports_the_commands_after_its_last_state(start: Start, tmp_path: Path) -> None:
    process, main = start("--output", "live")
    main.step(1)
    main.snapshot()
    paint(main, 3)
    process.kill()
    process.wait(20.0)
    process, again = start("--output", "live", "--resume")
    assert any(each.startswith("lost: 3 commands") for each in again.info().notices)
    assert again.state.log_entries == 1
    paint(again)
    process.terminate()
    assert "lost: 3 commands" in process.communicate(timeout=60.0)[1]
    assert not any("lost" in each for each in start("--output", "live", "--resume")[1].info().notices)


def test_an_ended_session_leaves_nothing(tmp_path: Path) -> None:
    with serving(load_case(Path("tracer-rotation")), folder=tmp_path) as server, airshed.connect(server.url) as main:
        for _ in range(3):
            with main.branch() as branch:
                assert (tmp_path / branch.session).is_dir()
                branch.end()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["main", "main.json"]


def test_changed_inputs_are_refused_or_reported(tmp_path: Path) -> None:
    folder, mechanism = tmp_path / "live", tmp_path / "tracer.def"
    shutil.copy(Path(__file__).parents[2] / "mechanisms" / "tracer.def", mechanism)
    case = load_case(Path("tracer-rotation"), [f"chemistry.mechanism={mechanism}"])
    with serving(case, folder=folder) as server, airshed.connect(server.url) as main:
        main.step(2)
    mechanism.write_text(f"{mechanism.read_text()}\n// more\n")
    with pytest.raises(AirshedError, match=r"tracer\.def has changed"), serving(case, folder=folder, resume=True):
        pass
    with serving(case, folder=folder, resume=True, accept=True) as server, airshed.connect(server.url) as main:
        assert main.state.step == 2
        assert any("tracer.def has changed" in each for each in main.info().notices)
        assert "tracer.def has changed" in main.open().attrs["history"]


def test_a_log_has_a_bound_of_bytes(tmp_path: Path) -> None:
    with (
        serving(load_case(Path("tracer-rotation")), Limits(log_bytes=1000)) as server,
        airshed.connect(server.url) as main,
        pytest.raises(AirshedError, match="bytes, which is the limit"),
    ):
        paint(main, 20)


def tampered(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the content of a state except its arrays, with matching checksums."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    metadata = json.loads(contents["metadata.json"])
    change(metadata)
    contents["metadata.json"] = json.dumps(metadata).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


TAMPERED: dict[str, Callable[[dict[str, Any]], object]] = {
    "an invalid entry": lambda found: found["log"].append({"number": 5}),
    "an invalid command": lambda found: found["log"][0].update(command={"kind": "exec", "code": "x"}),
    "a command of wrong type": lambda found: found["log"][0]["command"].update(value="much"),
    "a missing entry": lambda found: found["log"].pop(0),
    "an invalid log": lambda found: found.update(log=3),
    "no time": lambda found: found.pop("seconds_of_state"),
    "an invalid time": lambda found: found.update(seconds_of_state="noon"),
    "an invalid case": lambda found: found.update(case_text="= 3"),
    "another case": lambda found: found.update(case_text='model = "pasture"'),
    "missing steps": lambda found: found.pop("steps"),
}


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_a_state_that_was_tampered_with_is_refused_in_a_line(
    left: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    folder = tmp_path / "live"
    shutil.copytree(left, folder)
    for path in states(folder):
        tampered(path, change)
    with pytest.raises(AirshedError) as refused:
        resumed(folder)
    assert len(str(refused.value)) < 700
    assert not isinstance(refused.value, DefectError)


def test_a_new_server_replaces_no_session_with_commands(left: Path, tmp_path: Path, start: Start) -> None:
    shutil.copytree(left, tmp_path / "live")
    before = {path: path.read_bytes() for path in (tmp_path / "live").rglob("*") if path.is_file()}
    message = refused(Path("tracer-rotation"), "--output", tmp_path / "live").stderr
    assert "holds sessions with commands (main)" in message
    assert all(path.read_bytes() == content for path, content in before.items())
    _, main = start("--output", "live", "--force")
    assert main.state.log_entries == 0
