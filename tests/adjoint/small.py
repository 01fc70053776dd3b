"""A case of a few columns and five species, whose run, and way back, take a second."""

from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import airshed

MECHANISM = """\
#ATOMS
N; O; C; H;
#DEFVAR
O3 = 3O; NO = N + O; NO2 = N + 2O; VOC = C + 4H; RO2 = C + 4H + O;
#EQUATIONS
<R1> NO2 = NO + O3   : 6.0e-3;
<R2> NO + O3 = NO2   : 1.8e-14;
<R3> VOC + O3 = RO2  : FACTOR*2.0e-15;
<R4> RO2 + NO = NO2  : 8.0e-12;
<R5> RO2 + RO2 = VOC : 3.0e-12;
"""
RECEPTOR: dict[str, Any] = {"species": "O3", "lon": 7.45, "lat": 50.45, "time": "1 h"}
IN_TIME: dict[str, Any] = {"fields": ["O3", "NO"], "every": "10 min"}
SOURCE: dict[str, Any] = {"species": "NO", "lon": 7.25, "lat": 50.35, "height": "10 m", "rate": "2 mol/s"}


def small(folder: Path, factor: float = 1.0, **more: Any) -> airshed.Case:
    """An hour of a turning wind over 6 x 5 columns of three layers; factor: on the rate constant of R3."""
    file = folder / f"few_{factor!r}.def"
    file.write_text(MECHANISM.replace("FACTOR", repr(factor)), encoding="utf-8")
    given: dict[str, Any] = {
        "title": "A few columns",
        "grid": {"area": {"lon": [7, 8.2], "lat": [50, 51]}, "spacing": "0.2 deg",
                 "layers": ["30 m", "150 m", "500 m"]},
        "time": {"start": "2022-06-01T10:00:00Z", "length": "1 h", "longest": "150 s"},
        "chemistry": {"mechanism": str(file)},
        "meteorology": {"kind": "uniform", "eastward": "5 m/s", "northward": "2 m/s", "rotation": "24 h",
                        "diffusivity": "8 m2/s"},
        "emissions": {"point": [SOURCE, {**SOURCE, "species": "VOC", "lon": 7.05, "height": "80 m", "rate": "3 mol/s"}],
                      "area": [{"lon": [7, 8], "lat": [50, 50.6], "rates": {"NO2": "1e-9 mol/m2/s"}}]},
        "deposition": {"scheme": "constant", "velocities": {"O3": "0.4 cm/s", "NO": "0 cm/s", "NO2": "0.2 cm/s",
                       "VOC": "0 cm/s", "RO2": "0 cm/s"}},
        "boundary": {"values": {"O3": "45 ppb", "NO": "0.5 ppb", "NO2": "3 ppb", "VOC": "8 ppb"}},
        "run": {"threads": 1},
        "output": [{"fields": ["O3"], "every": "30 min"}],
    }  # fmt: skip
    return airshed.Case.from_dict({**given, **more}, base=folder)


def measured(case: airshed.Case, initial: xr.Dataset | None = None, **place: Any) -> float:
    """What the plain run has at the receptor at its end [mol/mol]."""
    with airshed.Simulation(case, initial=initial) as simulation:
        simulation.run()
        at = {"lon": RECEPTOR["lon"], "lat": RECEPTOR["lat"], "level": 0.0, **place}
        return float(simulation["O3"].sel(at, method="nearest"))


def uneven(case: airshed.Case) -> xr.Dataset:
    """Air at the beginning of `small` that lies on no edge of the limiter, as even air does."""
    random, shape = np.random.default_rng(3), case.make_grid().shape
    typical = {"O3": 40e-9, "NO": 1e-9, "NO2": 3e-9, "VOC": 8e-9, "RO2": 1e-11}
    axes = "level", "lat", "lon"
    return xr.Dataset({name: (axes, each * random.uniform(0.5, 1.5, shape)) for name, each in typical.items()})


def hashes(found: xr.Dataset) -> dict[str, str]:
    """Hashes of the bits of all variables."""
    return {str(name): blake2b(each.values.tobytes()).hexdigest() for name, each in found.variables.items()}
