"""Metadata of Zarr v3 stores: arrays of raw little-endian values, and their group."""

from collections.abc import Sequence
from typing import Any, Final

METADATA: Final = "zarr.json"


def array_metadata(
    shape: Sequence[int], dims: Sequence[str], dtype: str, fill: object, attributes: dict[str, Any],
    chunk: Sequence[int] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the metadata of an array; by default it is one chunk."""
    return {
        "zarr_format": 3, "node_type": "array", "shape": [*shape], "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [*(shape if chunk is None else chunk)]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "dimension_names": [*dims], "attributes": attributes, "storage_transformers": [],
    }  # fmt: skip


def group_metadata(arrays: dict[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a group, with those of its arrays."""
    consolidated = {"kind": "inline", "must_understand": False, "metadata": arrays}
    return {
        "zarr_format": 3, "node_type": "group", "attributes": attributes, "consolidated_metadata": consolidated,
    }  # fmt: skip
