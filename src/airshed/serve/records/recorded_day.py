"""Recorded days: the hours of a case that the page shows before its model is set up.

A recorded day is a file `recorded.nc` in the folder of a case, with the lowest layer of some fields at each hour. It is
computed by this package, and stores the version and all settings that made it:

    python -m airshed.serve.records.recorded_day west-europe cases/west-europe/recorded.nc

Concentrations and wind are rounded to 0.4 %, so that a day of western Europe takes less than a megabyte.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from airshed.case.case import MACHINE, RunCase
from airshed.core.arrays import AnyArray
from airshed.core.atomic import write_whole
from airshed.core.errors import AirshedError, CaseError
from airshed.core.toml_text import parse_toml
from airshed.io.folder import RUNS
from airshed.io.hdf5 import hdf5
from airshed.io.results import open_run
from airshed.runtime.registry import load_case
from airshed.runtime.simulation import Simulation
from airshed.serve.fields.published import Session
from airshed.serve.records.finished import finished_session
from airshed.serve.stations.comparison import case_observations

FILE: Final = "recorded.nc"
SESSION: Final = "recorded"
SETUP: Final = "setup"
"""Capability of a recorded session whose model can be set up."""
FIELDS: Final = (
    "O3",
    "NO2",
    "NO",
    "SO2",
    "CO",
    "SA",
    "NITRAT",
    "air_density",
    "air_temperature",
    "eastward_wind",
    "northward_wind",
)
PASTURE_FIELDS: Final = ("standing_dry_matter", "green", "soil_water_index", "total_cover", "live_weight")
OUTPUTS: Final = MappingProxyType(
    {
        "air": {"fields": list(FIELDS), "every": "1 h", "levels": "ground"},
        "pasture": {"fields": list(PASTURE_FIELDS), "every": "30 day"},
    }
)
"""Recorded fields and hours by model: a day of air at each hour, a year of pasture in months of 30 days."""
PRECISION: Final = 7
"""Bits of the mantissa of concentrations and wind: values differ by 0.4 % or less from those of the run."""
FINE: Final = {"air_temperature": 12, "air_density": 12}
"""Bits of the mantissa of fields that vary little."""

_MAY_DIFFER: Final = {"title", "description", "output", "restart", "receptor", *MACHINE}
_MANTISSA: Final = 23


def recorded_session(case: RunCase) -> Session | None:
    """Return the recorded hours of a case as a session without a model, or None without a recording of its settings.

    A finished run of the user in `runs/NAME` comes before the file that is part of the case.
    """
    for path in (RUNS / case.name, case.base / FILE):
        if not path.exists():
            continue
        try:
            with open_run(path) as dataset:
                same = _settings(str(dataset.attrs.get("airshed_case", ""))) == _settings(case.to_toml(machine=False))
            if same:
                session = finished_session(path, SESSION, case.name, capabilities=[SETUP])
                session.observations = case_observations(case)
                return session
        except (AirshedError, ValueError):  # an unfinished or damaged run is no recording
            continue
    return None


def _settings(text: str) -> dict[str, Any]:
    """Return the settings of a case that change its results."""
    return {name: each for name, each in parse_toml(text).items() if name not in _MAY_DIFFER}


def write_recorded_day(case: RunCase, target: Path) -> None:
    """Compute a case and store the lowest layer of its main fields at regular times.

    Raises CaseError for a model without a choice of fields.
    """
    chosen = OUTPUTS.get(case.model)
    if chosen is None:
        raise CaseError(
            f"model = {case.model!r} has no recorded fields; the models with recordings are {', '.join(OUTPUTS)}"
        )
    names = list(chosen["fields"])
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        with Simulation(case.patched({"output": [chosen]}), output=run) as simulation:
            simulation.run()
        with open_run(run) as dataset:
            coordinates = [name for name in dataset.data_vars if "time" not in dataset[name].dims]
            day = dataset[[*coordinates, *names]].load()
    for name in names:
        day[name].values = rounded(day[name].values, FINE.get(name, PRECISION))
        day[name].encoding = {"zlib": True, "complevel": 9, "shuffle": True, "dtype": "float32"}
    with write_whole(target) as part, hdf5():
        day.to_netcdf(part, engine="netcdf4", format="NETCDF4")


def rounded(values: AnyArray, bits: int = PRECISION) -> AnyArray:
    """Return float32 values rounded to the nearest number with some bits of mantissa."""
    dropped = _MANTISSA - bits
    half, rest = np.uint32(1 << (dropped - 1)), np.uint32((1 << dropped) - 1)
    found: AnyArray = ((np.asarray(values, np.float32).view(np.uint32) + half) & ~rest).view(np.float32)
    return found


if __name__ == "__main__":
    write_recorded_day(load_case(sys.argv[1]), Path(sys.argv[2]))
