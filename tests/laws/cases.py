"""Small cases: few columns, a mechanism of six species, and processes of all kinds of operators."""

import shutil
from pathlib import Path
from typing import Any

import airshed

USERS = Path(__file__).parents[1] / "models" / "air" / "processes" / "users"
FILES = USERS / "sea_surface.py", Path(__file__).with_name("overturning.py")
"""The processes in files of the case."""

MECHANISM = """
#ATOMS
N; O; C; H;
#DEFVAR
O3 = 3O; NO = N + O; NO2 = N + 2O; VOC = C + 4H; RO2 = C + 4H + O; HNO3 = H + N + 3O;
#EQUATIONS
<R1> NO2 + hv = NO + O3 : PHOTO(1e-2, 0.4);
<R2> NO + O3 = NO2 : 2e-12*exp(-1400/TEMP);
<R3> VOC + O3 = RO2 : 2e-15;
<R4> RO2 + NO = NO2 : 8e-12;
<R5> RO2 + RO2 = VOC : 3e-12;
<R6> NO2 + NO2 = HNO3 + NO : 2e-16;
<R7> O3 = NO2 : 1e-7;
"""


def small_case(folder: Path, **sections: Any) -> airshed.Case:
    """Return a morning over 4 x 9 columns of the sea with a chimney, which allows the code of its own processes."""
    for file in FILES:
        shutil.copy(file, folder)
    (folder / "small.kpp").write_text(MECHANISM)
    base: dict[str, Any] = {
        "grid": {"area": {"lon": [-30.0, -25.5], "lat": [40.0, 42.0]}, "spacing": "0.5 deg",
                 "layers": ["50 m", "200 m", "1000 m"]},
        "time": {"start": "2022-06-21T09:30:00Z", "length": "2 h", "step": "5 min"},
        "chemistry": {"mechanism": "small.kpp"},
        "meteorology": {"kind": "uniform", "temperature": "285 K", "rotation": "60 h", "diffusivity": "5 m2/s",
                        "precipitation": "1 mm/h"},
        "initial": {"values": {"O3": "40 ppb", "NO2": "2 ppb", "VOC": "5 ppb"}},
        "boundary": {"values": {"O3": "50 ppb", "NO2": "1 ppb", "NO": "0.2 ppb", "VOC": "8 ppb"}},
        "emissions": {"point": [{"species": "NO", "lon": -28.2, "lat": 41.1, "height": "20 m", "rate": "50 mol/s"}]},
        "deposition": {"scheme": "none", "velocities": {"O3": "0.4 cm/s", "NO2": "0.2 cm/s"}},
        "wet_deposition": {"coefficients": {"HNO3": "1e-4 1/s"}},
        "particles": {"diameters": {"HNO3": "20 um"}},
        "horizontal_diffusion": {"diffusivity": "2000 m2/s"},
        "run": {"threads": 1},
    }  # fmt: skip
    chosen = base | {name: join(base.get(name, {}), given) for name, given in sections.items()}
    sea = {"file": "sea_surface.py", "velocities": {"O3": "1 cm/s", "NO2": "2 mm/s"}, "balances": {"NO2": "3 ppb"}}
    overturning = {"file": "overturning.py", "production": {"NO": "1e-12 mol/m3/s"}}
    return airshed.Case.from_dict({"process": [sea, overturning], **chosen}, base=folder).allowing_code()


def join(base: Any, given: Any) -> Any:
    """Return a section with the settings that are given in the place of its own."""
    return {**base, **given} if isinstance(given, dict) else given
