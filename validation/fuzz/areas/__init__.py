"""Areas of spoiled input: each area creates trials, and sound inputs for comparison."""

import random
from pathlib import Path
from types import ModuleType
from typing import Final

from validation.fuzz.areas import box, era5, mechanism, python, species, tables
from validation.fuzz.trial import Trial

_MODULES: Final[dict[str, ModuleType]] = {
    "era5": era5,
    "tables": tables,
    "mechanism": mechanism,
    "box": box,
    "python": python,
    "species": species,
}
AREAS: Final = tuple(_MODULES)


def area_of(index: int) -> str:
    """Return the area of a trial by its number: areas alternate, so that a number has one meaning in every run."""
    return AREAS[index % len(AREAS)]


def trial_of(seed: int, index: int, place: Path) -> Trial:
    """Write the input of a trial into a folder, and return the trial; it depends on seed and number only."""
    return _MODULES[area_of(index)].make(random.Random(f"{seed}:{index}"), place)


def base_of(name: str, place: Path) -> Trial:
    """Write a sound input, "area-variant", into a folder, and return the trial that uses it."""
    area, _, variant = name.partition("-")
    return _MODULES[area].sound(variant, place)
