"""Emission: the inventory of national totals, gridded files, stacks, single sources, and their shared parts."""

from airshed.models.air.emissions.builder import build_inventory
from airshed.models.air.emissions.fields import FieldSettings
from airshed.models.air.emissions.gridded import GriddedEmissions, replaced
from airshed.models.air.emissions.gridded_files import GriddedContext, read_gridded
from airshed.models.air.emissions.inventory import CountryTotal, Inventory, SectorAmount
from airshed.models.air.emissions.sources import (
    AreaEmissions,
    AreaSource,
    CombinedEmissions,
    PointEmissions,
    PointSource,
)
from airshed.models.air.emissions.stack_table import StackTable, read_stacks
from airshed.models.air.emissions.stacks import StackEmissions, StackInput
from airshed.models.air.emissions.totals import InventorySettings

__all__ = [
    "AreaEmissions",
    "AreaSource",
    "CombinedEmissions",
    "CountryTotal",
    "FieldSettings",
    "GriddedContext",
    "GriddedEmissions",
    "Inventory",
    "InventorySettings",
    "PointEmissions",
    "PointSource",
    "SectorAmount",
    "StackEmissions",
    "StackInput",
    "StackTable",
    "build_inventory",
    "read_gridded",
    "read_stacks",
    "replaced",
]
