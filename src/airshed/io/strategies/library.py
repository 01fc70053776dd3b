"""The strategies "pnetcdf" and "netcdf4": files that all ranks write through a parallel library.

    pnetcdf  one classic file in place, as in "mpiio"; the library writes the blocks of all fields together
    netcdf4  a file for each record, merged into one at the end: a growing netCDF-4 file is lost with its writer

The libraries, and the ways to find them, are in :mod:`airshed.io.libraries`.
"""

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

from airshed.core.atomic import guarded, part_path, publish
from airshed.core.errors import OutputError
from airshed.grid.box import Box
from airshed.io.archive import reading
from airshed.io.channel import Channel
from airshed.io.hdf5 import hdf5
from airshed.io.libraries import FILES, ParallelFile, Variable
from airshed.io.strategies.in_place import InPlaceFile
from airshed.io.strategies.journal import Store
from airshed.io.strategies.store import NATIVE, TOGETHER, Block, OutputTarget, check_sequence


class PnetcdfFile(InPlaceFile):
    """Records in one classic file that PnetCDF writes."""

    dtype = NATIVE

    def _put(self, index: int, seconds: float, block: Block) -> None:
        with self._channel.together(), guarded(self._path):
            file = open_parallel("pnetcdf", self._path, self._channel, append=True)
            write_record(file, index, seconds, block, self._place)
            file.close()


class ParallelRecords(Store):
    """Records that parallel netCDF-4 writes, each to a separate file."""

    kind = TOGETHER

    def _keep(self, last: int) -> None:
        for index, path in self._found().items():
            if index > last:
                path.unlink()
        check_sequence(self._place.records, self._found(), last)

    def _write(self, index: int, seconds: float, block: Block) -> None:
        path = self._where(index)
        part = self._new(path)
        with self._channel.together(), guarded(path, part):
            file = self._created(part, complete=False)
            write_record(file, 0, seconds, block, self._place)
            file.close()
        self._publish(part, path)

    def _read(self, index: int, box: Box) -> tuple[float, Block]:
        """Return the time of a record and a part of it; raise OutputError if the file is damaged."""
        path, layout = self._where(index), self._place.layout
        with reading(path), hdf5(), netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            names = {spec.name: layout.shape(spec, box) for spec in layout.fields}
            parts = {name: np.asarray(file[name][(0, ..., *box.slices)]) for name in names}
            short = [name for name, shape in names.items() if parts[name].shape != shape]
            if short:
                raise OutputError(
                    f"{path} is damaged: it does not hold all of {short[0]}; restart the run without --resume"
                )
            return float(file["time"][0]), parts

    def _where(self, index: int) -> Path:
        return self._place.records / f"{index:06d}.nc"

    def _finish(self, path: Path, *, complete: bool) -> None:
        """Merge the records into one file; collective."""
        part = self._new(path)
        with self._channel.together():
            records = self._found()
            check_sequence(self._place.records, records)
        with self._channel.together(), guarded(path, part):
            file = self._created(part, complete=complete)
            try:
                for index in records:
                    with self._channel.together():  # an error of one rank must not leave others in the collective write
                        seconds, block = self._read(index, self._place.box)
                    with self._channel.together():
                        write_record(file, index, seconds, block, self._place)
            finally:
                file.close()
        self._publish(part, path)

    def _new(self, path: Path) -> Path:
        part: Path = self._channel.broadcast(part_path(path) if self._channel.is_root else None)
        return part

    def _publish(self, part: Path, path: Path) -> None:
        with self._channel.together(), guarded(path, part):
            if self._channel.is_root:
                publish(part, path)

    def _created(self, path: Path, *, complete: bool) -> Any:
        """Return a new file with its coordinates, which the root writes."""
        description = self._place.layout.describe(complete=complete)
        file = open_parallel("netcdf4", path, self._channel)
        variables = {each.name: Variable(each.dims, each.dtype, each.attributes) for each in description.variables}
        file.define(description.dims, variables, description.attributes)
        for variable in description.variables:
            if variable.data is not None:
                sizes = variable.data.shape if self._channel.is_root else (0,) * variable.data.ndim
                data = variable.data if self._channel.is_root else np.empty(sizes)
                file.write(variable.name, (0,) * variable.data.ndim, sizes, data)
        return file

    def _found(self) -> dict[int, Path]:
        return {int(path.stem): path for path in sorted(self._place.records.glob("[!.]*.nc"))}


def open_parallel(name: str, path: Path, channel: Channel, *, append: bool = False) -> ParallelFile:
    """Return a file of a library that all ranks write."""
    if name == "pnetcdf" and ":" in str(path):
        # it would interpret the text before a colon as the name of a file system
        raise OutputError(f"PnetCDF cannot write {path}, which has a colon; choose a folder without one")
    return FILES[name](path, channel.handle, append=append)


def write_record(file: ParallelFile, index: int, seconds: float, block: Block, place: OutputTarget) -> None:
    """Write this rank's part of a record; the root writes the time and its bounds."""
    root = place.channel.is_root
    for name, instants in place.layout.clock(seconds).items():
        count = (1, *instants.shape) if root else (0,) * (1 + instants.ndim)
        file.write(name, (index, *(0 for _ in instants.shape)), count, instants if root else np.empty(0))
    for name, values in block.items():
        start = (index, *(0 for _ in place.box.undivided(values.shape)), *place.box.first)
        file.write(name, start, (1, *values.shape), values)
