"""Sectors of emission in plain words, by the codes of the GNFR nomenclature of EMEP, which inventories use."""

from types import MappingProxyType
from typing import Final

SECTORS: Final = MappingProxyType(
    {
        "A_PublicPower": "Public power",
        "B_Industry": "Industry",
        "C_OtherStatComb": "Heating of homes and offices",
        "D_Fugitive": "Leaks of fuels",
        "E_Solvents": "Solvents",
        "F_RoadTransport": "Road transport",
        "G_Shipping": "Shipping",
        "H_Aviation": "Aviation",
        "I_Offroad": "Tractors, trains and machines",
        "J_Waste": "Waste",
        "K_AgriLivestock": "Livestock",
        "L_AgriOther": "Other agriculture",
        "M_Other": "Other sources",
    }
)
"""Names of the sectors by their code, which settings such as ``emissions.scale.F_RoadTransport`` use."""


def sector_in_words(code: str) -> str:
    """Return the name of a sector; another code with spaces instead of underscores."""
    return SECTORS.get(code) or code.replace("_", " ")
