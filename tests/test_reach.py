"""The test files that a change affects."""

from pathlib import Path

import pytest
from tests import reach

WATER, PICTURES, UNITS = "models/pasture/test_water.py", "plot/test_pictures.py", "core/test_units.py"


def affected(*changed: str) -> list[str]:
    return [str(path.relative_to(reach.TESTS)) for path in reach.affected(changed)]


@pytest.mark.parametrize(
    ("changed", "near", "spared"),
    [
        ("src/airshed/models/pasture/processes/water.py", WATER, UNITS),
        ("src/airshed/plot/style.py", PICTURES, "mechanism/test_kpp.py"),
        ("src/airshed/models/pasture/processes/sward.py", "models/pasture/test_plants.py", "mechanism/test_kpp.py"),
        ("src/airshed/kernels/transport/transport.hpp", "kernels/test_twin.py", "mechanism/test_kpp.py"),
        ("tests/kernels/kinds.py", "kernels/test_operators.py", PICTURES),
        ("tests/plot/conftest.py", PICTURES, UNITS),
        ("web/src/map/camera.ts", "web/test_browser.py", UNITS),
        ("tests/plot/test_pictures.py", PICTURES, "plot/test_box.py"),
    ],
)
def test_a_change_affects_the_tests_that_import_it(changed: str, near: str, spared: str) -> None:
    found = affected(changed)
    assert near in found
    assert spared not in found


def test_a_module_that_is_found_by_its_name_affects_the_programs() -> None:
    assert "cli/test_run.py" in affected("src/airshed/models/pasture/processes/water.py")


def test_documents_affect_no_test_and_the_root_conftest_all() -> None:
    assert affected("docs/how-to/adjoint.md") == []
    assert len(affected("tests/conftest.py")) == len(list(reach.TESTS.rglob("test_*.py")))


def test_the_nearest_come_first() -> None:
    found = affected("src/airshed/core/units.py")
    assert found.index(UNITS) < found.index("cli/test_run.py")


def test_a_commit_that_is_not_in_the_history_is_reported() -> None:
    assert reach.changed_files("0" * 40) is None
    assert reach.changed_files("HEAD") == []


def test_the_verified_commit_is_named_in_full() -> None:
    assert len(Path(reach.VERIFIED).read_text().split()[0]) == 40
