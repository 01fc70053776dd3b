"""Layouts of station files, each recognised by its content; the first match in :data:`LAYOUTS` is used."""

from typing import Final

from airshed.observations.layouts import airbase, aurn, eea, long, monet, ostluft, pyaro, uba, wide
from airshed.observations.layouts.layout import FileOptions, Layout, Record, TableRows

LAYOUTS: Final[tuple[Layout, ...]] = (
    monet.LAYOUT, airbase.LAYOUT, ostluft.LAYOUT, aurn.LAYOUT, uba.LAYOUT, pyaro.LAYOUT, eea.LAYOUT, long.OPENAQ,
    wide.OPENAIR, wide.WIDE, long.OWN,
)  # fmt: skip

__all__ = ["LAYOUTS", "FileOptions", "Layout", "Record", "TableRows"]
