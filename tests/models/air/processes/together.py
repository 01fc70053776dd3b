"""A case of all processes at once, of the package and of users, each on species of its own: one library for many tests.

The settings of a process may change, and so may its numbers; which processes act on which species may not.
"""

import re
import shutil
from pathlib import Path
from textwrap import indent
from typing import Any, Final

import airshed

ROOT = Path(__file__).parents[4]
USERS = Path(__file__).with_name("users")
LAYERS, STACK, POINTS = (
    indent(text, "    ").strip()
    for text in re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "reference" / "declaring.md").read_text("utf-8"), re.DOTALL
    )
)
"""The examples of docs/reference/declaring.md."""

WASHOUT = (ROOT / "docs" / "how-to" / "adding-a-process.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
"""The process of docs/how-to/adding-a-process.md."""

RELEASE = STACK.replace("    return", "    return [] if not self.stack else").replace('"RN"', '"ST"')
OWN = f"""
import numpy as np
from airshed.formula import log
from airshed.process import *

class Own(Process, section="own"):
    k = per_species("1/s", "Rates.")
    rate = number(1e-4, "Rate [1/s].", ge=0.0)
    strength = number(0.0, "Air that is exchanged [mol/s].", settable=True, ge=0.0)
    below = number(0.0, "Factor of a loss below zero.")
    drained = number(0.0, "Factor of a source below zero.")
    logged = number(0.0, "Factor of the logarithm of a negative number.")
    divided = number(0.0, "Factor of a division by zero.")
    stack = switch(False, "Whether a stack releases RE.")

    {LAYERS.replace("2000.0", "100.0")}

    @loss(term="pulled")
    def pulled(pull, k): return pull + 0.0 * k

    @loss(term="gone")
    def negative(k, below): return -below * k

    @source(term="made")
    def emptied(k, drained): return -drained * k

    @loss(term="gone")
    def logarithm(k, pressure, logged): return k * log(1.0 - logged * (1.0 + pressure))

    @loss(term="gone")
    def division(k, air, divided): return divided * k / (air - divided * air)

    @face_exchange
    def stirred(strength): return strength, strength

    @reactions
    def r(self): return ["RE = PROD : 1e-3"]

    {RELEASE}
"""

SPECIES: Final = ("RN", "PO", "PB", "SA", "SB", "LT", "WA", "OW", "RE", "ST", "SE", "WE", "DE", "HD")
FILES: Final[dict[str, dict[str, Any]]] = {
    "decay_chain": {"half_lives": {"RN": "30 min", "PO": "20 min"}, "diameters": {"PO": "5 um", "PB": "10 um"}},
    "sea_surface": {"velocities": {"SA": "1 cm/s", "SB": "2 mm/s"}, "balances": {"SB": "3 ppb"}},
    "sunlit_loss": {"rates": {"LT": "5e-3 1/s"}},
    "washout": {"coefficients": {"WA": "1e-4 1/s"}},
    "own": {"k": {"OW": "1e-4 1/s"}},
}
"""The processes in files, and their settings."""

PACKAGE: Final[dict[str, dict[str, Any]]] = {
    "particles": {"diameters": {"SE": "30 um"}},
    "wet_deposition": {"coefficients": {"WE": "1e-4 1/s"}},
    "horizontal_diffusion": {"diffusivity": "1e5 m2/s"},
    "deposition": {"scheme": "none", "velocities": {"DE": "1 cm/s"}},
}
WASHED: Final = 1e-4 * 2.0**0.79
"""Rate at which the rain of the case takes WA and WE away [1/s]."""

BEGIN: Final = ("RN", "SA", "LT", "WA", "OW", "RE", "SE", "WE", "HD")
"""Species of which there is 1 ppb at the start and at the boundary."""


def write_files(folder: Path) -> None:
    """Write the mechanism and the files of the processes."""
    (folder / "together.def").write_text(
        "#DEFVAR\n" + "".join(f"{name} = IGNORE;\n" for name in SPECIES) + "#EQUATIONS\n", encoding="utf-8"
    )
    for file in USERS.glob("*.py"):
        shutil.copy(file, folder)
    (folder / "washout.py").write_text(WASHOUT, encoding="utf-8")
    (folder / "own.py").write_text(OWN, encoding="utf-8")


def together(folder: Path, *, files: dict[str, dict[str, Any]] | None = None, **sections: Any) -> airshed.Case:
    """Return the case; `files` are further settings of the processes in files, `sections` those of the case."""
    values = dict.fromkeys(BEGIN, "1 ppb")
    base: dict[str, Any] = {
        "grid": {"area": {"lon": [-30.0, -26.0], "lat": [40.0, 42.0]}, "spacing": "0.5 deg",
                 "layers": ["50 m", "200 m", "1000 m"]},
        "time": {"start": "2022-06-21T12:00:00Z", "length": "1 h", "step": "1 min"},
        "chemistry": {"mechanism": "together.def"}, **PACKAGE,
        "meteorology": {"kind": "uniform", "temperature": "285 K", "pressure": "1010 hPa",
                        "precipitation": "2 mm/h"},
        "initial": {"values": values}, "boundary": {"values": values}, "run": {"threads": 1},
        "process": [{"file": f"{name}.py", **own, **(files or {}).get(name, {})} for name, own in FILES.items()],
    }  # fmt: skip
    chosen = {key: {**base.get(key, {}), **section} for key, section in sections.items()}
    return airshed.Case.from_dict({**base, **chosen}, base=folder).allowing_code()
