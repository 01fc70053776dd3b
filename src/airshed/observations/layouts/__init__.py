"""Layouts of station files, each recognised by its content; the first match in :data:`LAYOUTS` is used."""

from typing import Final

from airshed.observations.layouts.layout import FileOptions, Layout, Record, TableRows
from airshed.observations.layouts.long import EEA, OPENAQ, OWN, PYARO
from airshed.observations.layouts.monet import MONET
from airshed.observations.layouts.wide import AIRBASE, AURN, OPENAIR, OSTLUFT, UBA, WIDE

LAYOUTS: Final[tuple[Layout, ...]] = (
    MONET, AIRBASE, OSTLUFT, AURN, UBA, PYARO, EEA, OPENAQ, OPENAIR, WIDE, OWN,
)  # fmt: skip

__all__ = ["LAYOUTS", "FileOptions", "Layout", "Record", "TableRows"]
