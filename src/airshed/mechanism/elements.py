"""Standard atomic weights [g/mol] (IUPAC 2021, abridged values) of the elements that atmospheric mechanisms use."""

from collections.abc import Mapping
from typing import Final

ATOMIC_WEIGHTS: Final[Mapping[str, float]] = {
    "H": 1.008, "He": 4.0026, "Li": 6.94, "Be": 9.0122, "B": 10.81, "C": 12.011, "N": 14.007, "O": 15.999,
    "F": 18.998, "Ne": 20.180, "Na": 22.990, "Mg": 24.305, "Al": 26.982, "Si": 28.085, "P": 30.974, "S": 32.06,
    "Cl": 35.45, "Ar": 39.95, "K": 39.098, "Ca": 40.078, "Ti": 47.867, "V": 50.942, "Cr": 51.996, "Mn": 54.938,
    "Fe": 55.845, "Co": 58.933, "Ni": 58.693, "Cu": 63.546, "Zn": 65.38, "As": 74.922, "Se": 78.971, "Br": 79.904,
    "Kr": 83.798, "Sr": 87.62, "Mo": 95.95, "Cd": 112.41, "Sn": 118.71, "Sb": 121.76, "I": 126.90, "Xe": 131.29,
    "Cs": 132.91, "Ba": 137.33, "Hg": 200.59, "Pb": 207.2,
}  # fmt: skip
