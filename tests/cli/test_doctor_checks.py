"""Checks of ``airshed doctor``, and their advice."""

import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from airshed.cli import doctor
from airshed.cli.doctor import Check, as_dict, as_table, collect, healthy, required_packages


@pytest.fixture(autouse=True)
def _no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPI has tests of its own, which start ranks."""
    monkeypatch.setattr(doctor, "mpi_checks", list)


def named(name: str) -> Check:
    return next(check for check in collect() if check.name == name)


def test_on_a_machine_that_runs_these_tests_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRSHED_CXX", os.environ["AIRSHED_TEST_COMPILER"])  # a user's, which may compile all
    checks = collect()
    assert healthy(checks), [check for check in checks if check.status == "missing"]
    assert len({check.name for check in checks}) == len(checks)


def test_whatever_is_not_well_comes_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("AIRSHED_CXX", "no-such-compiler")
    monkeypatch.setenv("AIRSHED_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(doctor, "available_memory", lambda: 1)
    monkeypatch.setattr(doctor, "_version", lambda package: None)
    monkeypatch.setattr(doctor, "_ENOUGH_DISK", 10**30)
    unwell = {check.name: check for check in collect() if check.status != "ok"}
    assert set(unwell) == {"packages", "C++ compiler", "kernel cache", "memory", "disk", "zarr"}
    assert all(check.advice for check in unwell.values())
    assert not healthy(unwell.values())


def test_a_missing_compiler_is_missing_and_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRSHED_CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("airshed.kernels.toolchain.has_zig", lambda: False)
    check = named("C++ compiler")
    assert check.status == "missing"
    assert "apt install g++" in check.advice
    assert "pip install ziglang" in check.advice


def test_a_compiler_that_cannot_compile_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "cxx"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "cxx 1" && exit 0\necho "no headers" >&2\nexit 1\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("AIRSHED_CXX", str(compiler))
    monkeypatch.setenv("AIRSHED_CACHE", str(tmp_path / "cache"))
    check = named("C++ compiler")
    assert check.status == "missing"
    assert "no headers" in check.detail


def test_packages_of_extras_are_not_required() -> None:
    assert required_packages(["numpy>=2", "netCDF4", 'pytest; extra == "dev"']) == ["numpy", "netCDF4"]


def test_the_checks_are_shown_as_a_table_and_as_json() -> None:
    checks = [Check("disk", "warning", "full [/tmp]", "free space")]
    page = io.StringIO()
    Console(file=page, width=60).print(as_table(checks))
    assert "full [/tmp]" in page.getvalue()
    assert "free space" in page.getvalue()
    answer = json.loads(json.dumps(as_dict(checks)))
    assert answer["healthy"] is True
    assert answer["checks"] == [{"name": "disk", "status": "warning", "detail": "full [/tmp]", "advice": "free space"}]


def test_an_optional_compiler_that_is_not_installed_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the advice on a missing compiler names it."""
    monkeypatch.setattr(doctor, "has_zig", lambda: False)
    assert "ziglang" not in {check.name for check in collect()}
    assert not any(check.status == "ok" and "not installed" in check.detail for check in collect())
    monkeypatch.setattr(doctor, "has_zig", lambda: True)
    assert named("ziglang").status == "ok"


def test_all_gpus_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "gpus", lambda: ["Card A"])
    assert named("GPU").detail == 'Card A; set run.device = "cuda" to use it'
    monkeypatch.setattr(doctor, "gpus", lambda: ["Card A", "Card B"])
    assert named("GPU").detail.startswith("Card A (0), Card B (1); ")
    assert "2 ranks" in named("GPU").detail
