"""Species maps: emission, boundary concentrations, deposition and open rates in the species of a mechanism.

Reading order: ``parts`` (the map as data), ``read`` (finds and reads its file), ``fit`` (fits it to a mechanism and a
case), ``families`` (meanings of species by shipped maps, names and atoms).
:mod:`airshed.models.air.map_template` writes a map to begin with.
"""

from airshed.models.air.species_map.fit import fit, without_air
from airshed.models.air.species_map.parts import BoundaryMap, Compound, DepositionMap, EmissionMap, SpeciesMap
from airshed.models.air.species_map.read import find_species_map, read_species_map, shipped_species_map

__all__ = [
    "BoundaryMap",
    "Compound",
    "DepositionMap",
    "EmissionMap",
    "SpeciesMap",
    "find_species_map",
    "fit",
    "read_species_map",
    "shipped_species_map",
    "without_air",
]
