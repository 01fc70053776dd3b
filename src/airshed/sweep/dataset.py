"""Collection of the results of a sweep in one Zarr dataset, member by member and a few records at a time."""

import json
import os
import shutil
import warnings
from collections.abc import Mapping
from contextlib import closing
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr

from airshed.core.atomic import guarded, part_path, sync
from airshed.core.errors import OutputError
from airshed.core.version import __version__
from airshed.io.results import open_result
from airshed.io.run_state import MEMBER, SWEEP_DATASET, SWEEP_MEMBERS, results
from airshed.sweep.plan import TABLE, Member, Plan

_CHUNK_BYTES: Final = 4 << 20
"""Bytes of a chunk at most, where a single level of a record is no larger."""


def gather(plan: Plan, folder: Path, failures: Mapping[int, str]) -> Path:
    """Write sweep.zarr, with the dimensions of the sweep before those of a run; return its path.

    The first [[output]] of the case is the dataset; each further one is a group of its name in it. Members without
    results are NaN, and the attribute `missing_members` names them with the messages in ``failures``. The dataset
    appears whole or not at all. Raises OutputError where no member has results.
    """
    import zarr

    path = folder / SWEEP_DATASET
    part = part_path(path)
    try:
        with guarded(path):
            first, *others = (section.name for section in plan.cases[0].output)
            stores = {first: part} | {name: part / name for name in others}
            for name, store in stores.items():
                _gather_output(plan, folder, failures, name, store)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the Zarr 3 specification does not define consolidated metadata yet
                for store in reversed(stores.values()):  # groups first, since the root lists them
                    zarr.consolidate_metadata(str(store))
            shutil.rmtree(path, ignore_errors=True)
            os.replace(part, path)
            sync(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return path


def _gather_output(plan: Plan, folder: Path, failures: Mapping[int, str], name: str, store: Path) -> None:
    """Write the dataset of one output of the members."""
    runs = folder / SWEEP_MEMBERS
    found = {member: paths[0] for member in plan.members if (paths := results(runs / member.name, name))}
    if not found:
        raise OutputError(f"no member of the sweep in {folder} has results; {TABLE} has the reasons")
    import zarr

    first = next(iter(found))
    with closing(open_result(found[first], decode=False)) as model:
        shared = _shared(model)
        _create(plan, model, shared, _attributes(plan, failures, found, model), store)
        group = zarr.open_group(store, mode="a")
        for member, path in found.items():
            with closing(open_result(path, decode=False)) as run:
                _check_alike(first, model, member, run, shared)
                _write(plan, run, shared, member, group)


def _shared(run: xr.Dataset) -> list[str]:
    """Return the variables that all members share: coordinates, their bounds, and variables without time."""
    named = {
        word
        for variable in run.variables.values()
        for key in ("bounds", "coordinates", "grid_mapping")
        for word in str(variable.attrs.get(key, variable.encoding.get(key, ""))).split()
    }
    return [str(name) for name in run.variables if name in run.coords or name in named or "time" not in run[name].dims]


def _check_alike(first: Member, model: xr.Dataset, member: Member, run: xr.Dataset, shared: list[str]) -> None:
    """Raise OutputError where a member has other coordinates than the first one."""
    for name in shared:
        if name not in run.variables or not model[name].identical(run[name]):
            raise OutputError(
                f"{member.text} has other values of {name} than {first.text}, so that one dataset cannot hold both; "
                "their run folders hold their results"
            )


def _attributes(
    plan: Plan, failures: Mapping[int, str], found: Mapping[Member, Path], run: xr.Dataset
) -> dict[str, Any]:
    copied = {key: run.attrs[key] for key in ("Conventions", "source", "title") if key in run.attrs}
    missing = [
        f"{member.text}: {failures.get(member.number, 'not finished')}"
        for member in plan.members
        if member not in found
    ]
    return copied | {
        "airshed_version": __version__,
        "airshed_sweep": json.dumps(plan.to_dict()),
        "missing_members": missing,
    }


def _create(plan: Plan, run: xr.Dataset, shared: list[str], attributes: dict[str, Any], store: Path) -> None:
    """Create the dataset with its coordinates, those of the sweep and those of a run."""
    dims = [dimension.name for dimension in plan.dimensions]
    whole = plan.coordinates().assign_attrs(attributes)
    if dims != [MEMBER]:
        numbers = np.arange(len(plan.members)).reshape(plan.shape)
        text = {"long_name": "number of the member, whose run folder is members/NNNN"}
        whole = whole.assign_coords(member_number=(dims, numbers, text))
    whole = whole.assign_coords({name: run[name].variable.copy() for name in shared})
    for name in shared:
        whole[name].encoding.clear()
    whole.to_zarr(store, mode="w-", consolidated=False, zarr_format=3)


def _chunks(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the chunk shape: as many records as fit; if one does not fit, as many of its rows as fit."""
    chunks, limit = [1] * len(shape), _CHUNK_BYTES // 4
    for axis in reversed(range(len(shape))):
        within = prod(chunks[axis + 1 :])
        chunks[axis] = max(min(shape[axis], limit // within), 1)
    return tuple(chunks)


def _write(plan: Plan, run: xr.Dataset, shared: list[str], member: Member, group: Any) -> None:
    """Write the fields of a member, as many records at a time as a chunk holds."""
    for name in (str(each) for each in run.data_vars if each not in shared):
        array = group[name] if name in group else _array(plan, run[name], group)
        records, step = run.sizes["time"], array.chunks[len(member.index)]
        for begin in range(0, records, step):
            part = slice(begin, begin + step)
            array[(*member.index, part)] = run[name].isel(time=part).to_numpy()


def _array(plan: Plan, field: xr.DataArray, group: Any) -> Any:
    """Create the array of a field for all members, filled with NaN."""
    dims = [dimension.name for dimension in plan.dimensions]
    attributes = {str(key): np.asarray(value).tolist() for key, value in field.attrs.items()}
    dtype = field.dtype if field.dtype.kind == "f" else np.dtype(np.float64)  # a type that has NaN
    return group.create_array(
        str(field.name), shape=(*plan.shape, *field.shape), chunks=(*(1 for _ in dims), *_chunks(field.shape)),
        dtype=dtype, fill_value=np.nan, dimension_names=[*dims, *map(str, field.dims)], attributes=attributes,
    )  # fmt: skip
