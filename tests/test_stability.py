"""The promises of docs/reference/stability.md: the recorded interface exists, and each promise names its tests."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.public import RECORD, ROOT, interface

from airshed.core.errors import OutputError
from airshed.inverse.checkpoints.commits import Problem
from airshed.io.run_state import RunState, case_hash, check_resumable
from airshed.serve.protocol.types import ModelInfo, ServerInfo

PAGE = ROOT / "docs" / "reference" / "stability.md"
RECORDED = RECORD.read_text(encoding="utf-8").splitlines()


def missing(recorded: Iterable[str], present: Iterable[str]) -> list[str]:
    """Return the recorded lines that are not valid any more."""
    return sorted(set(recorded) - set(present))


def test_recorded_names_commands_and_options_exist() -> None:
    recorded = [line for line in RECORDED if not line.startswith("variable ")]
    assert missing(recorded, interface()) == [], (
        "a public name is gone: restore it, or describe its replacement in changes/ and run "
        "python -m tests.public > tests/public.txt"
    )
    assert len(recorded) > 200
    assert missing(["name airshed.Simulatoin"], recorded) == ["name airshed.Simulatoin"]  # the negative control


def test_recorded_variables_of_result_files_exist(golden: Path) -> None:
    recorded = [line for line in RECORDED if line.startswith("variable ")]
    assert missing(recorded, interface(golden)) == []
    assert missing([line.replace("[mol mol-1]", "[ppb]") for line in recorded], interface(golden)) != []


STATE = RunState("0.0.1", "interrupted", "2022-08-31", case_hash("a = 1\n"), "a = 1\n")


def test_a_run_and_a_gradient_of_another_version_do_not_resume(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"made by Airshed 0\.0\.1, this is .*resume it with that version"):
        check_resumable(tmp_path, STATE, STATE.case, ())
    with pytest.raises(OutputError, match=r"written by Airshed 0\.0\.1, this is"):
        Problem("", "", "", {}).check({"airshed": "0.0.1"}, tmp_path)


def test_the_server_states_the_version_of_its_protocol() -> None:
    protocol = int(next(line for line in RECORDED if line.startswith("protocol ")).split()[1])
    assert ServerInfo.model_fields["protocol"].default == protocol
    assert ModelInfo.model_fields["protocol"].default == protocol


def unheld(page: str) -> list[str]:
    """Return the promises of a page without a test, or with tests that do not exist."""
    rows = [row.strip("|").split("|") for row in page.splitlines() if row.startswith("|")][2:]
    tests = {row[0].strip(): re.findall(r"`(tests/[\w/]+\.py)`", row[-1]) for row in rows}
    return [part for part, found in tests.items() if not found or not all((ROOT / name).is_file() for name in found)]


def test_each_promise_names_its_tests() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert unheld(page) == []
    assert unheld(page.replace("tests/case/test_renamed.py", "tests/no_such.py")) == [
        "keys of the [case file](case-file.md)"
    ]
