"""The public names of the package."""

import subprocess
import sys

import pytest

import airshed
from airshed.core.errors import AirshedError


def test_the_package_offers_only_its_public_names() -> None:
    assert dir(airshed) == sorted(airshed.__all__)
    assert len(set(airshed.__all__)) == len(airshed.__all__)
    for name in airshed.__all__:
        assert getattr(airshed, name) is not None
    assert airshed.AirshedError is AirshedError
    assert callable(airshed.plot.plot_run)


@pytest.mark.parametrize("name", ["Any", "gc", "import_module", "contextmanager", "Simulatoin"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
        getattr(airshed, name)


HEAVY = ("numpy", "xarray", "pydantic", "pint", "matplotlib", "netCDF4", "mpi4py", "scipy")


def _loaded(code: str) -> set[str]:
    shown = f"{code}; import sys; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    return set(subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True).stdout.split())


def test_the_import_of_the_package_is_light() -> None:
    assert _loaded("import airshed") == set()
    assert _loaded("import airshed; airshed.AirshedError") == set()
    assert "numpy" in _loaded("import airshed; airshed.Case")  # the negative control


def test_arrays_have_the_accessor_where_xarray_is_loaded_before() -> None:
    code = "import xarray, airshed; print(hasattr(xarray.DataArray(1.0), 'airshed'))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "True"
