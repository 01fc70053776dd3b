"""Reader and writer of the OpenAtmos mechanism format v1 (JSON, YAML), and reader of its predecessor Camp JSON."""

from airshed.mechanism.openatmos.package import (
    CONDITIONS,
    NO_MUSICA,
    Conditions,
    has_musica,
    musica_file,
    musica_package,
    read_conditions,
)
from airshed.mechanism.openatmos.reader import read_openatmos
from airshed.mechanism.openatmos.writer import musica_parameters, write_openatmos

__all__ = [
    "CONDITIONS",
    "NO_MUSICA",
    "Conditions",
    "has_musica",
    "musica_file",
    "musica_package",
    "musica_parameters",
    "read_conditions",
    "read_openatmos",
    "write_openatmos",
]
