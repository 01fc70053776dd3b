"""Opens inputs, whichever kind a folder has: a prepared store, or stations of which they are made."""

from pathlib import Path

from airshed.models.pasture.inputs.contents import Inputs
from airshed.models.pasture.inputs.manifest import MANIFEST
from airshed.models.pasture.inputs.reader import open_store
from airshed.models.pasture.inputs.recipe import RECIPE, inputs_of_stations


def open_inputs(path: Path | str) -> Inputs:
    """Return the inputs in a folder; the weather is read, or made of that of stations, when it is asked for.

    A folder with `stations.toml` holds stations (see `recipe`); any other is to be a store, as `airshed pasture
    prepare` makes it. Both give the same values.
    Raises DataError, with the file and what to do, for what is missing, truncated, damaged or no such folder.
    """
    path = Path(path)
    if (path / RECIPE).is_file() and not (path / MANIFEST).exists():
        return inputs_of_stations(path).inputs
    return open_store(path)
