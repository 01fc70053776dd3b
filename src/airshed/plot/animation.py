"""An animated map of a field at the ground: a GIF whose colours stay the same in all frames."""

from collections.abc import Iterator
from io import BytesIO
from math import sqrt

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray
from PIL import Image

from airshed.core.arrays import Array
from airshed.io.folder import SOFTWARE
from airshed.plot import units
from airshed.plot.geography import MAP_CREDIT
from airshed.plot.limits import Scale
from airshed.plot.maps import map_panels
from airshed.plot.page import Panels, colour_bar, footer, headline, in_unit, norm_of
from airshed.plot.panel import MapPanel, shape_of
from airshed.plot.results import Results, place_in_words
from airshed.plot.style import COAST, NO_VALUE, colours, text_at
from airshed.plot.units import daily

Pixels = NDArray[np.uint8]
Place = tuple[slice, slice]

LARGEST = 3_000_000
"""Size that a file keeps below [bytes]."""

_MOST_FRAMES = 96
_SHADES = 128
_DPI = 90.0
_SECONDS = 0.22
_WHITE = np.full(3, 255, dtype=np.uint8)


def draw_animation(results: Results, field: str) -> bytes:
    """Return a GIF of a field at the ground at all times, or at evenly spread ones when they are very many.

    The scale holds for all frames. A picture that would be larger than `LARGEST` is drawn with fewer pixels.
    """
    times = range(0, results.times.size, -(-results.times.size // _MOST_FRAMES))
    scale = results.scale(results.ground(field)[list(times)])
    dpi = _DPI
    while True:
        film = _encode(list(_Film(results, field, scale, dpi).frames(times)))
        if len(film) <= LARGEST or dpi < 30:
            return film
        dpi *= 0.95 * sqrt(LARGEST / len(film))


class _Film:
    """Frames of a map: coasts and names are drawn once, cells and clock in each frame."""

    def __init__(self, results: Results, field: str, scale: Scale, dpi: float) -> None:
        self._results, self._field, self._scale = results, field, scale
        self._shades = _shades(results.palette(field))
        self._palette = _palette(self._shades)
        panels = map_panels(1, shape_of(results.area), 7.6, 8.8)
        self._figure = panels.figure(dpi)
        self._clock = self._draw_still(panels)
        self._rows, self._columns, self._map = self._cells_of_pixels()

    def frames(self, times: range) -> Iterator[Image.Image]:
        """Yield the frames, all with the same palette of 256 colours."""
        canvas = self._figure.canvas
        still = canvas.copy_from_bbox(self._figure.bbox)  # type: ignore[attr-defined]
        picture = self._nearest(_over(_pixels(self._figure), _WHITE))
        on_map = _pixels(self._figure)[self._map].copy()
        drawn = on_map[:, :, 3] > 0
        head = slice(0, self._map[0].start)
        for time in times:
            cells = self._shade(self._results.ground(self._field)[time])[self._rows][:, self._columns]
            cells[drawn] = self._nearest(_over(on_map[drawn][None], self._shades[cells[drawn]]))[0]
            picture[self._map] = cells
            canvas.restore_region(still)  # type: ignore[attr-defined]
            self._clock.set_text(_moment(self._results, time))
            self._figure.draw_artist(self._clock)
            picture[head] = self._nearest(_over(_pixels(self._figure)[head], _WHITE))
            frame = Image.fromarray(picture.copy())  # it would share the memory
            frame.putpalette(self._palette.tobytes())
            yield frame

    def _nearest(self, colour: Pixels) -> Pixels:
        """Return the places in the palette of the colours nearest to those of pixels."""
        palette = Image.new("P", (1, 1))
        palette.putpalette(self._palette.tobytes())
        return np.array(Image.fromarray(colour).quantize(palette=palette, dither=Image.Dither.NONE))

    def _draw_still(self, panels: Panels) -> Text:
        """Draw all but cells and clock on a transparent ground; return the clock."""
        figure, field = self._figure, self._field
        (axes,) = panels.axes(figure)
        MapPanel(axes, self._results.cells, self._results.palette(field), self._scale).mesh.remove()
        quantity = self._results.quantity(field)
        subtitle = place_in_words(self._results, field) + in_unit(quantity.unit)
        headline(figure, panels.start, quantity.title, subtitle)
        colour_bar(figure, self._results.palette(field), self._scale, quantity.unit, panels)
        footer(figure, panels.start + panels.across, MAP_CREDIT, self._results.case)
        up = figure.get_size_inches()[1]
        right = panels.start + panels.across
        clock: Text = text_at(figure, right, up - 0.60, "", "subtitle", ha="right", weight="bold", animated=True)
        figure.patch.set_alpha(0)
        axes.patch.set_alpha(0)
        figure.canvas.draw()
        return clock

    def _size(self) -> tuple[int, int]:
        width, height = self._figure.canvas.get_width_height()
        return height, width

    def _cells_of_pixels(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Place]:
        """Return the row and column of cells that each pixel row and column of the map shows, and where the map is."""
        box = self._figure.axes[0].get_window_extent()
        height = self._size()[0]
        x0, x1 = round(box.x0), round(box.x1)
        top, bottom = height - round(box.y1), height - round(box.y0)
        x = np.interp(np.arange(x0, x1) + 0.5, (box.x0, box.x1), self._results.cells.x_edges[[0, -1]])
        y = np.interp(height - np.arange(top, bottom) - 0.5, (box.y0, box.y1), self._results.cells.y_edges[[0, -1]])
        columns = np.searchsorted(self._results.cells.x_edges[1:-1], x)
        rows = np.searchsorted(self._results.cells.y_edges[1:-1], y)
        return rows, columns, (slice(top, bottom), slice(x0, x1))

    def _shade(self, values: Array) -> Pixels:
        """Return the place in the palette of each cell's shade; the last one is for cells without a value."""
        part = np.ma.filled(norm_of(self._scale)(np.ma.masked_invalid(values)).astype(np.float64), np.nan)
        number = np.clip(np.nan_to_num(part) * _SHADES, 0, _SHADES - 1)
        return np.where(np.isfinite(part), number, _SHADES).astype(np.uint8)


def _moment(results: Results, time: int) -> str:
    moment = results.times[time]
    date = units.date(moment)
    return date if daily(results.times) else f"{date}, {units.clock(moment)} UTC"


def _pixels(figure: Figure) -> Pixels:
    return np.asarray(figure.canvas.buffer_rgba())  # type: ignore[attr-defined]


def _over(picture: Pixels, base: Pixels) -> Pixels:
    """Lay a picture, its colours not multiplied by its opacity (so Agg keeps them), over another."""
    alpha = picture[..., 3:].astype(np.uint16)
    mixed = picture[..., :3] * alpha + base * (255 - alpha)
    return ((mixed + 127) // 255).astype(np.uint8)


def _shades(field: str) -> Pixels:
    table = colours(field, _SHADES)(np.arange(_SHADES))[:, :3]
    return np.round(255 * np.vstack([table, to_rgb(NO_VALUE)])).astype(np.uint8)


def _palette(shades: Pixels) -> Pixels:
    """Return 256 colours for all frames: the shades, greys, and the shades mixed with the lines and light edges."""
    greys = np.repeat(np.linspace(0, 255, 31).round().astype(np.uint8)[:, None], 3, axis=1)
    some = shades[np.linspace(0, _SHADES - 1, 24).round().astype(int)].astype(np.float64)
    ink, white = 255 * np.array(to_rgb(COAST)), np.full(3, 255.0)
    mixes = [some + part * (end - some) for end, part in ((ink, 0.35), (ink, 0.65), (white, 0.35), (white, 0.7))]
    return np.vstack([shades, greys, np.vstack(mixes).round().astype(np.uint8)])


def _encode(frames: list[Image.Image]) -> bytes:
    buffer = BytesIO()
    frames[0].save(
        buffer, "GIF", save_all=True, append_images=frames[1:], duration=round(1000 * _SECONDS), loop=0,
        optimize=False, comment=SOFTWARE,
    )  # fmt: skip
    return buffer.getvalue()
