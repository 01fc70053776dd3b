"""Files in the OpenAtmos format, and the package musica where it is installed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airshed.mechanism.openatmos import NO_MUSICA, musica_package


@pytest.fixture(scope="session")
def package() -> dict[str, Path]:
    """Return the mechanisms of the package musica by their names."""
    found = musica_package()
    if found is None:
        pytest.skip(f"needs {NO_MUSICA}")
    return found


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes an object as JSON, or a text as it is, and gives the path."""

    def to_file(content: Any, name: str = "test.json") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return to_file
