"""Layouts of station files, each recognised by its content; the first of :data:`LAYOUTS` that fits counts."""

from typing import Final

from airshed.observations.layouts import long, ostluft, uba, wide
from airshed.observations.layouts.layout import FileOptions, Layout, Record

LAYOUTS: Final[tuple[Layout, ...]] = (
    ostluft.LAYOUT, uba.LAYOUT, long.OPENAQ, wide.OPENAIR, wide.WIDE, long.OWN,
)  # fmt: skip

__all__ = ["LAYOUTS", "FileOptions", "Layout", "Record"]
