"""The default scales of fields: complete, and readable by colour-blind readers."""

import matplotlib
import numpy as np
import pytest

from airshed.plot.scales import COLOUR_TABLES, DOCUMENT, FIELD_SCALES, LIMIT_VALUES
from airshed.plot.style import SIGNED, table, table_of

SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
"""Simulated sight in linear RGB: Machado, Oliveira and Fernandes 2009, table 1, severity 1."""

SEQUENTIAL = [name for name, each in COLOUR_TABLES.items() if not each.diverging]
DIVERGING = [name for name, each in COLOUR_TABLES.items() if each.diverging]


def lightness(rgb: np.ndarray, sight: str) -> np.ndarray:
    """Return the CIELAB lightness of colours in sRGB as a reader sees them."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = np.clip(linear @ SIGHT[sight].T, 0.0, 1.0) @ np.array([0.2126729, 0.7151522, 0.0721750])
    return np.where(luminance > 0.008856, 116.0 * np.cbrt(luminance) - 16.0, 903.3 * luminance)


def is_ordered(rgb: np.ndarray, sight: str) -> bool:
    """Return whether lightness only rises or only falls, from end to end by at least 40."""
    seen = lightness(rgb, sight)
    rise = np.diff(seen) * np.sign(seen[-1] - seen[0])
    return bool((rise > -0.05).all() and abs(seen[-1] - seen[0]) > 40.0)


def colours_of(name: str, count: int = 65) -> np.ndarray:
    return table(name, count)(np.linspace(0.0, 1.0, count))[:, :3]


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("name", SEQUENTIAL)
def test_lightness_orders_the_values_for_each_reader(name: str, sight: str) -> None:
    assert is_ordered(colours_of(name), sight)


@pytest.mark.parametrize("name", ["turbo", "jet"])
def test_a_rainbow_does_not_pass(name: str) -> None:
    """Negative control: lightness of rainbows rises and falls."""
    rainbow = matplotlib.colormaps[name](np.linspace(0.0, 1.0, 65))[:, :3]
    assert not any(is_ordered(rainbow, sight) for sight in SIGHT)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("name", DIVERGING)
def test_lightness_orders_the_size_of_differences_on_both_sides(name: str, sight: str) -> None:
    seen = lightness(colours_of(name), sight)
    away = np.sign(seen[32] - seen[0])  # whether the middle is the lightest or the darkest colour
    left, right = seen[:33], seen[32:][::-1]
    for side in (left, right):
        assert (away * np.diff(side) > -0.9).all()
        assert away * (side[-1] - side[0]) > 20.0


def test_differences_are_neutral_in_the_middle_of_both_themes() -> None:
    for theme, sides in (("light", (85.0, 100.0)), ("dark", (0.0, 20.0))):
        middle = colours_of(DOCUMENT["defaults"][theme])[32]
        assert sides[0] < lightness(middle[None], "normal")[0] < sides[1]
        assert np.ptp(middle) < 0.1


def test_each_field_has_a_scale_that_can_be_drawn() -> None:
    for name, each in FIELD_SCALES.items():
        low, high = each.range
        assert low < high, name
        assert not each.log or low > 0.0, name
        assert table_of(name) in COLOUR_TABLES, name
        assert each.table == SIGNED or each.table in COLOUR_TABLES, name
    assert FIELD_SCALES["eastward_wind"].range == (-20.0, 20.0)


def test_each_limit_names_its_mean_and_its_source() -> None:
    for name, limits in LIMIT_VALUES.items():
        assert FIELD_SCALES[name].unit == "µg/m³"
        assert [each.value for each in limits] == sorted(each.value for each in limits), name
        for each in limits:
            assert each.mean in {"1 h", "3 h", "8 h", "24 h", "year"}
            assert each.source.startswith(("WHO", "Directive"))
    assert str([each.label for each in LIMIT_VALUES["O3"]]) == (
        "['WHO 100 (8 h)', 'EU 120 (8 h)', 'EU information 180 (1 h)', 'EU alert 240 (1 h)']"
    )
