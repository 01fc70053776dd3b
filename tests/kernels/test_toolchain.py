"""Compilation, cache and loading of generated C++, and the messages of failures."""

import ctypes
import errno
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from airshed.core.errors import KernelError
from airshed.kernels import cache, toolchain
from airshed.kernels.host import parse_cpuinfo
from airshed.kernels.toolchain import Unit, build, find_toolchain, flags_for, load

ONE = 'extern "C" int one() { return 1; }\n'
AVX512 = "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: sse2 avx2 avx512f\n\nprocessor\t: 1\nmodel name\t: Other\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd\nCPU part\t: 0xd40\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, product_compiler: None) -> Path:
    """Return an empty kernel cache of this test's own."""
    monkeypatch.setenv("AIRSHED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fake_compiler(path: Path, answer: str) -> Path:
    """Write a script that stands for a compiler: it gives its version and otherwise fails."""
    script = f'[ "$1" = --version ] && echo "{answer}" && exit 0\necho "cannot compile" >&2\nexit 1\n'
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return path


@pytest.mark.compiles
def test_a_library_is_compiled_once_and_its_source_is_kept(folder: Path) -> None:
    first, second = build(ONE, name="one"), build(ONE, name="one")
    assert (first.cached, second.cached) == (False, True)
    assert first.path == second.path == folder / f"one-{first.key}.so"
    assert first.path.with_suffix(".cpp").read_text() == ONE
    assert load(second).one() == 1


@pytest.mark.compiles
def test_source_and_flags_and_compiler_each_give_another_library(folder: Path, tmp_path: Path) -> None:
    other = find_toolchain()
    other = toolchain.Toolchain(other.command, other.version + " patched", other.cpu, other.flags)
    keys = {
        build(ONE, name="one").key,
        build(ONE + "// changed\n", name="one").key,
        build(ONE, name="one", extra_flags=["-DWIDTH=4"]).key,
        build(ONE, name="one", toolchain=other).key,
    }
    assert len(keys) == 4


@pytest.mark.compiles
def test_several_units_are_linked_into_one_library(folder: Path) -> None:
    caller = 'extern "C" int one();\nextern "C" int two() { return 2 * one(); }\n'
    library = build([Unit("caller", caller), Unit("callee", ONE)], name="pair")
    assert load(library).two() == 2
    assert (folder / f"pair-{library.key}-caller.cpp").read_text() == caller


@pytest.mark.compiles
@pytest.mark.parametrize("damage", [b"", b"no library at all", None])
def test_a_damaged_library_is_compiled_again(folder: Path, damage: bytes | None) -> None:
    first = build(ONE, name="one")
    whole = first.path.read_bytes()
    first.path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    second = build(ONE, name="one")
    assert not second.cached
    assert load(second).one() == 1


@pytest.mark.compiles
def test_of_processes_that_build_at_once_one_compiles_and_all_get_a_whole_library(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, called = tmp_path / "slow-g++", tmp_path / "called"
    slow.write_text(f'#!/bin/sh\n[ "$1" = --version ] || {{ echo "$@" >> {called}; sleep 0.5; }}\nexec g++ "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("AIRSHED_CXX", str(slow))
    program = "from airshed.kernels.toolchain import build, load\n"
    program += f"print(load(build({ONE!r}, name='one')).one())"
    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(lambda _: subprocess.run([sys.executable, "-c", program], capture_output=True), range(3)))
    assert [(run.returncode, run.stdout) for run in runs] == [(0, b"1\n")] * 3
    assert sorted(path.suffix for path in folder.iterdir()) == [".cpp", ".so"]
    assert len(called.read_text().splitlines()) == 2  # one call compiles, another links


@pytest.mark.compiles
def test_where_no_lock_can_be_had_a_library_is_compiled_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(cache.fcntl, "flock", refuse)
    assert load(build(ONE, name="one")).one() == 1


@pytest.mark.compiles
def test_an_error_shows_the_source_line_with_its_comment_and_where_it_is_kept(folder: Path) -> None:
    source = "int f() {\n  return k[12]; // R12: O3 + NO = NO2\n}\n// R13: NO2 = NO + O\nint g() { return k[13]; }\n"
    with pytest.raises(KernelError) as caught:
        build(source, name="bad")
    message = str(caught.value)
    assert "line 2" in message
    assert "return k[12]; // R12: O3 + NO = NO2" in message
    assert "// R13: NO2 = NO + O\n    int g()" in message
    kept = next(folder.glob("bad-*.cpp"))
    assert str(kept) in message
    assert kept.read_text() == source
    assert not list(folder.glob("*.so"))


@pytest.mark.compiles
def test_only_the_first_errors_are_shown(folder: Path) -> None:
    with pytest.raises(KernelError, match=r"and 4 more$"):
        build("".join(f"int f{i}() {{ return x{i}; }}\n" for i in range(7)), name="bad")


@pytest.mark.compiles
def test_a_linker_error_is_shown_as_it_is(folder: Path) -> None:
    source = 'int nowhere();\nextern "C" int f() { return nowhere(); }\n'
    with pytest.raises(KernelError, match="nowhere"):
        build(source, name="bad", extra_flags=["-Wl,--no-undefined"])


@pytest.mark.compiles
def test_without_a_writable_cache_a_folder_of_the_users_own_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("AIRSHED_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.warns(RuntimeWarning, match="cannot write to the kernel cache .* Set AIRSHED_CACHE"):
        library = build(ONE, name="one")
    assert load(library).one() == 1
    assert library.path.parent.stat().st_mode & 0o077 == 0


@pytest.mark.compiles
def test_a_full_disk_is_named_with_the_way_to_another_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(KernelError, match=r"one-.*\.cpp: the disk is full; .* another disk by setting AIRSHED_CACHE$"):
        build(ONE, name="one")
    assert list(folder.iterdir()) == []


@pytest.mark.compiles
def test_a_temporary_folder_that_others_can_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("AIRSHED_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    open_to_all = cache._temporary_folder()
    open_to_all.chmod(0o777)
    with pytest.raises(KernelError, match="can be written by others"):
        build(ONE, name="one")


@pytest.mark.compiles
def test_a_library_that_the_system_refuses_is_explained(folder: Path) -> None:
    library = build(ONE, name="one")
    library.path.write_bytes(b"\x7fELF")
    with pytest.raises(KernelError, match="cannot load"):
        load(library)


def test_the_named_compiler_comes_first_and_must_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = fake_compiler(tmp_path / "mycxx", "mycxx 1.0")
    monkeypatch.setenv("AIRSHED_CXX", f"{fake} --target=here")
    with pytest.raises(KernelError, match="not a compiler that runs"):
        find_toolchain()
    monkeypatch.setenv("AIRSHED_CXX", str(fake))
    assert find_toolchain().version == "mycxx 1.0"
    monkeypatch.setenv("AIRSHED_CXX", "no-such-compiler")
    with pytest.raises(KernelError, match="no-such-compiler"):
        find_toolchain()


def test_compilers_are_preferred_in_order_and_broken_ones_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRSHED_CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "has_zig", lambda: False)
    with pytest.raises(KernelError, match=r"apt install g\+\+.*pip install ziglang"):
        find_toolchain()
    fake_compiler(tmp_path / "clang++", "clang version 14")
    assert find_toolchain().version == "clang version 14"
    (tmp_path / "g++").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "g++").chmod(0o755)
    assert find_toolchain().version == "clang version 14"
    fake_compiler(tmp_path / "g++", "g++ 12")
    assert find_toolchain().version == "g++ 12"


def test_a_compiler_that_fails_without_a_line_number_is_quoted(folder: Path, tmp_path: Path) -> None:
    compiler = toolchain.Toolchain((str(fake_compiler(tmp_path / "cxx", "cxx 1")),), "cxx 1", "any", ())
    with pytest.raises(KernelError, match="cannot compile"):
        build(ONE, name="one", toolchain=compiler)


def test_flags_follow_the_processor() -> None:
    wide, arm = parse_cpuinfo(AVX512, "x86_64"), parse_cpuinfo(ARM, "aarch64")
    assert wide.model == "Some CPU"
    assert {"-march=native", "-mprefer-vector-width=512"} <= set(flags_for(wide))
    assert arm.model == "0xd40"
    assert {"-mcpu=native"} <= set(flags_for(arm))
    assert "-mprefer-vector-width=512" not in flags_for(arm)
    assert "-ffast-math" not in flags_for(wide)


def test_processors_of_one_name_and_different_instructions_differ() -> None:
    assert parse_cpuinfo(AVX512, "x86_64").identity != parse_cpuinfo(AVX512.replace(" avx512f", ""), "x86_64").identity


@pytest.mark.compiles
def test_not_a_number_survives_the_flags(folder: Path) -> None:
    source = 'extern "C" int is_nan(double x) { return x != x; }\n'
    library = load(build(source, name="nan"))
    library.is_nan.argtypes = [ctypes.c_double]
    assert library.is_nan(float("nan")) == 1
    assert library.is_nan(1.0) == 0


@pytest.mark.parametrize("name", ["g++", "x86_64-conda-linux-gnu-c++", "arm64-apple-darwin20.0.0-clang++"])
def test_the_compiler_of_a_conda_environment_is_used_without_activation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("AIRSHED_CXX", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "bin").mkdir()
    compiler = fake_compiler(tmp_path / "bin" / name, "c++ of conda-forge 14.3")
    assert find_toolchain().command != (str(compiler),)  # not a conda environment
    (tmp_path / "conda-meta").mkdir()
    assert find_toolchain().command == (str(compiler),)
    assert find_toolchain().version == "c++ of conda-forge 14.3"
    compiler.chmod(0o644)
    assert find_toolchain().command != (str(compiler),)


@pytest.mark.compiles
@pytest.mark.skipif(not toolchain.has_zig(), reason="the ziglang wheel is not installed")
def test_the_wheel_with_a_compiler_serves_where_there_is_no_other(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRSHED_CXX", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert find_toolchain().command[1:] == ("-m", "ziglang", "c++")
    assert load(build(ONE, name="one")).one() == 1
