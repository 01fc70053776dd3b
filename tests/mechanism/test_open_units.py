"""Units of open parameters, inferred from their position in rates."""

from pathlib import Path

import pytest

from airshed.mechanism import load_mechanism
from airshed.mechanism.structure import units_of_open

RATES = {
    "A = B : x": ("1/s",),
    "A + hv = B : x": ("1/s",),
    "A + B = PROD : x": ("cm3/s",),
    "A + B + O2 = PROD : x": ("cm6/s",),
    "hv = A : x": ("molecules/cm3/s",),
    "A = B : x*SUN": ("1/s",),
    "A = B : -x + 1e-5": ("1/s",),
    "A = B : x*M": ("cm3/s",),
    "A + B = A : x/O2": ("1/s",),
    "A = B : 0.5*x": ("1/s", "1"),
    "A = B : x*1e-5*exp(-300/TEMP)": ("1/s", "1"),
    "A = B : x*(TEMP/300)^2": ("1/s", "1"),
    "A = B : exp(-x/TEMP)": None,
    "A = B : x*TEMP": None,
    "A = B : 1e-5/x": None,
    "A = B : x*y": None,
    "A = B : x + exp(x)": None,
    "A = B : x;\nA + B = A : x": ("1/s", "cm3/s"),
}


@pytest.mark.parametrize(("equations", "units"), RATES.items(), ids=RATES)
def test_units_follow_from_the_order(tmp_path: Path, equations: str, units: tuple[str, ...] | None) -> None:
    path = tmp_path / "m.eqn"
    path.write_text(f"#DEFVAR\nA = IGNORE; B = IGNORE;\n#DEFFIX O2 = 2O;\n#EQUATIONS\n{equations};\n", encoding="utf-8")
    assert units_of_open(load_mechanism(path)).get("x") == units
