"""Published facts of the EMEP problem, and the environment that it prescribes."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airshed.mechanism import ReactionNetwork, load_mechanism

FACTS = Path(__file__).parent / "data" / "emep_facts.json"


@pytest.fixture(scope="session")
def facts() -> dict[str, Any]:
    return json.loads(FACTS.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def emep() -> ReactionNetwork:
    return load_mechanism("emep")


@pytest.fixture(scope="session")
def conditions() -> Callable[[float], dict[str, float]]:
    """Return the environment of the EMEP problem at a time [s]; formulas as in emep_facts.json."""

    def at(seconds: float) -> dict[str, float]:
        hour = seconds % 86400.0 / 3600.0
        temperature = 298.0
        humidity = 23.0 * math.sin(-7.93e-5 * hour * 3600.0 + 2.43) + 66.5
        exponent = (597.3 - 0.57 * (temperature - 273.16)) * 18.0 / 1.986 * (1.0 / temperature - 1.0 / 273.16)
        angle = (1.0 + hour * 3600.0 / 43200.0) * math.pi
        latitude, declination = math.radians(50.0), math.radians(23.5)
        cosine = math.cos(angle) * math.cos(latitude) * math.cos(declination)
        return {
            "TEMP": temperature,
            "M": 2.55e19,
            "O2": 5.2e18,
            "N2": 1.99e19,
            "H2O": 6.1078 * math.exp(-exponent) * 10.0 / (1.38e-16 * temperature) * humidity,
            "sec_zenith": 1.0 / (cosine + math.sin(latitude) * math.sin(declination)),
            "daylight": 1.0 if 4.0 <= hour < 20.0 else 0.0,
        }

    return at


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a reaction file and gives its path."""

    def to_file(text: str | bytes, name: str = "test.def") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return to_file
