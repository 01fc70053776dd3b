"""Cases of several kinds of models, and fixtures that initialize them as components."""

from collections.abc import Callable
from pathlib import Path

import pytest

from airshed.bmi import Air, Component, Pasture
from airshed.runtime import registry

from ..models.pasture import conftest as pasture
from .components import Bucket, Lorenz, Row

MODELS = Path(__file__).parents[1] / "runtime" / "any_model" / "models"
AIR = """
title = "A plume in a straight wind"
[grid]
area = { lon = [-2, 2], lat = [-2, 2] }
spacing = "0.5 deg"
layers = ["100 m", "250 m", "500 m", "1000 m"]
[time]
start = 2022-06-01T00:00:00Z
length = "40 min"
[chemistry]
mechanism = "tracer"
[meteorology]
kind = "uniform"
eastward = "30 m/s"
diffusivity = "5 m2/s"
precipitation = "1 mm/h"
[[emissions.point]]
species = "TRACER"
lon = 0.0
lat = 0.0
height = "50 m"
rate = "1 mol/s"
[boundary]
values = { TRACER2 = "10 ppb" }
[deposition]
scheme = "none"
"""
OTHER = """
title = "Not of air"
model = "{model}"
[time]
start = 2022-08-31T00:00:00Z
length = "{length}"
[[output]]
every = "5 day"
[restart]
every = "5 day"
"""
CASES = {
    "air": AIR,
    "pasture": pasture.CASE.format(days=20) + '[inputs]\nfolder = "../inputs"\n',
    "lorenz": OTHER.format(model="lorenz", length="4 s"),
    "bucket": OTHER.format(model="bucket", length="20 day"),
    "row": OTHER.format(model="row", length="1 h"),
}
COMPONENTS: dict[str, type[Component]] = {
    "air": Air, "pasture": Pasture, "lorenz": Lorenz, "bucket": Bucket, "row": Row,
}  # fmt: skip

Started = Callable[..., Component]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the models of the tests."""
    monkeypatch.syspath_prepend(MODELS)
    monkeypatch.setattr(registry, "_MODELS", dict(registry._MODELS))
    for name in ("lorenz", "bucket", "row"):
        registry.register(name, f"{name}:KIND")


@pytest.fixture
def case(known: None, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes the case of a model to a file."""

    def written(model: str) -> Path:
        file = tmp_path / "cases" / f"{model}.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(CASES[model], encoding="utf-8")
        if model == "pasture" and not (tmp_path / "inputs").exists():
            pasture.save_weather(tmp_path / "inputs")  # bmi-tester copies the files of the folder
        return file

    return written


@pytest.fixture
def started(case: Callable[[str], Path]) -> Started:
    """Return a function that initializes the component of a model."""

    def begun(model: str, **given: object) -> Component:
        component = COMPONENTS[model](**given)
        component.initialize(str(case(model)))
        return component

    return begun
