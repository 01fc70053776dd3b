"""Texts of users are drawn as they are: dollar signs, carets and backslashes are no mathematics, in any picture."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from airshed.plot.box import draw_box
from airshed.plot.cells import MapCells
from airshed.plot.maps import draw_maps, map_scale
from airshed.plot.results import Results
from airshed.plot.state import Words, draw_state
from airshed.plot.style import look, plain_log_ticks

TITLES = ("cost $5 and $6", "rise of $5^ to $6", r"$\frac{$ of NOx", "$$", r"\$ a_1^2 $x$")
CELLS = MapCells.around(np.arange(5.0), np.arange(5.0))


def texts(figure: Figure) -> list[Text]:
    return figure.findobj(Text)


@pytest.mark.parametrize("title", TITLES)
def test_a_picture_of_the_server_has_any_title(title: str) -> None:
    values = np.linspace(1e-9, 2e-9, 25).reshape(5, 5)
    assert draw_state(CELLS, values, Words("O3", "mol mol-1", title, title)).startswith(b"\x89PNG")


def test_every_text_is_plain() -> None:
    with look():
        figure = Figure()
        axes = figure.subplots()
        axes.set(title=TITLES[2], xlabel=TITLES[1])
        axes.legend(handles=axes.plot([0.0, 1.0], [1.0, 2.0], label=TITLES[0]))
        FigureCanvasAgg(figure).draw()
        assert not any(text.get_parse_math() for text in texts(figure))


def test_without_the_style_such_a_title_is_an_error() -> None:
    """The negative control."""
    figure = Figure()
    figure.suptitle(TITLES[2])
    with pytest.raises(ValueError, match="frac"):
        FigureCanvasAgg(figure).draw()


def box(title: str) -> Figure:
    times = np.arange(0.0, 7200.0, 600.0)
    series = xr.Dataset(
        {"O3": ("time", np.linspace(1e-9, 2e-9, times.size), {"units": "mol mol-1", "long_name": title})},
        {"time": times}, {"title": title, "mechanism": title},
    )  # fmt: skip
    return draw_box(series, ["O3"])


@pytest.mark.parametrize("title", TITLES)
def test_a_box_has_any_title(title: str) -> None:
    with look():
        figure = box(title)
        FigureCanvasAgg(figure).draw()
    assert any(title in text.get_text() for text in texts(figure))


def test_a_run_has_any_title(small: xr.Dataset, tmp_path: Path) -> None:
    results = Results(small.assign_attrs(title=TITLES[2]), tmp_path)
    with look():
        figure = draw_maps(results, "O3", [0], map_scale(results, "O3", [0]))
        FigureCanvasAgg(figure).draw()


def test_logarithmic_axes_have_plain_labels() -> None:
    with look():
        figure = Figure()
        axes = figure.subplots()
        axes.plot([1.0, 1e4], [1e-6, 1.0])
        axes.set(xscale="log", yscale="log")
        plain_log_ticks(axes.yaxis)
        plain_log_ticks(axes.xaxis)
        FigureCanvasAgg(figure).draw()
        assert not any("$" in text.get_text() for text in texts(figure))
