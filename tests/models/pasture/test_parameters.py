"""Parameters of cells from classes of soil and pasture: amounts by layer, roots, weights of runoff."""

from math import exp, pi

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.models.pasture.classes import Land, Trees, cell_parameters, published, read_class, runoff_weights
from airshed.models.pasture.fields import PARAMETERS

SOILS = [read_class("soil", {"set": name}) for name in published("soil")]
PASTURES = [read_class("pasture", {"set": name}) for name in published("pasture")]
REGRESSION, SITE67 = (cell_parameters(Land([SOILS[n]], [PASTURES[n]]), 0, 0) for n in (0, 1))


def test_every_parameter_has_a_value_for_any_classes() -> None:
    found = cell_parameters(Land(SOILS, PASTURES, [Trees()]), [0, 1, 2, 3], [3, 2, 1, 0], stocking=[0.1, 0, 0, 0])
    assert set(found) == {spec.name for spec in PARAMETERS}
    assert all(np.isfinite(value).all() for value in found.values())
    assert found["thickness_4"].tolist() == [500.0, 50.0, 0.0, 0.0]
    assert found["nitrogen_reset"].tolist() == [244.0, 273.0, 258.0, 273.0]


def test_contents_become_amounts() -> None:
    assert [float(SITE67[f"drained_upper_limit_{n}"]) for n in (1, 2, 3, 4)] == pytest.approx([30.1, 60.4, 50.5, 3.05])
    assert float(SITE67["root_limit_2"]) == pytest.approx(20.0)


def test_layers_without_a_limit_of_the_pasture_have_that_of_the_soil() -> None:
    shallow = read_class("pasture", {"set": "site67", "root_limit": [0.07, 0.06]})
    found = cell_parameters(Land([SOILS[1]], [shallow]), 0, 0)
    assert [float(found[f"root_limit_{n}"]) for n in (1, 2, 3, 4)] == pytest.approx([7.0, 24.0, 30.0, 3.0])


def test_roots_end_in_the_third_layer() -> None:
    assert float(REGRESSION["root_uptake_3"]) == pytest.approx(0.5 * 250.0 / 500.0)
    assert float(SITE67["root_uptake_3"]) == pytest.approx(1.0 * 450.0 / 500.0)
    assert [float(SITE67[f"root_angle_{n}"]) for n in (1, 2, 3)] == [pi / 2, pi / 2, pi / 4]
    assert float(REGRESSION["tree_uptake_4"]) == pytest.approx(0.0 + 0.5 * 0.0 + 0.5 * (1250.0 - 1000.0) / 500.0)


def test_runoff_depends_on_the_layers_down_to_its_depth() -> None:
    weights = runoff_weights(np.array([100.0, 400.0, 500.0, 0.0]), np.array(450.0))
    assert weights[0] == pytest.approx((1.0 - exp(-4.16 * 100.0 / 450.0)) / (1.0 - exp(-4.16)))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[2:].tolist() == [0.0, 0.0]
    shallow = runoff_weights(np.array([100.0, 100.0, 0.0, 0.0]), np.array(450.0))
    assert shallow[0] == pytest.approx((1.0 - exp(-2.08)) / (1.0 - exp(-4.16)))


def test_soil_loss_equals_hand_calculation() -> None:
    soil = read_class("soil", {"set": "roselea", "slope": 0.05, "slope_length": 44.2, "erodibility": 0.4})
    found = cell_parameters(Land([soil], PASTURES), 0, 0)
    power = 0.6 * (1.0 - exp(-35.835 * 0.05))
    assert float(found["erosion_factor"]) == pytest.approx(2.0**power * (65.41 * 0.0025 + 0.228 + 0.065) * 0.4)


WRONG = [
    ({"set": "site76"}, "there is no published soil 'site76'; did you mean site67"),
    ({"set": "site67", "curve_numbr": 80}, "curve_number"),
    (
        {"set": "site67", "saturation": [0.1, 0.1, 0.1, 0.1]},
        "layer 1: air_dry, lower_limit.*must increase in this order",
    ),
    ({"set": "site67", "thickness": [100.0, 100.0]}, "air_dry must have 2 values, one for each layer of thickness"),
    ({"set": "site67", "thickness": []}, "thickness"),
    ({"set": "site67", "thickness": [100.0, 0.0, 500.0, 50.0]}, "thickness.*more than 0"),
    ({"thickness": [100.0]}, "air_dry"),
]


@pytest.mark.parametrize(("values", "message"), WRONG, ids=[message[:20] for _, message in WRONG])
def test_a_wrong_soil_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(CaseError, match=f"(?s){message}"):
        read_class("soil", values)
