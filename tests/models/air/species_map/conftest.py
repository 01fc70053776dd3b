"""A small mechanism of smog, its species map, and a case in which it runs."""

from pathlib import Path

import pytest

NAMES = {
    "O3": "OZONE",
    "NO": "NIT1",
    "NO2": "NIT2",
    "CO": "CMONO",
    "NC4H10": "BUTANE",
    "ISOPRE": "RUBBER",
    "PAN": "PEROX",
}
"""The EMEP mechanism's names of its species, and the mechanism's own."""

EQUATIONS = """\
#DEFVAR
OZONE = 3O; NIT1 = N + O; NIT2 = N + 2O; CMONO = C + O; BUTANE = 4C + 10H; RUBBER = 5C + 8H; PEROX = 2C + 3H + N + 5O;
#EQUATIONS
<1> NIT2 + hv = NIT1 + OZONE : j_light;
<2> NIT1 + OZONE = NIT2 : 1.8e-12*exp(-1370/TEMP);
<3> BUTANE + NIT2 = PEROX : k_fast;
<4> RUBBER + OZONE = CMONO : 1.2e-14*exp(-2013/TEMP);
<5> PEROX = BUTANE + NIT2 : 1e-4;
"""

MAP = """\
# Smog under other names.
caution = '''
  A toy.
'''
[names]
none = ["SO2", "SA"]

[emissions]
none = ["SO2", "SA", "NH3", "C2H6", "C2H4", "C3H6", "OXYL", "C2H5OH"]
NO = { NIT1 = 1 }
NO2 = { nit2 = 1 }
CO = { CMONO = 1 }
NC4H10 = { BUTANE = 1 }
isoprene = { RUBBER = 1 }

[boundary]
OZONE = { O3 = 1 }
NIT1 = { NO = 1 }
NIT2 = { NO2 = 1, HONO = 1, PNA = 1 }
CMONO = { CO = 1 }
BUTANE = { PAR = 0.25, PRPA = 0.75 }
RUBBER = { ISOP = 1 }
PEROX = { PAN = 1, PANX = 1 }

[deposition]
none = ["NIT1", "CMONO", "BUTANE", "RUBBER"]
OZONE = "O3"
NIT2 = "NO2"
PEROX = "PAN"

[rates]
j_light = "PHOTO(1.45e-2, 0.4)"
k_fast = "1e-16*sqrt(TEMP/300)"
"""


def in_emep_names(text: str) -> str:
    """The same with the species called as in the EMEP mechanism."""
    for emep, own in NAMES.items():
        text = text.replace(own, emep).replace(own.lower(), emep)
    return text


@pytest.fixture
def smog(tmp_path: Path) -> Path:
    """Return a folder with the mechanism in both namings, smog.eqn and same.eqn, each with its species map."""
    for name, change in (("smog", str), ("same", in_emep_names)):
        (tmp_path / f"{name}.eqn").write_text(change(EQUATIONS))
        (tmp_path / f"{name}.species.toml").write_text(change(MAP))
    return tmp_path
