"""The shipped inventory, and a small one for tests: its tables cut to Belgium and Luxembourg."""

import shutil
from pathlib import Path

import pytest

from airshed.core.files import resource

SHIPPED = resource("cases/west-europe/emissions")
COUNTRIES = ("BE", "LU")

SPECIES = ("NO", "NO2", "SO2", "SA", "CO", "C2H6", "NC4H10", "C2H4", "C3H6", "OXYL", "C2H5OH", "O3")
"""Those of a mechanism without ammonia."""


@pytest.fixture(scope="session")
def shipped():
    return SHIPPED


@pytest.fixture(scope="session")
def species():
    return SPECIES


@pytest.fixture(scope="session")
def small_inventory():
    """A function that copies the inventory's files to a folder, those by country cut to two of them."""
    return _copy


def _copy(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for source in SHIPPED.iterdir():
        if source.name in ("cities.csv", "power_plants.csv", "national_totals.csv", "countries.csv"):
            head, *lines = source.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if line.split(",")[0] in COUNTRIES]
            (folder / source.name).write_text("\n".join([head, *kept]) + "\n", encoding="utf-8")
        elif source.suffix != ".gz":  # totals of other years
            shutil.copy(source, folder)
    return folder
