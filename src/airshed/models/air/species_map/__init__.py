"""Species maps: what emission, the air outside, the ground and the sun are in the species of a mechanism.

:func:`airshed.models.air.species_map.template.template` writes one to begin with.
"""

from airshed.models.air.species_map.find import find_species_map, shipped_species_map
from airshed.models.air.species_map.fit import Needs, fit, without_air
from airshed.models.air.species_map.names import left_out, translated
from airshed.models.air.species_map.parts import BoundaryMap, Compound, DepositionMap, EmissionMap, SpeciesMap
from airshed.models.air.species_map.read import read_species_map

__all__ = [
    "BoundaryMap",
    "Compound",
    "DepositionMap",
    "EmissionMap",
    "Needs",
    "SpeciesMap",
    "find_species_map",
    "fit",
    "left_out",
    "read_species_map",
    "shipped_species_map",
    "translated",
    "without_air",
]
