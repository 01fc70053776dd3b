"""Negative controls: the checks of transport on the sphere fail when the checked code is broken."""

import shutil

import numpy as np
import pytest

from airshed.grid import Grid
from airshed.kernels import cpp as template
from airshed.kernels.backends.cpu.stepper import Stepper
from airshed.models.air.programs import air_check
from airshed.program.weights import two_step_weights
from airshed.verify.transport import driven, plane, sphere

pytestmark = [pytest.mark.thorough, pytest.mark.compiles]

LIMITED = "    return maximum(low, pack{}) + minimum(high, pack{});"
UNLIMITED = "    return (void)high, (void)low, smooth;"
UPWIND = "    return (void)high, (void)low, smooth - smooth;"
SHIFTED = "x = face(f.east[z], ", "x = face(f.west[z], "
ERRORS = {"l1 of hills", "l1 of bells", "l1 of cylinders"}


def missed(figures):
    return {figure.what for figure in figures if not figure.ok}


@pytest.fixture
def kernel_text(monkeypatch, tmp_path):
    """Return a function that changes the source of the compiled transport for a test."""

    def change(old, new):
        folder = tmp_path / "cpu"
        shutil.copytree(template._FOLDER, folder)
        text = (folder / "transport" / "transport.hpp").read_text()
        assert text.count(old) == 1
        (folder / "transport" / "transport.hpp").write_text(text.replace(old, new))
        monkeypatch.setattr(template, "_FOLDER", folder)

    return change


@pytest.fixture
def unchecked_air(monkeypatch):
    """Allow mixing ratios above 1: tracers of 1 mol/mol overshoot here."""
    monkeypatch.setattr(air_check, "MOST", np.inf)


@pytest.mark.usefixtures("unchecked_air")
def test_a_scheme_without_limiter_is_seen(kernel_text):
    kernel_text(LIMITED, UNLIMITED)
    found = missed(sphere.check_deformation())
    assert {"largest new extreme", "clipped at zero, share of mass", "overshooting"} <= found
    assert not found & ERRORS  # without a limiter errors of smooth shapes are smaller, not larger
    assert {"0.4: smooth data clipped", "0.5: greatest value over the first"} <= missed(driven.check_courant())


def test_an_upwind_scheme_is_seen(kernel_text):
    kernel_text(LIMITED, UPWIND)
    assert missed(sphere.check_deformation()) == ERRORS | {"real mixing"}


def test_a_flat_metric_is_seen(monkeypatch):
    """Cells have the size of those at the equator: air and mass are conserved, but shapes arrive elsewhere.

    A flow that returns would bring them back even so, hence the rotations.
    """

    def flat(grid):
        sides = np.radians([grid.x_faces[1] - grid.x_faces[0], grid.y_faces[1] - grid.y_faces[0]])
        return np.full((grid.y.size, 1), plane.EARTH_RADIUS**2 * sides.prod())

    monkeypatch.setattr(Grid, "cell_area", property(flat))
    assert missed(sphere.check_turn()) >= ERRORS


def test_winds_shifted_by_a_cell_are_seen(monkeypatch):
    right = plane.corner_winds
    monkeypatch.setattr(sphere, "corner_winds", lambda psi, grid: right(np.roll(psi, 1, axis=1), grid))
    assert {"l1 of hills", "l1 of bells"} <= missed(sphere.check_path())


@pytest.mark.usefixtures("unchecked_air")
def test_fluxes_of_tracers_shifted_by_a_cell_are_seen(kernel_text):
    """The eastward flux is that of the neighbour, for tracers but not for air."""
    kernel_text(*SHIFTED)
    found = missed(sphere.check_path())
    assert {"uniform tracer, greatest deviation", "largest new extreme"} <= found


def test_a_leak_is_seen(monkeypatch):
    step = Stepper.advance

    def leaking(self, *arguments):
        sums = step(self, *arguments)
        self.state.q *= 1.0 - 1e-12
        return sums

    monkeypatch.setattr(Stepper, "advance", leaking)
    assert missed(sphere.check_path()) >= {
        "change of mass, including boundary fluxes",
        "uniform tracer, greatest deviation",
        "largest new extreme",
    }


def test_a_start_without_the_euler_step_is_seen(monkeypatch):
    """The first step extrapolates a missing tendency: rough data become negative at any step."""
    monkeypatch.setattr(
        driven, "two_step_weights", lambda length, previous: two_step_weights(length, previous or length)
    )
    assert any("clipped" in what for what in missed(driven.check_courant()))


def test_background_that_does_not_flow_in_is_seen(monkeypatch):
    monkeypatch.setattr(sphere, "BACKGROUND", {**sphere.BACKGROUND, "BELLS": 0.0})
    assert "l1 of bells" in missed(sphere.check_path())
