"""Pictures of boxes, of one box and of many, with and without air."""

import numpy as np
import xarray as xr
from matplotlib.colors import to_hex

from airshed.plot.box import MOST_PANELS, draw_box
from airshed.plot.style import NIGHT, look

DAY = 3600.0 * np.arange(25.0)


def series(cells: int | None = None, *, air: bool = True, times: np.ndarray = DAY) -> xr.Dataset:
    dimensions = ("time",) if cells is None else ("time", "cell")
    shape = (len(times),) if cells is None else (len(times), cells)
    values = np.broadcast_to(1e11 * (1.0 + 0.5 * np.sin(times / 20000.0)).reshape(-1, *[1] * (len(shape) - 1)), shape)
    light = ((times >= 21600.0) & (times < 64800.0)).astype(float)
    data = {"O3": (dimensions, values), "OH": (dimensions, 1e-6 * values), "daylight": ("time", light)}
    if air:
        data["M"] = (dimensions, np.full(shape, 2.5e19))
    return xr.Dataset(data, {"time": times}, {"title": "A day", "mechanism": "emep"})


def texts(figure) -> list[str]:  # type: ignore[no-untyped-def]
    return [text.get_text() for text in figure.texts]


def test_one_box() -> None:
    with look():
        figure = draw_box(series(), ["O3", "OH"])
    first, second = figure.axes
    assert (first.get_title("left"), first.get_title("right")) == ("O₃", "ppb")
    assert second.get_title("right") == "10⁻³ ppt"
    assert np.allclose(first.lines[0].get_ydata()[0], 4.0)
    assert first.get_xlim() == (0.0, 24.0)
    assert [tick.get_text() for tick in first.get_xticklabels()][:3] == ["0", "3", "6"]
    assert to_hex(first.collections[0].get_facecolor()[0]) == NIGHT
    assert texts(figure)[:2] == ["A day", "hours since local midnight of the first day, nights shaded"]


def test_many_boxes_have_bands() -> None:
    with look():
        one, many = draw_box(series(), ["O3"]), draw_box(series(7), ["O3"])
    assert len(many.axes[0].collections) == len(one.axes[0].collections) + 2
    assert texts(many)[1].endswith("median, 10 to 90 % and range of 7 cells")


def test_without_air_and_other_times() -> None:
    with look():
        figure = draw_box(series(air=False, times=np.linspace(0.0, 1e11, 5)), ["O3"])
        short = draw_box(series(times=np.linspace(0.0, 100.0, 5)), ["O3"])
    assert figure.axes[0].get_title("right") == "10¹¹ molecules/cm³"
    assert texts(figure)[1].startswith("days")
    assert texts(short)[1] == "seconds since local midnight of the first day"


def test_no_more_panels_than_fit() -> None:
    with look():
        assert len(draw_box(series(), ["O3"] * 40).axes) == MOST_PANELS
