"""Emission: the inventory of national totals, prescribed fields, single sources, and what they have in common."""

from airshed.models.air.emissions.area import AreaEmissions, AreaSource
from airshed.models.air.emissions.builder import build_inventory
from airshed.models.air.emissions.gridded import GriddedEmissions
from airshed.models.air.emissions.inventory import CountryTotal, Inventory, SectorAmount
from airshed.models.air.emissions.point import PointEmissions, PointSource
from airshed.models.air.emissions.settings import InventorySettings
from airshed.models.air.emissions.source import CombinedEmissions

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
