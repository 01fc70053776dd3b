"""Fixtures: a case of 40 cells for 150 days with random weather, and the program."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.models.pasture.inputs_small import contents
from tests.started import python

from airshed.models.pasture.inputs.store import new_store

CASE = """
title = "Random cells"
model = "pasture"
[time]
start = 2019-12-01
length = "{days} day"
[grazing]
on = true
[[events.fire]]
date = "02-01"
fraction = 0.9
"""


def save_weather(path: Path, seed: int = 3) -> None:
    """Write inputs with weather in which pasture grows: rain on a third of days, warm days, mild nights."""
    random, made = np.random.default_rng(seed), contents(initial=start())
    days, weeks, cells = made.calendar.days, made.calendar.weeks, made.grid.cells
    rain = np.where(random.uniform(size=(days, cells)) < 0.3, random.exponential(12.0, (days, cells)), 0.0)
    ranges = {
        "pan_evaporation": (3.0, 9.0), "radiation": (10.0, 28.0), "vapour_pressure": (10.0, 25.0),
        "min_temperature": (0.0, 20.0), "max_temperature": (22.0, 36.0),
    }  # fmt: skip
    with new_store(path, made) as store:
        store.put("rain", 0, rain)
        for name, (low, high) in ranges.items():
            store.put(name, 0, random.uniform(low, high, (weeks, cells)))


def start() -> dict[str, np.ndarray]:
    """Initial state: some water, standing dry matter, litter."""
    random, cells = np.random.default_rng(5), contents().grid.cells
    ranges = {
        "water_1": (2.0, 12.0), "water_2": (20.0, 50.0), "water_3": (30.0, 60.0), "green_leaf": (100.0, 800.0),
        "green_stem": (100.0, 500.0), "dead_leaf": (100.0, 900.0), "dead_stem": (100.0, 900.0),
        "litter": (100.0, 900.0), "basal_area": (1.0, 5.0), "live_weight": (200.0, 201.0),
    }  # fmt: skip
    return {name: random.uniform(*ends, cells) for name, ends in ranges.items()}


@pytest.fixture
def case(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a case of some days, with its inputs."""

    def made(days: int = 120) -> Path:
        if not (tmp_path / "inputs").exists():
            save_weather(tmp_path / "inputs")
        (tmp_path / "case.toml").write_text(CASE.format(days=days))
        return tmp_path / "case.toml"

    return made


@pytest.fixture
def airshed(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs `airshed ARGUMENTS` in the folder of the case."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python(), "-m", "airshed", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    return run
