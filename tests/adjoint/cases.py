"""Small cases: few columns, a mechanism of four species, and a user's process with a settable number."""

import shutil
from pathlib import Path
from typing import Any

import airshed

USERS = Path(__file__).parents[1] / "air" / "processes" / "users"
KINDS = {
    "initial", "emission", "boundary", "top", "rates", "number sea_surface_strength", "field sea_surface_velocity",
    "field vertical_mixing_mixed_air",
}  # fmt: skip
"""Of inputs that a small case has."""

MECHANISM = """
#DEFVAR
O3 = IGNORE; NO = IGNORE; NO2 = IGNORE; HNO3 = IGNORE;
#EQUATIONS
<light> NO2 + hv = NO + O3 : PHOTO(1e-2, 0.4);
<back> NO + O3 = NO2 : 2e-12*exp(-1400/TEMP);
<pair> NO2 + NO2 = HNO3 + NO : 2e-16;
<lost> O3 = NO2 : 1e-7;
"""


def small_case(folder: Path, **sections: Any) -> airshed.Case:
    """Return a morning over some columns with the sea and a chimney; the process of the sea is a user's file."""
    shutil.copy(USERS / "sea_surface.py", folder)
    (folder / "small.kpp").write_text(MECHANISM)
    base: dict[str, Any] = {
        "grid": {"area": {"lon": [-30.0, -26.0], "lat": [40.0, 42.0]}, "spacing": "0.5 deg",
                 "layers": ["50 m", "200 m", "1000 m"]},
        "time": {"start": "2022-06-21T09:30:00Z", "length": "2 h", "step": "5 min"},
        "chemistry": {"mechanism": "small.kpp"}, "deposition": {"scheme": "none"},
        "meteorology": {"kind": "uniform", "temperature": "285 K", "rotation": "60 h", "diffusivity": "5 m2/s"},
        "initial": {"values": {"O3": "40 ppb", "NO2": "2 ppb"}},
        "boundary": {"values": {"O3": "50 ppb", "NO2": "1 ppb", "NO": "0.2 ppb"}},
        "emissions": {"point": [{"species": "NO", "lon": -28.2, "lat": 41.1, "height": "20 m", "rate": "50 mol/s"}]},
        "run": {"threads": 1},
    }  # fmt: skip
    chosen = {name: {**base.get(name, {}), **sections.get(name, {})} for name in [*base, *sections]}
    process = {"file": "sea_surface.py", "velocities": {"O3": "1 cm/s", "NO2": "2 mm/s"}, "balances": {"NO2": "3 ppb"}}
    return airshed.Case.from_dict(chosen | {"process": [process]}, base=folder)
