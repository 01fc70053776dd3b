"""The overview of an adjoint: zoom to the signal, one unit, sectors in words."""

import numpy as np
import pytest
import xarray as xr

from airshed.inverse.receptors.dataset import INVENTORY
from airshed.plot.sensitivity import draw_overview, signal_window
from airshed.plot.style import look


@pytest.fixture
def found() -> xr.Dataset:
    """A result on 40 x 40 cells whose contributions lie in a few cells around the receptor."""
    lat, lon = np.arange(45.125, 55.0, 0.25), np.arange(0.125, 10.0, 0.25)
    emission_contribution = np.zeros((2, lat.size, lon.size))
    emission_contribution[0, 22:26, 26:30] = -4e-11
    emission_contribution[1, 22:26, 27:33] = 2e-11
    emission_contribution[1, 0, 0] = 1e-16
    return xr.Dataset(
        {
            "value": ((), 50e-9, {"units": "mol mol-1"}),
            "emission_contribution": (("species", "lat", "lon"), emission_contribution),
            "contribution": ("source", [-6e-10, 5e-10, 1e-15]),
            "source_country": ("source", ["DE", "DE", "FR"]),
            "source_sector": ("source", ["F_RoadTransport", "E_Solvents", "K_AgriLivestock"]),
            "source_species": ("source", ["NOx", "NMVOC", "NMVOC"]),
        },
        {"lat": lat, "lon": lon, "species": ["NO2", "CO"], "source": [INVENTORY] * 3},
        {
            "start": "2022-08-31T00:00:00", "receptor_time": (0.0, 3600.0), "receptor_lon": 6.96, "receptor_lat": 50.94,
            "receptor_title": "O3 in Cologne", "title": "t", "case_title": "A case",
        },
    )  # fmt: skip


def test_the_window_holds_the_signal_and_the_receptor(found: xr.Dataset) -> None:
    rows, columns = signal_window(found, np.abs(found["emission_contribution"].values).sum(axis=0))
    assert (rows.start, rows.stop) == (20, 28)
    assert (columns.start, columns.stop) == (25, 34)
    nothing = signal_window(found, np.zeros((40, 40)))
    assert all(part.stop - part.start == 8 for part in nothing)
    assert nothing[0].start <= 23 < nothing[0].stop


def test_maps_and_bars_have_one_unit_and_names_in_words(found: xr.Dataset) -> None:
    with look():
        figure = draw_overview(found)
    texts = [text.get_text() for text in figure.texts]
    assert "Sources of O₃ in Cologne" in texts
    assert "ppb (square-root scale)" in texts
    titles = [axes.get_title(where) for axes in figure.axes for where in ("left", "right")]
    assert "Change by a 10 % cut, by sector [ppb]" in titles
    assert not any("ppt" in text for text in [*texts, *titles])
    labels = [label for axes in figure.axes for label in axes.get_yticklabels()]
    assert {"Road transport", "Solvents", "others"} <= {label.get_text() for label in labels}
    assert all(label.get_window_extent().x0 >= 0.0 for label in labels)
    left, right = figure.axes[0].get_xlim()
    assert right - left < 3.0  # of ten degrees


def test_small_contributions_are_in_ppt(found: xr.Dataset) -> None:
    small = found.assign(
        emission_contribution=found["emission_contribution"] * 1e-4, contribution=found["contribution"] * 1e-4
    )
    with look():
        texts = [text.get_text() for text in draw_overview(small).texts]
    assert "ppt (square-root scale)" in texts
