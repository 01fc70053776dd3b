"""What is an xarray.Dataset, told without importing xarray: that takes as long as all of Airshed."""

import sys
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    import xarray as xr


def is_dataset(value: object) -> "TypeGuard[xr.Dataset]":
    """Whether a value is an xarray.Dataset: while nobody has imported xarray, nothing is."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(value, xarray.Dataset)
