"""Limit values in pictures, and the colour table of ozone."""

import numpy as np
import pytest
import xarray as xr

from airshed.plot.geography import Area, cities
from airshed.plot.limits import scale_of
from airshed.plot.results import Results
from airshed.plot.scales import LIMIT_VALUES, limit_values
from airshed.plot.series import draw_series
from airshed.plot.style import OWN, colours
from airshed.plot.units import written


def test_limits_are_those_between_the_ends_of_a_scale_in_micrograms() -> None:
    assert [limit.label for limit in limit_values("O3", "µg/m³", 40.0, 120.0)] == ["WHO 100 (8 h)", "EU 120 (8 h)"]
    assert limit_values("O3", "ppb", 40.0, 120.0) == ()
    assert limit_values("HNO3", "µg/m³", 0.0, 1e4) == ()
    assert {limit.source.split(" ")[0] for row in LIMIT_VALUES.values() for limit in row} == {"Directive", "WHO"}


def test_series_mark_the_limits_on_their_axis(small: xr.Dataset, tmp_path_factory: pytest.TempPathFactory) -> None:
    figure = draw_series(Results(small, tmp_path_factory.mktemp("run")), ["O3", "NO2"])
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert texts.count("WHO 100 (8 h)") == len(figure.axes)
    assert "WHO 25 (24 h)" in texts
    assert "EU alert 240 (1 h)" not in texts


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of colours in sRGB, D65."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    matrix = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    white = np.array([0.95047, 1.0, 1.08883])
    x, y, z = np.moveaxis(np.cbrt(linear @ matrix.T / white), -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def test_the_table_of_ozone_is_ordered_in_lightness_and_even() -> None:
    """Lightness falls from low to high, so the order is seen in grey and by colour-blind readers."""
    assert set(OWN) == {"haze"}
    table = lab(colours("O3")(np.linspace(0.0, 1.0, 17))[:, :3])
    assert (np.diff(table[:, 0]) < 0.2).all()
    assert table[0, 0] - table[-1, 0] > 60.0
    steps = np.linalg.norm(np.diff(table, axis=0), axis=1)
    assert steps.max() < 1.3 * steps.min()
    low, high = table[0], table[-4]
    assert low[2] < 0.0  # bluish
    assert high[1] > 40.0  # red


def test_a_scale_starts_where_the_data_start() -> None:
    values = np.linspace(47.0, 94.0, 1000)
    assert scale_of(values).low == 40.0
    assert scale_of(np.append(values, [0.0] * 10)).low == 40.0
    assert scale_of(values - 45.0).low == 0.0


def test_units_are_printed_with_raised_powers() -> None:
    assert [written(unit) for unit in ("kg ha-1", "m s-1", "m-2", "mm", "W m-2 K-1", "1")] == [
        "kg ha⁻¹", "m s⁻¹", "m⁻²", "mm", "W m⁻² K⁻¹", "1",
    ]  # fmt: skip


def test_names_of_cities_are_english() -> None:
    names = {city.name for city in cities(Area(0.0, 12.0, 45.0, 55.0))}
    assert {"Cologne", "Ghent", "Hanover", "Zurich", "Frankfurt", "Milan"} <= names
    assert names.isdisjoint({"Köln", "Gent", "Hannover", "Zürich", "Frankfurt am Main"})
