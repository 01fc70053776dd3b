"""Heights of the model layers."""

from itertools import pairwise

from airshed.core.errors import CaseError

DEFAULT_LAYER_TOPS = (
    20.0, 50.0, 100.0, 170.0, 260.0, 370.0, 510.0, 690.0, 920.0, 1210.0,
    1580.0, 2050.0, 2640.0, 3390.0, 4330.0, 5500.0, 6950.0, 8750.0,
)  # fmt: skip

MOST_LAYERS = 500
"""Layers of a grid: three times those of weather models. The column solve is compiled for their number."""

LEAST_THICKNESS = 0.01
"""Thickness of a layer [m], thinner than any in which air mixes."""


def default_layers() -> tuple[float, ...]:
    """Return the heights of the tops of the default layers [m above ground]: 18 layers from 20 m to 8.75 km.

    The thickness grows by a factor of at most 1.67, and of about 1.25 from the third layer on: a face then lies close
    enough to the middle between two layer centres for the second-order vertical differences. Ten layers are below
    1.3 km, where the daytime boundary layer of a mid-latitude summer has its profiles.
    """
    return DEFAULT_LAYER_TOPS


def check_layer_tops(tops: tuple[float, ...]) -> None:
    """Raise CaseError unless the layer tops [m] rise from above the ground, in layers that can be computed with."""
    if not tops:
        raise CaseError("the grid has no layers; give the heights of the layer tops, such as layers = ['20 m', '50 m']")
    if len(tops) > MOST_LAYERS:
        raise CaseError(f"the grid has {len(tops)} layers; give {MOST_LAYERS} or fewer")
    heights = (0.0, *tops)
    for index, (bottom, top) in enumerate(pairwise(heights)):
        if not bottom < top < 100e3:
            raise CaseError(
                f"layer {index + 1} of the grid reaches from {bottom:g} m to {top:g} m; "
                "give tops above ground that rise from layer to layer, below 100 km"
            )
        if top - bottom < LEAST_THICKNESS:
            thin = f"layer {index + 1} of the grid is {top - bottom:.3g} m thick"
            raise CaseError(f"{thin}; give layers of {LEAST_THICKNESS:g} m or more")
