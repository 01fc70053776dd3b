"""A backend is found by its name."""

import pytest

from airshed.kernels.backend import Backend, backend


def test_a_backend_is_found_by_its_name() -> None:
    found: Backend = backend("cpu")
    assert backend() is found or backend().width == found.width
    with pytest.raises(ModuleNotFoundError):
        backend("abacus")
