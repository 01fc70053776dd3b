"""Runs whose weather files fail on the way, and which resume when the files are restored.

They run on one rank, or on several with mpiexec: `python failing_input.py FOLDER`.
"""

import json
import shutil
import sys
import tomllib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final
from unittest import mock

import numpy as np
import xarray as xr

from airshed import Case, Simulation
from airshed.core.errors import DataError
from airshed.models.air.weather import era5_data
from airshed.parallel.communicator import Communicator, world
from airshed.parallel.failure import failing_together

CASES: Final = Path(__file__).parents[2] / "cases"

BAD_HOUR: Final = 4
"""Hour of the failing weather: it is read when the run is at 1 h, and needed shortly after 2 h."""

CUT = (
    "grid.area.lon=[5.5, 8]", "grid.area.lat=[50.5, 52]", "time.length=4 h", "time.spinup=0 s", "time.step=200 s",
    "restart.every=20 min", "output.0.every=20 min", "run.threads=1",
)  # fmt: skip


def split(folder: Path) -> Path:
    """Write the weather of the case, with a file for each hour of the eastward wind; return the folder."""
    shutil.copytree(CASES / "west-europe" / "meteorology", folder)
    [whole] = folder.glob("*ml_u.nc")
    with xr.open_dataset(whole, mask_and_scale=False) as wind:
        for hour in range(BAD_HOUR + 2):
            wind.isel(time=[hour]).to_netcdf(folder / f"u_{hour:02d}.nc")
    whole.unlink()
    return folder


def bad_file(weather: Path) -> Path:
    return weather / f"u_{BAD_HOUR:02d}.nc"


def vanish(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def damage(path: Path) -> None:
    """Replace the last third of the wind in the file by missing values, without a change of its size."""
    with xr.open_dataset(path, mask_and_scale=False) as wind:
        values, missing = wind["u"].values.ravel(), np.int16(wind["u"].attrs["_FillValue"])
    lies_at = path.read_bytes().index(values.tobytes())
    sound = values.size * 2 // 3
    with path.open("r+b") as file:
        file.seek(lies_at + sound * 2)
        file.write(np.full(values.size - sound, missing).tobytes())


def change(path: Path) -> None:
    """Increase the wind slightly: the negative control."""
    with xr.open_dataset(path, mask_and_scale=False) as wind:
        stronger = wind.load()
    stronger["u"] += np.int16(1)
    path.unlink()
    stronger.to_netcdf(path)


FAULTS: Final[dict[str, Callable[[Path], None]]] = {"vanish": vanish, "cut": cut, "damage": damage}


def case(weather: Path, strategy: str) -> Case:
    """Return the case without its inventory, which takes longer to prepare than the rest."""
    data = tomllib.loads((CASES / "west-europe" / "case.toml").read_text(encoding="utf-8"))
    data["emissions"] = {"biogenic": True}
    files = f'meteorology.files=["{weather}/*.nc"]'
    return Case.from_dict(data, overrides=(*CUT, files, f'parallel.input="{strategy}"'))


def two_at_once() -> AbstractContextManager[object]:
    """Read at most two instants at a time, as for large areas: for this small area all would be read at 40 min."""
    return mock.patch.object(era5_data, "_MOST", 2)


def trial(ranks: Communicator, weather: Path, folder: Path, fault: str, strategy: str) -> list[str]:
    """Run with weather that fails at 40 min; return the messages of ranks, after a resumed run with sound weather."""
    with two_at_once():
        return _trial(ranks, weather, folder, fault, strategy)


def _trial(ranks: Communicator, weather: Path, folder: Path, fault: str, strategy: str) -> list[str]:
    whole, path, message = case(weather, strategy), bad_file(weather), "nothing"
    sound = path.read_bytes()
    simulation = Simulation(whole, output=folder, ranks=ranks)
    simulation.run("40 min")
    ranks.barrier()
    if ranks.rank == 0:
        FAULTS[fault](path)
    ranks.barrier()
    try:
        simulation.run()
    except DataError as error:
        message = f"{simulation.seconds:g} s: {error}"
    ranks.barrier()
    if ranks.rank == 0:
        path.write_bytes(sound)
    ranks.barrier()
    Simulation(whole, output=folder, resume=True, ranks=ranks).run()
    return ranks.gather_all(message)


def main(folder: Path) -> None:
    ranks = world()
    answers: dict[str, Any] = {}
    with failing_together(ranks, lambda error: (repr(error), 1)):
        for strategy, fault in (("root", "vanish"), ("parallel", "cut"), ("root", "damage")):
            name = f"{strategy}-{fault}"
            answers[name] = trial(ranks, folder / "weather", folder / name, fault, strategy)
        Simulation(case(folder / "weather", "root"), output=folder / "root", ranks=ranks).run()
    if ranks.rank == 0:
        print(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
