"""Small mechanisms in the OpenAtmos format v1 and in Camp JSON, with a reaction of each type."""

import copy
from typing import Any

GAS = {"gas phase": "gas"}
A, B = [{"name": "A"}], [{"name": "B"}]
AB = {**GAS, "reactants": [{"name": "A"}, {"species name": "B", "coefficient": 1}], "products": [{"name": "C"}]}
FALLOFF = {"k0_B": -1.5, "k0_C": 20.0, "kinf_B": 0.3, "kinf_C": -100.0, "Fc": 0.45, "N": 1.2}

REACTIONS: list[dict[str, Any]] = [
    {"type": "ARRHENIUS", "A": 2.1e6, "B": -1.3, "C": 250.0, "D": 280.0, "E": 1e-6, **AB},
    {"type": "ARRHENIUS", "name": "by energy", "A": 3e-4, "Ea": 2e-20, **GAS, "reactants": A, "products": B},
    {"type": "TAYLOR_SERIES", "A": 3e5, "C": 80.0, "taylor coefficients": [1.1], **AB},
    {"type": "TUNNELING", "A": 9e5, "B": 900.0, "C": 2.1e7, **AB},
    {"type": "TROE", "k0_A": 30.0, "kinf_A": 4e6, **FALLOFF, **AB},
    {
        "type": "TROE", "k0_A": 30.0, "kinf_A": 4e6, **FALLOFF, **GAS,
        "reactants": [*A, *B, {"name": "M"}], "products": [{"name": "C"}, {"name": "M"}],
    },
    {"type": "TERNARY_CHEMICAL_ACTIVATION", "k0_A": 2e5, "kinf_A": 3e8, **FALLOFF, **AB},
    {
        "type": "TERNARY_CHEMICAL_ACTIVATION_JPL19", "k0_A": 2500.0, "kinf_A": 6e5, "kint_A": 1.1e5, "k0_D": 298.0,
        "kinf_D": 290.0, "kint_D": 280.0, "kint_B": 0.4, "kint_C": -65.0, **FALLOFF, **AB,
    },
    {
        "type": "BRANCHED_NO_RO2", "name": "peroxy", "X": 1.6e6, "Y": -360.0, "a0": 0.14, "n": 8, **GAS,
        "reactants": [*A, *B], "alkoxy products": [{"name": "C"}], "nitrate products": [{"name": "D"}],
    },
    {
        "type": "SURFACE", "name": "dust", "reaction probability": 0.02, **GAS, "gas-phase species": "A",
        "gas-phase products": [{"name": "B", "coefficient": 0.5}],
    },
    {"type": "PHOTOLYSIS", "name": "jA", "scaling factor": 0.7, **GAS, "reactants": A, "products": B},
    {"type": "EMISSION", "name": "of A", "scaling factor": 2.0, **GAS, "products": A},
    {"type": "FIRST_ORDER_LOSS", "name": "A", **GAS, "reactants": A},
    {"type": "USER_DEFINED", "name": "own", "scaling factor": 1.5, **AB, "__rate_of": "nothing"},
    {
        "type": "ARRHENIUS", "name": "of fixed ones", "A": 2.0, **GAS,
        "reactants": [*A, {"name": "K"}, {"name": "Q"}, {"name": "O2"}], "products": B,
    },
]  # fmt: skip

SPECIES: list[dict[str, Any]] = [
    {"name": "A", "molecular weight [kg mol-1]": 0.046, "__description": "the first"},
    {"name": "B", "__atoms": {"N": 1, "O": 2}},
    {"name": "C", "__atoms": 3, "absolute tolerance": 1e-12},
    {"name": "D"},
    {"name": "M", "is third body": True},
    {"name": "K", "constant concentration [mol m-3]": 3.0},
    {"name": "Q", "constant mixing ratio [mol mol-1]": 0.25},
    {"name": "O2", "constant mixing ratio [mol mol-1]": 0.11},
    {"name": "aerosol only"},
]

PHASE = {
    "name": "gas",
    "species": [{"name": "A", "diffusion coefficient [m2 s-1]": 1.4e-5}, *({"name": x} for x in "BCDMKQ"), "O2"],
}

DOCUMENT: dict[str, Any] = {
    "version": "1.4.0",
    "name": "all_types",
    "__remark": ["any", {"thing": 1}],
    "species": SPECIES,
    "phases": [PHASE],
    "reactions": REACTIONS,
}


def document(**changes: Any) -> dict[str, Any]:
    """Return a copy of the mechanism with all types, with other members."""
    return {**copy.deepcopy(DOCUMENT), **changes}


def with_reaction(**members: Any) -> dict[str, Any]:
    """Return the mechanism with one reaction alone."""
    return document(reactions=[members])


CAMP_REACTIONS: list[dict[str, Any]] = [
    {"type": "ARRHENIUS", "A": 2.1e-12, "B": -1.3, "C": 250.0, "D": 280.0, "E": 1e-6, "reactants": {"A": {}, "B": {}}},
    {"type": "ARRHENIUS", "A": 6e-34, "B": -2.4, "reactants": {"A": {"qty": 2}, "M": {}}},
    {"type": "TROE", "k0_A": 9e-32, "kinf_A": 3e-11, **FALLOFF, "reactants": {"A": {}, "B": {}}},
    {"type": "TROE", "k0_A": 9e-32, "kinf_A": 3e-11, **FALLOFF, "reactants": {"A": {}, "M": {}}},
    {"type": "TERNARY_CHEMICAL_ACTIVATION", "k0_A": 1e-13, "kinf_A": 2e6, **FALLOFF, "reactants": {"A": {}, "B": {}}},
    {"type": "TUNNELING", "A": 9e-12, "B": 900.0, "C": 2.1e7, "reactants": {"A": {}, "B": {}}},
    {"type": "PHOTOLYSIS", "MUSICA name": "jA", "scaling factor": 0.7, "reactants": {"A": {}}},
    {"type": "USER_DEFINED", "MUSICA name": "own", "scaling factor": 1.5, "reactants": {"A": {}, "B": {}}},
]

CAMP_SPECIES: list[dict[str, Any]] = [
    {"type": "RELATIVE_TOLERANCE", "value": 1e-6},
    {"type": "CHEM_SPEC", "name": "A", "molecular weight [kg mol-1]": 0.046},
    {"type": "CHEM_SPEC", "name": "B"},
    {"type": "CHEM_SPEC", "name": "M", "tracer type": "THIRD_BODY"},
]


def camp(**changes: Any) -> dict[str, Any]:
    """Return the files of a Camp mechanism by their names."""
    reactions = [{"products": {"B": {"yield": 0.5}}, **copy.deepcopy(each)} for each in CAMP_REACTIONS]
    mechanism = {"type": "MECHANISM", "name": "camp", "reactions": reactions}
    files: dict[str, Any] = {
        "config.json": {"camp-files": ["species.json", "reactions.json"]},
        "species.json": {"camp-data": copy.deepcopy(CAMP_SPECIES)},
        "reactions.json": {"camp-data": [mechanism]},
    }
    return files | changes
