"""Settings of all tests: equal examples in every run, no clock, no window, a kernel cache inside the checkout.

AIRSHED_SKIPPED   file for the names of the skipped tests; a reason that is not in MAY_LACK fails the run
AIRSHED_SECONDS   file for a new longest.txt
AIRSHED_DEADLINE  time [s since 1970] after which no test starts
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests import builds
from tests import golden as golden_run

os.environ.setdefault("MPLBACKEND", "Agg")
# Tests start more ranks than there are cores, at the same time: waiting ranks yield their core.
os.environ.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")
os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
# The threads of NumPy's matrix products busy-wait too, in every process and every rank.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
builds.set_environment()

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each Python process would compile changed files again

# A shell without job control starts background processes that ignore Ctrl-C, as would all processes started here.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("airshed", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("airshed")

HERE = Path(__file__).parent


LONGEST = {
    HERE / name: (float(seconds), int(tests))
    for seconds, tests, name in (line.split() for line in (HERE / "longest.txt").read_text().splitlines())
}
"""Processor seconds and number of tests of the longest test files, about the longest first."""
QUICK = 0.05
"""Files whose tests take longer than this on average [s] are of the standard tier."""


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers: the tiers, see CONTRIBUTING.md, and the permission to compile."""
    config.addinivalue_line(
        "markers", "standard: too long for `make quick`; also set for the files that longest.txt names as slow"
    )
    config.addinivalue_line("markers", "thorough: part of `make test-all` only")
    config.addinivalue_line("markers", "compiles: may compile libraries that tests/builds.py does not name")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the catalogue, before the processes that run tests start."""
    if not hasattr(session.config, "workerinput") and not session.config.option.collectonly:
        try:
            builds.prepare()
        except SystemExit as error:
            pytest.exit(str(error), 3)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow files as standard, and put the longest files first; with a deadline keep the order."""
    for item in items:
        seconds, tests = LONGEST.get(item.path, (0.0, 1))
        if seconds > QUICK * tests:
            item.add_marker("standard")
    if "AIRSHED_DEADLINE" not in os.environ:
        place = {path: number for number, path in enumerate(LONGEST)}
        items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_runtest_setup() -> None:
    """Skip a test that would start after AIRSHED_DEADLINE [s since 1970], where that is set."""
    if time.time() > float(os.environ.get("AIRSHED_DEADLINE", "inf")):
        pytest.skip("no time left: `make test-all` runs it")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Allow compilers in tests that are marked so, and in thorough ones."""
    allowed = item.get_closest_marker("compiles") or item.get_closest_marker("thorough")
    os.environ["AIRSHED_TEST_COMPILES"] = "1" if allowed else ""
    return (yield)


MAY_LACK = re.compile(
    r"OpenMPI is not installed|no OpenMPI|PnetCDF |parallel netCDF-4 |the ziglang wheel is not installed"
    r"|PyTorch is not installed|bmi-tester is not installed|the package scores is not installed|Dask is not installed"
    r"|eccodes is not installed|cuda-bindings is not installed"
    r"|chromium is not installed|the pages are not built|gives files to other users"
)
"""Starts of the reasons for which tests may be skipped on a machine with the packages of the README only."""

NOT_SHIPPED = re.compile(r"no station files of Queensland|shared data are not there|comparison with GRASP: it needs ")
"""Starts of the reasons of tests whose data cannot be distributed: no package makes them run."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the names of skipped tests, and fail for other reasons; not in the worker processes of a parallel run."""
    to = os.environ.get("AIRSHED_SKIPPED")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not to or reporter is None or hasattr(session.config, "workerinput"):
        return
    reports = reporter.stats.get("skipped", [])
    reasons = {report.nodeid: str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports}
    skipped = {name: reason for name, reason in reasons.items() if not NOT_SHIPPED.match(reason)}
    Path(to).write_text("".join(f"{name}\n" for name in sorted(skipped)), encoding="utf-8")
    for name, reason in skipped.items():
        if not MAY_LACK.match(reason):
            reporter.write_line(
                f"\nnot to be skipped for this reason, see tests/conftest.py: {name}: {reason}", red=True
            )
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


_COUNTED_FROM = -1.0
_SPENT = Counter[str]()
_TESTS = Counter[str]()
_LISTED = 1.0
"""Files whose tests take less [s] are not in longest.txt."""


def _computed() -> float:
    """Return the processor time [s] of this process and its finished children; other programs affect it little."""
    started = sys.modules.get("tests.started")  # programs that tests start are children of another process
    return sum(os.times()[:4]) + (started.computed() if started else 0.0)


def pytest_runtest_logstart() -> None:
    """Start counting: earlier time belongs to no test."""
    global _COUNTED_FROM
    _COUNTED_FROM = _computed()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to each report the processor time since the one before."""
    global _COUNTED_FROM
    report, now = (yield), _computed()
    report.user_properties.append(("computed", now - _COUNTED_FROM))
    _COUNTED_FROM = now
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the processor time of the tests of each file."""
    _SPENT[report.location[0]] += dict(report.user_properties).get("computed", 0.0)
    _TESTS[report.location[0]] += report.when == "setup"


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Write the list of the longest files."""
    to = os.environ.get("AIRSHED_SECONDS")
    if to and not hasattr(config, "workerinput"):
        lines = [
            f"{seconds:5.1f} {_TESTS[name]:3d} {(config.rootpath / name).relative_to(HERE)}\n"
            for name, seconds in _SPENT.most_common()
            if seconds >= _LISTED
        ]
        Path(to).write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="session")
def golden() -> Path:
    """Return the folder of the golden run, see tests/golden.py; it is read only."""
    return golden_run.folder()


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder without write permission; for root, whom permissions do not restrict, an immutable one."""
    folder = tmp_path / "sealed"
    folder.mkdir()
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root and not _change_attributes("+i", folder):
        pytest.skip("root may write everywhere, and this file system has no immutable folders")
    yield folder
    if is_root:
        _change_attributes("-i", folder)
    folder.chmod(0o755)


def _change_attributes(change: str, folder: Path) -> bool:
    command = shutil.which("chattr")
    return command is not None and subprocess.run([command, change, folder], capture_output=True).returncode == 0


_PASSED_ELSEWHERE = pytest.StashKey[bool]()


@pytest.fixture
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Yield a folder on a separate file system, of the size that is the parameter.

    Only root may mount one. For another user the whole test runs as root in a new namespace.
    """
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(folder)]
        if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
            yield folder
            subprocess.run(["umount", "-l", str(folder)], check=True)
            return
        _run_where_mounting_is_allowed(request.node)
    except FileNotFoundError as error:
        pytest.skip(f"there is no command {error.filename}")
    request.node.stash[_PASSED_ELSEWHERE] = True
    yield folder


def _run_where_mounting_is_allowed(test: pytest.Item) -> None:
    there = ["unshare", "--user", "--map-root-user", "--mount"]
    allowed = subprocess.run([*there, "true"], capture_output=True, check=False).returncode == 0
    if not allowed or os.geteuid() == 0:
        pytest.skip("mounting a file system is not allowed here")
    environment = {name: value for name, value in os.environ.items() if name != "AIRSHED_SKIPPED"}
    again = [*there, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", test.nodeid]
    done = subprocess.run(again, cwd=test.config.rootpath, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Skip the body of a test that ran in another process."""
    return pyfuncitem.stash.get(_PASSED_ELSEWHERE, False) or None
