"""Sensitivities of boxes as a ranking: table, file, picture, and the command that makes them."""

import csv
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.inverse.test_box import air_of
from typer.testing import CliRunner

from airshed.case.toml import write_toml
from airshed.cli.program import app
from airshed.inverse.receptors import box
from airshed.inverse.receptors.box import ranked, ranking_table, write_sensitivity
from airshed.models.box import run
from airshed.plot.box import draw_gradient, plot_gradient
from airshed.plot.style import look


@pytest.fixture(name="found")
def found_fixture() -> xr.Dataset:
    """Return sensitivities that were never computed, one of each kind and some that are none."""
    return xr.Dataset(
        {
            "rate": ("reaction", [0.3, -0.5]), "initial": ("species", [0.2, 0.0, np.nan]),
            "emission": ("emitted", [0.01]), "deposition": ("deposited", [-0.1]), "value": ((), 2.0),
        },
        {
            "reaction": ["R1", "R,2"], "equation": ("reaction", ["<R1> A = B : 1.0;", "B + B = A"]),
            "species": ["A", "B", "O3"], "emitted": ["A"], "deposited": ["O3"],
        },
        {"gradient": "O3", "time": 7200.0, "mechanism": "none"},
    )  # fmt: skip


def test_the_largest_stands_first_whatever_its_kind(found: xr.Dataset) -> None:
    assert [(each.kind, each.text) for each in ranked(found)] == [
        ("rate", "B + B = A"), ("rate", "A = B"), ("initial", "A"), ("deposition", "O3"), ("emission", "A"),
    ]  # fmt: skip


def test_of_many_cells_the_mean_counts(found: xr.Dataset) -> None:
    many = xr.concat([found, found * np.nan, 3.0 * found], "cell", combine_attrs="override").assign_attrs(found.attrs)
    assert ranked(many)[0].value == pytest.approx(-1.0)
    assert "mean of cells" in ranking_table(many).title


def test_a_file_has_all_of_them(found: xr.Dataset, tmp_path: Path) -> None:
    write_sensitivity(found, tmp_path / "all.csv")
    rows = list(csv.reader((tmp_path / "all.csv").read_text().splitlines()))
    assert rows[1] == ["rate constant", "R,2", "B + B = A", "-0.5"]
    assert len(rows) == 6
    write_sensitivity(found, tmp_path / "all.nc")
    with xr.open_dataset(tmp_path / "all.nc") as read:
        assert read.rate.values.tolist() == [0.3, -0.5]


def test_bars_are_as_long_as_the_sensitivities(found: xr.Dataset, tmp_path: Path) -> None:
    with look():
        axes = draw_gradient(found).axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([-0.5, 0.3, 0.2, -0.1, 0.01])
    assert [label.get_text() for label in axes.get_yticklabels()][2:] == [
        "initial value of A", "deposition of O₃", "emission of A",
    ]  # fmt: skip
    plot_gradient(found, tmp_path / "bars.png")
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_writes_ranking_and_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    air = air_of("small", tmp_path)
    for module in (run, box):
        monkeypatch.setattr(module, "load_mechanism", lambda *given, **options: air.network)  # the one of the catalogue
    (tmp_path / "box.toml").write_text(write_toml({**air.day, "solver": {}}))
    given = ["box", "small", "--conditions", str(tmp_path / "box.toml"), "--output", str(tmp_path / "o.csv")]
    outcome = CliRunner().invoke(app, [*given, "--plot", str(tmp_path / "o.png"), "--gradient", "o3", "--at", "4 h"])
    assert outcome.exit_code == 0, outcome.output
    assert "Sensitivity of O3 at 4 h" in outcome.output
    assert (tmp_path / "o-gradient.csv").exists()
    assert (tmp_path / "o-gradient.png").exists()
    refused = CliRunner().invoke(app, [*given, "--gradient", "Q"])
    assert refused.exit_code != 0
