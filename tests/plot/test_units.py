"""Conversion to the units of air quality, against values worked out by hand."""

import numpy as np
import pytest

from airshed.plot.units import COMMON, mass_concentration, mass_unit, mixing_ratio_unit


def test_100_ppb_of_ozone_at_25_degrees_and_one_atmosphere() -> None:
    # 101325 Pa / (8.31446 J/(mol K) 298.15 K) = 40.874 mol/m3;  x 1e-7 x 47.998 g/mol = 196.2 ug/m3
    found = mass_concentration(np.array(100e-9), COMMON["O3"].molar_mass, np.array(101325.0), np.array(298.15))
    assert found * 1e9 == pytest.approx(196.19, abs=0.01)


def test_the_conversion_used_by_european_law_for_nitrogen_dioxide() -> None:
    # Directive 2008/50/EC counts gases at 293 K and 101.3 kPa: 1 ppb NO2 = 1.913 ug/m3
    found = mass_concentration(np.array(1e-9), COMMON["NO2"].molar_mass, np.array(101300.0), np.array(293.0))
    assert found * 1e9 == pytest.approx(1.913, abs=0.001)


def test_cold_dense_air_holds_more_of_a_gas() -> None:
    warm, cold = mass_concentration(np.array(1e-9), 0.05, np.array(1e5), np.array([300.0, 250.0]))
    assert cold / warm == pytest.approx(300 / 250)


@pytest.mark.parametrize(
    ("largest", "label"),
    [
        (0.0, "µg/m³"),
        (196e-9, "µg/m³"),
        (3e-6, "µg/m³"),
        (7e-4, "mg/m³"),
        (0.5, "g/m³"),
        (2e-13, "ng/m³"),
        (1e-15, "pg/m³"),
    ],
)
def test_mass_units(largest: float, label: str) -> None:
    unit = mass_unit(largest)
    assert unit.label == label
    assert largest == 0 or 0.01 < largest * unit.factor < 1e5


@pytest.mark.parametrize(
    ("largest", "label"),
    [(0.0, "ppb"), (4e-8, "ppb"), (1.9e-6, "ppb"), (4e-4, "ppm"), (1.0, "mol/mol"), (1e-13, "ppt")],
)
def test_mixing_ratio_units(largest: float, label: str) -> None:
    assert mixing_ratio_unit(largest).label == label
