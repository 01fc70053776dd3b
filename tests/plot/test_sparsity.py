"""The picture of a Jacobian's pattern."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from airshed.core.errors import OutputError
from airshed.mechanism import load_mechanism
from airshed.plot.sparsity import draw_sparsity, save_sparsity


def test_a_mark_for_each_entry() -> None:
    figure = draw_sparsity(load_mechanism("small_strato"))
    (axes,) = figure.axes
    marks = sum(len(collection.get_offsets()) for collection in axes.collections)
    assert marks == 18
    assert [label.get_text() for label in axes.get_xticklabels()] == ["O1D", "O", "O3", "NO", "NO2"]


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """The picture of a mechanism without reactions is another one: the negative control."""
    pictures = [imread(save_sparsity(load_mechanism(name), tmp_path / f"{name}.png")) for name in ("pollu", "tracer")]
    assert np.ptp(pictures[0]) > 0.5
    assert (pictures[0] != pictures[1]).any()
    with pytest.raises(OutputError):
        save_sparsity(load_mechanism("tracer"), tmp_path / "none" / "a.png")
