"""Emission: the inventory of national totals, prescribed fields, single sources, and what they have in common."""

from airshed.air.emissions.area import AreaEmissions, AreaSource
from airshed.air.emissions.builder import build_inventory
from airshed.air.emissions.gridded import GriddedEmissions
from airshed.air.emissions.inventory import CountryTotal, Inventory, SectorAmount
from airshed.air.emissions.point import PointEmissions, PointSource
from airshed.air.emissions.settings import InventorySettings
from airshed.air.emissions.source import CombinedEmissions

__all__ = [
    "AreaEmissions",
    "AreaSource",
    "CombinedEmissions",
    "CountryTotal",
    "GriddedEmissions",
    "Inventory",
    "InventorySettings",
    "PointEmissions",
    "PointSource",
    "SectorAmount",
    "build_inventory",
]
