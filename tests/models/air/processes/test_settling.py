"""Speeds of fall against published ones, the law of drag against its root, and the flux through layers."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from airshed.models.air.processes import settling

ROOM = (np.asarray(293.15), np.asarray(101325.0))
MICRON = 1e-6
diameters = st.floats(-9.0, -2.6).map(lambda power: 10.0**power)
densities = st.floats(200.0, 3000.0)


def speed(diameter: float, density: float = 1000.0, temperature: float = 293.15, pressure: float = 101325.0) -> float:
    air = np.asarray(temperature), np.asarray(pressure)
    return float(settling.settling_velocity(np.asarray(diameter), np.asarray(density), *air))


@pytest.mark.parametrize(("microns", "published"), [(0.1, 8.65e-7), (1.0, 3.48e-5), (10.0, 3.06e-3), (100.0, 0.249)])
def test_spheres_of_water_at_20_degrees(microns: float, published: float) -> None:
    """Hinds 1999, Aerosol Technology, table A11: spheres of 1000 kg/m3 at 1013 hPa."""
    assert speed(microns * MICRON) == pytest.approx(published, rel=0.012)


def test_a_millimetre_drop_of_rain() -> None:
    """Gunn & Kinzer 1949, J. Meteorol. 6, 243: 4.03 m/s; a sphere's drag is within a few per cent of the drop's."""
    assert speed(1e-3) == pytest.approx(4.03, rel=0.06)
    stokes = settling.stokes_velocity(np.asarray(1e-3), np.asarray(1000.0), *ROOM)
    assert stokes > 7.0 * 4.03, "without the correction it would fall far too fast"


@pytest.mark.parametrize(
    ("microns", "published"), [(0.001, 216.0), (0.01, 22.2), (0.1, 2.85), (1.0, 1.164), (10.0, 1.016)]
)
def test_published_slip_corrections(microns: float, published: float) -> None:
    """Seinfeld & Pandis 2006, table 9.3, at 298 K and 1 atm with a mean free path of 0.0651 um."""
    found = settling.slip_correction(np.asarray(microns * MICRON), np.asarray(0.0651 * MICRON))
    assert found == pytest.approx(published, rel=5e-3)


def test_published_viscosity_and_mean_free_path() -> None:
    """U.S. Standard Atmosphere 1976, table III: 1.7894e-5 at 288.15 K, 1.4216e-5 at 216.65 K; path: see below."""
    assert settling.viscosity(np.asarray(288.15)) == pytest.approx(1.7894e-5, rel=1e-4)
    assert settling.viscosity(np.asarray(216.65)) == pytest.approx(1.4216e-5, rel=1e-4)
    path = settling.mean_free_path(np.asarray(298.0), np.asarray(101325.0))
    assert path == pytest.approx(0.0651 * MICRON, rel=0.025), "there with a viscosity of 1.8e-5"


def test_stokes_by_hand() -> None:
    """Dust of 2650 kg/m3 and 5 um: (2650 - 1.204) 9.80665 25e-12 1.0334 / (18 1.8134e-5) = 2.056e-3 m/s."""
    assert settling.stokes_velocity(np.asarray(5e-6), np.asarray(2650.0), *ROOM) == pytest.approx(2.056e-3, rel=1e-3)


@given(diameters, densities, st.floats(200.0, 320.0), st.floats(5e3, 105e3))
def test_the_drag_law_holds_at_the_speed_found(
    diameter: float, density: float, temperature: float, pressure: float
) -> None:
    air = np.asarray(temperature), np.asarray(pressure)
    stokes = settling.stokes_velocity(np.asarray(diameter), np.asarray(density), *air)
    reynolds = settling.reynolds_number(stokes, np.asarray(diameter), *air)
    root = brentq(lambda x: x * (1.0 + 0.15 * (x * float(reynolds)) ** 0.687) - 1.0, 0.0, 1.0, xtol=1e-15)
    if root * reynolds <= settling.LARGEST_REYNOLDS:
        assert speed(diameter, density, temperature, pressure) == pytest.approx(root * float(stokes), rel=1e-6)


@given(diameters, densities, st.floats(1.01, 3.0))
def test_larger_and_denser_particles_fall_faster(diameter: float, density: float, more: float) -> None:
    assert speed(diameter * more, density) > speed(diameter, density)
    assert speed(diameter, density * more) > speed(diameter, density)


def test_small_particles_fall_faster_in_thin_air_and_large_ones_in_any() -> None:
    assert speed(0.1 * MICRON, pressure=20e3) > 3.0 * speed(0.1 * MICRON)
    assert speed(20.0 * MICRON, pressure=20e3) == pytest.approx(speed(20.0 * MICRON), rel=0.05)


def test_what_is_lighter_than_air_does_not_rise() -> None:
    assert speed(1e-5, density=0.5) == 0.0
    assert np.isfinite(speed(1e-5, density=0.5))


def test_the_flux_conserves_and_leaves_through_the_ground() -> None:
    """Solve the module's upwind equation implicitly: the column loses the amount that leaves the lowest layer."""
    thickness = np.array([20.0, 80.0, 400.0])
    air = 40.0 * 1e8 * thickness
    sinking = settling.sinking_air(np.full(3, 0.01), air, thickness)
    assert sinking == pytest.approx(0.01 * 40.0 * 1e8), "v n a"
    q, step = np.array([1e-9, 2e-9, 5e-9]), 600.0
    above = np.append(sinking[1:], 0.0)
    matrix = np.diag(air / step + sinking) - np.diag(above[:-1], 1)
    after = np.linalg.solve(matrix, air / step * q)
    assert (air * (q - after)).sum() == pytest.approx(step * sinking[0] * after[0], rel=1e-12)
    assert settling.outflow_rate(np.asarray(0.01), np.asarray(20.0)) == pytest.approx(5e-4)


def test_particles_broadcast_in_front_of_levels() -> None:
    size, mass = np.array([1e-6, 1e-5]).reshape(2, 1, 1, 1), np.array([1000.0, 2650.0]).reshape(2, 1, 1, 1)
    temperature, pressure = np.full((3, 4, 5), 280.0), np.full((3, 4, 5), 9e4)
    found = settling.settling_velocity(size, mass, temperature, pressure)
    assert found.shape == (2, 3, 4, 5)
    assert found[1, 0, 0, 0] == speed(1e-5, 2650.0, 280.0, 9e4)


def test_the_table_of_the_document_is_true() -> None:
    text = (Path(__file__).parents[4] / "docs" / "reference" / "processes.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| v [m/s]"))
    told = [float(value) for value in row.strip("| ").split("|")[1:]]
    for value, diameter in zip(told, (1e-7, 1e-6, 1e-5, 1e-4, 1e-3), strict=True):
        assert speed(diameter) == pytest.approx(value, rel=0.02)
