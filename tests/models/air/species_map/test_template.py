"""Template of a species map: entries for unambiguous names, and a map that runs once its questions are answered."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from airshed.core.errors import CaseError
from airshed.core.files import resource
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.models.air.boundary.profiles import read_profile
from airshed.models.air.emissions.split import isoprene_notes, kept_notes, read_split
from airshed.models.air.map_template import template
from airshed.models.air.species_map import (
    BoundaryMap,
    EmissionMap,
    SpeciesMap,
    fit,
    read_species_map,
    shipped_species_map,
)
from airshed.models.air.species_map.families import counted_twice, doubts, families, meanings_of, substances
from airshed.models.air.species_map.parts import depositing_species

from .test_shipped import compounds


def test_that_of_emep_is_its_map(tmp_path: Path) -> None:
    network = load_mechanism("emep")
    path = tmp_path / "emep.species.toml"
    path.write_text(template(network))
    found, shipped = read_species_map(path), read_species_map(_shipped())
    assert found.emissions.becomes == dict(shipped.emissions.becomes)
    assert found.boundary.zero == shipped.boundary.zero
    assert found.boundary.profile == shipped.boundary.profile
    assert dict(found.boundary.uniform) == pytest.approx(dict(shipped.boundary.uniform))
    assert dict(found.deposition.surrogate) == dict(shipped.deposition.surrogate)
    assert not found.guesses


def test_what_no_name_tells_is_asked_and_then_missing(smog: Path, tmp_path: Path) -> None:
    equations = smog / "smog.eqn"
    equations.write_text(re.sub(r"(\w+) = [\w+ ]+;", r"\1 = IGNORE;", equations.read_text(), count=7))
    network = load_mechanism(equations)
    text = template(network)
    assert "smog.species.toml in the folder of the mechanism" in text
    asked = re.findall(r'^#\? "?([\w>-]+)"? =', text, re.MULTILINE)
    path = tmp_path / "begun.toml"
    path.write_text(text)
    with pytest.raises(CaseError) as caught:
        fit(
            read_species_map(path), network, "smog", compounds=compounds(), boundary=network.names,
            deposition=network.names,
        )  # fmt: skip
    assert (
        re.findall(r"[\w>-]+", re.sub(r"\(.*?\)|\[\w+\]", "", "".join(str(caught.value).splitlines()[1:-1]))) == asked
    )
    assert {"RUBBER", "j_light", "isoprene", "NO"} < set(asked)


def test_atoms_decide_where_names_do_not(smog: Path, tmp_path: Path) -> None:
    found = _map(template(load_mechanism(smog / "smog.eqn")), tmp_path)
    assert found.emissions.becomes == {
        "NO": {"NIT1": 1.0}, "NO2": {"NIT2": 1.0}, "CO": {"CMONO": 1.0}, "NC4H10": {"BUTANE": 1.0},
        "isoprene": {"RUBBER": 1.0},
    }  # fmt: skip
    assert found.boundary.profile["OZONE"] == {"O3": 1.0}
    assert not found.guesses


RACM = """
#DEFVAR
ISO = {c5h8}; ISOP = IGNORE; ETH = {c2h6}; ETE = {c2h4};
HONO = {hono}; NO2 = {no2}; NO = {no}; HO = {ho};
#EQUATIONS
<1> ISO + HO = ISOP : 1e-10;
<2> ISOP + NO = NO2 : 4e-12;
<3> ETH + HO = HO : 2.4e-13;
<4> ETE + HO = HO : 8e-12;
<5> HONO = HO + NO : 1e-3;
"""
ATOMS = {
    "c5h8": "5C + 8H", "c2h6": "2C + 6H", "c2h4": "2C + 4H", "hono": "H + N + 2O", "no2": "N + 2O", "no": "N + O",
    "ho": "O + H",
}  # fmt: skip


@pytest.mark.parametrize("told", [True, False])
def test_racm_and_its_kin_have_their_own_isoprene_and_ethane(told: bool, tmp_path: Path) -> None:
    text = _template(RACM.format(**(ATOMS if told else dict.fromkeys(ATOMS, "IGNORE"))), tmp_path)
    found = _map(text, tmp_path)
    assert found.emissions.becomes["isoprene"] == {"ISO": 1.0}
    assert found.emissions.becomes["C2H6"] == {"ETH": 1.0}
    assert found.emissions.becomes["C2H4"] == {"ETE": 1.0}
    assert found.boundary.profile["ISO"] == {"ISOP": 1.0}
    assert found.boundary.profile["ETH"] == {"ETHA": 1.0}
    assert found.boundary.profile["HONO"] == {"HONO": 1.0}
    assert found.boundary.profile["NO2"] == {"NO2": 1.0, "PNA": 1.0}, "HONO counts once"
    assert "ISOP" in found.boundary.zero
    assert found.names == {"ISOPRE": "ISO", "C2H6": "ETH", "C2H4": "ETE", "OH": "HO"}, "those of cases"
    assert "RADM2 and RACM, recognised by ETE, HO, ISO" in text
    assert ("isoprene" in found.guesses.get("emissions", ())) == (not told), "names alone are a guess"
    assert ("isoprene = { ISO = 1 } # guess: as in RADM2 and RACM" in text) == (not told)


def test_carbon_bond_names_are_those_of_carbon_bond(tmp_path: Path) -> None:
    names = "O3 NO NO2 HONO PNA HNO3 PAN CO FORM ALD2 PAR OLE ETH TOL XYL ISOP CRES OPEN C2O3 ROR XO2N NTR"
    found = _map(_template(_alone(names), tmp_path), tmp_path)
    assert found.emissions.becomes["isoprene"] == {"ISOP": 1.0}
    assert found.emissions.becomes["C2H4"] == {"ETH": 1.0}
    assert found.emissions.becomes["C2H6"] == {"PAR": 2.0}, "carbon is conserved"
    assert found.emissions.becomes["C3H6"] == {"OLE": 1.0, "PAR": 1.0}
    assert found.boundary.profile["ETH"] == {"ETH": 1.0}
    assert found.boundary.profile["NO2"] == {"NO2": 1.0}
    assert found.emissions.carbon["PAR"] == 1.0
    assert {"ROR", "XO2N", "C2O3"} < set(found.boundary.zero)
    assert {"C2H6", "isoprene", "C2H4"} < set(found.guesses["emissions"])


@pytest.mark.parametrize(
    ("names", "title", "isoprene"),
    [
        ("CCHO RCHO ALK1 ALK2 ALK3 ALK5 ARO1 OLE1 ISOPRENE ETHENE", "SAPRC", "ISOPRENE"),
        ("BIGALK BIGENE ISOP CH3COCHO GLYALD ONITR CH2O XYLENES", "MOZART", "ISOP"),
        ("ALK4 PRPE ISOP ALD2 MP ACTA R4N2 CH2O HNO2", "GEOS-Chem", "ISOP"),
        ("C5H8 NC4H10 GLYOX MGLYOX HOCH2CHO CH3O2 C2H4", "MCM", "C5H8"),
        ("HC3 HC5 OL2 OLT OLI ISO TOL XYL CSL ALD KET", "RADM2", "ISO"),
        ("HC3 HC5 HC10 ETE OLT OLI ISO ISOP XYM BEN ACD ALD ACO3", "RACM", "ISO"),
    ],
)
def test_families_are_recognised_by_several_species(names: str, title: str, isoprene: str, tmp_path: Path) -> None:
    text = _template(_alone(names), tmp_path)
    assert title in text.split("The names are those of ")[1].split(", recognised by")[0]
    assert _map(text, tmp_path).emissions.becomes["isoprene"] == {isoprene: 1.0}


def test_without_a_family_an_ambiguous_name_is_a_question(tmp_path: Path) -> None:
    text = _template(_alone("ISOP ETH O3 NO NO2"), tmp_path)
    found = _map(text, tmp_path)
    assert "isoprene" not in found.emissions.becomes
    assert "C2H4" not in found.emissions.becomes
    assert re.search(r"#\? isoprene = # ISOP is a radical in RADM2 and RACM, isoprene in carbon bond", text)
    assert re.search(r"#\? ETH = # C2H6 in RADM2 and RACM, C2H4 in carbon bond", text)
    assert found.boundary.profile["O3"] == {"O3": 1.0}


def test_atoms_that_contradict_a_name_make_it_a_question(tmp_path: Path) -> None:
    text = _template("#DEFVAR\nO3 = 3O; C2H6 = 2C + 4H; NO2 = N + O;\n#EQUATIONS\n<1> O3 = NO2 : 1;", tmp_path)
    found = _map(text, tmp_path)
    assert "C2H6" not in found.emissions.becomes
    assert found.emissions.becomes["C2H4"] == {"C2H6": 1.0}, "its atoms are those of ethene"
    assert found.emissions.becomes["NO"] == {"NO2": 1.0}
    assert "NO2" not in found.emissions.becomes


def test_two_species_of_one_column_are_a_question(tmp_path: Path) -> None:
    text = _template(_alone("HC3 OLT ISO ACO3 TPAN MPAN"), tmp_path)
    assert re.search(r"#\? TPAN = # TPAN, MPAN share the column OPAN", text)


def test_guesses_must_be_entries(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"x\.toml:\d+: guesses\.boundary: 'O4' has no entry; remove it"):
        _map("[boundary]\nO3 = { O3 = 1 }\n[guesses]\nboundary = ['O4']\n", tmp_path)
    with pytest.raises(CaseError, match=r"guesses\.bundary: did you mean"):
        _map("[boundary]\nO3 = { O3 = 1 }\n[guesses]\nbundary = ['O3']\n", tmp_path)


def test_a_run_lists_what_guesses_decide(tmp_path: Path) -> None:
    network = _network(RACM.format(**dict.fromkeys(ATOMS, "IGNORE")), tmp_path)
    found = _map(template(network), tmp_path)
    told = doubts(found, network, ["isoprene", "C2H6", "NO"])
    assert len(told) == 1
    assert "x.toml guesses: emission of C2H6 as ETH, isoprene as ISO; clean air of ISO, ISOP, ETH, ETE" in told[0]
    assert doubts(replace(found, guesses={}), network, ["isoprene"]) == []


def test_a_run_notices_a_map_that_contradicts_its_family(tmp_path: Path) -> None:
    network = _network(RACM.format(**ATOMS), tmp_path)
    wrong = SpeciesMap("x.toml", emissions=EmissionMap({"isoprene": {"ISOP": 1.0}}))
    told = doubts(wrong, network, ["isoprene"])
    assert told == ["isoprene is mapped to ISOP, but is ISO in mechanisms like RADM2 and RACM"]
    twice = BoundaryMap(profile={"NO2": {"NO2": 1.0, "HONO": 1.0}, "HONO": {"HONO": 1.0}})
    assert counted_twice(twice) == ["[boundary] counts the column HONO in NO2 and in HONO; remove it from all but one"]


@pytest.mark.parametrize("name", ["emep", "carbon_bond", "ts1", "pollu", "chapman", "small_strato"])
def test_no_shipped_map_counts_twice(name: str) -> None:
    assert counted_twice(shipped_species_map(name).boundary) == []


def test_carbon_and_nitrogen_that_arrive(tmp_path: Path) -> None:
    network = _network(_alone("HC3 HC5 ETE OLT ISO XYL TOL NO NO2 ETH ACO3"), tmp_path)
    found = _map(template(network), tmp_path)
    split = read_split(resource("cases/west-europe/emissions") / "species_split.csv")
    notes = kept_notes(split, found.emissions, network)
    assert any("NOx" in note and "its nitrogen 100.0 % conserved" in note for note in notes)
    assert any("NMVOC" in note and "its carbon 100.0 % conserved" in note for note in notes)
    assert isoprene_notes(found.emissions, network, ["isoprene"]) == [
        "isoprene of vegetation as ISO: its carbon 100.0 % conserved"
    ]
    lost = replace(found.emissions, becomes={**found.emissions.becomes, "NO": {}})
    assert any("its nitrogen 5.0 % conserved" in note for note in kept_notes(split, lost, network)), "19 of 20 are lost"


def test_the_tables_of_families_hold_together() -> None:
    columns = read_profile("clean-air").columns
    for family in (each for base in families() for each in (base, *base.variants)):
        lumped = [row.get("boundary", {}) for row in family.lumped.values()]
        assert {column for row in lumped for column in row} <= set(columns)
        assert set(family.names.values()) <= set(substances())
        assert not set(family.names) & family.radicals
        assert not set(family.lumped) & (set(family.names) | family.radicals)
        deposits = {row["deposits"].casefold() for row in family.lumped.values() if "deposits" in row}
        assert deposits <= set(depositing_species())
        for compound, ways in family.emissions.items():
            for way in ways:
                carbon = sum(factor * family.lumped[name]["carbon"] for name, factor in way.items())
                assert carbon == pytest.approx(substances()[compound].carbon, rel=1e-3), (family.title, compound)


COLUMNS = {
    "ETHA": 2, "PRPA": 3, "PAR": 1, "ETHY": 2, "ETH": 2, "OLE": 2, "IOLE": 4, "ISOP": 5, "ISPD": 4,
    "BENZENE": 6, "TOL": 7, "XYLMN": 8, "FORM": 1, "ALD2": 2, "ALDX": 2, "GLY": 2, "MGLY": 3, "MEOH": 1, "ETOH": 2,
    "ACET": 3, "KET": 1,
}  # fmt: skip
"""Atoms of carbon that a mole of a column of the profile holds."""

INORGANIC = "O3 NO NO2 NO3 N2O5 HONO HNO3 HNO4 H2O2 CO CH4 SO2 OH HO2"
LISTS = {
    "RADM2": """
        HO HC3 HC5 HC8 ETH OL2 OLT OLI ISO TOL XYL CSL HCHO ALD KET GLY MGLY DCB ONIT PAN TPAN OP1 OP2 PAA
        ACO3
    """,
    "RACM": """
        HO HC3 HC5 HC8 ETH ETE OLT OLI DIEN ISO API TOL XYL CSL HCHO ALD KET GLY MGLY MACR PAN TPAN ISOP
        ACO3
    """,
    "RACM2": """
        HO HC3 HC5 HC8 ETH ETE ACE OLT OLI DIEN ISO API BEN TOL XYM XYP XYO CSL HCHO ACD ALD ACT MEK KET
        UALD GLY MGLY MACR MVK MOH EOH PAN PPN MPAN ISOP ACO3
    """,
    "CRACMM1": """
        HO HC3 HC5 HC10 ETH ETE ACE OLT OLI ISO API LIM BEN TOL XYE XYM CSL HCHO ACD ALD ACT MEK KET UALD GLY
        MGLY MACR MVK MOH EOH ROH PAN PPN MPAN ISOP ACO3 FURAN BDE13 ACRO NAPH PHEN DCB1
    """,
    "CRACMM2": """
        HO HC3 HC5 HC10 ETH ETE ACE OLT OLI ISO API LIM BEN TOL XYL EBZ STY HCHO ACD ALD ACT MEK KET UALD GLY
        MGLY MACR MVK MOH EOH ROH PAN PPN MPAN ISOP ACO3
    """,
    "CB4": """
        PAR OLE ETH ISOP TOL XYL FORM ALD2 MGLY CRES OPEN PAN PNA NTR C2O3 ROR XO2N
    """,
    "CB05": """
        PAR OLE IOLE ETH ETHA ISOP ISPD TERP TOL XYL FORM ALD2 ALDX MGLY MEOH ETOH CRES PAN PANX PNA NTR
        C2O3 CXO3
    """,
    "CB6": """
        PAR OLE IOLE ETH ETHA PRPA ETHY ACET KET ISOP ISPD INTR ISPX BENZENE TOL XYLMN FORM ALD2 ALDX GLY
        MGLY MEOH ETOH PAN PANX OPAN PNA NTR1 NTR2 C2O3 CXO3
    """,
    "SAPRC-99": """
        ALK1 ALK2 ALK3 ALK4 ALK5 ETHENE OLE1 OLE2 ISOPRENE TERP ARO1 ARO2 HCHO CCHO RCHO ACET MEK PROD2 GLY
        MGLY MEOH METHACRO MVK ISOPROD PAN PAN2 MA_PAN RNO3 RO2_R
    """,
    "MOZART": """
        C2H6 C3H8 BIGALK C2H4 C3H6 BIGENE ISOP TOLUENE XYLENES BENZENE CH2O CH3CHO CH3COCH3 MEK GLYOXAL
        CH3COCHO CH3OH C2H5OH MACR MVK PAN MPAN ONITR HO2NO2 HYDRALD
    """,
    "GEOS-Chem": """
        C2H6 C3H8 ALK4 C2H4 PRPE ISOP BENZ TOLU XYLE CH2O ALD2 RCHO ACET MEK GLYX MGLY MOH EOH MACR MVK PAN
        PPN R4N2 HNO2 MP ACTA
    """,
    "MCM": """
        C2H6 C3H8 NC4H10 C2H4 C3H6 C5H8 BENZENE TOLUENE OXYL HCHO CH3CHO CH3COCH3 MEK GLYOX MGLYOX CH3OH
        C2H5OH MACR MVK PAN MPAN HOCH2CHO CH3CO3H
    """,
}


@pytest.mark.parametrize("name", LISTS)
def test_no_column_counts_twice_and_emitted_carbon_is_kept(name: str, tmp_path: Path) -> None:
    network = _network(_alone(" ".join(dict.fromkeys(f"{INORGANIC} {LISTS[name]}".split()))), tmp_path)
    found, known = _map(template(network), tmp_path), meanings_of(network).species
    counted: dict[str, float] = {}
    for species, columns in found.boundary.profile.items():
        meaning = known[species]
        carbon = substances()[meaning.substance].carbon if meaning.substance else meaning.carbon or 0
        for column, factor in columns.items():
            counted[column] = counted.get(column, 0.0) + factor * carbon
    for column, carbon in COLUMNS.items():
        assert counted.get(column, 0.0) <= 1.02 * carbon, column
    for column in ("NO2", "HONO", "PNA", "OH", "O3", "PAN", "PANX"):
        assert sum(columns.get(column, 0.0) for columns in found.boundary.profile.values()) <= 1.0, column
    split = read_split(resource("cases/west-europe/emissions") / "species_split.csv")
    organic = {"NMVOC": split["NMVOC"]}
    assert {each.name for each in organic["NMVOC"]} <= set(found.emissions.becomes)
    assert "its carbon 100.0 % conserved" in kept_notes(organic, found.emissions, network)[0]
    assert isoprene_notes(found.emissions, network, ["isoprene"])[0].endswith("its carbon 100.0 % conserved")


def _alone(names: str) -> str:
    """A mechanism of species without atoms."""
    return f"#DEFVAR {' '.join(f'{name} = IGNORE;' for name in names.split())}\n#EQUATIONS {{}}\n"


def _network(text: str, folder: Path) -> ReactionNetwork:
    (folder / "toy.def").write_text(text)
    return load_mechanism(folder / "toy.def")


def _template(text: str, folder: Path) -> str:
    return template(_network(text, folder))


def _map(text: str, folder: Path) -> SpeciesMap:
    (folder / "x.toml").write_text(text)
    return read_species_map(folder / "x.toml")


def _shipped() -> Path:
    from airshed.models.air.species_map.read import shipped_species_map

    return Path(shipped_species_map("emep").source)


def test_all_xylenes_share_their_column(tmp_path: Path) -> None:
    for names, right in (("XYE XYM", {"XYE": 0.667, "XYM": 0.333}), ("XYL EBZ", {"XYL": 1.0}), ("XYM XYO XYP", None)):
        found = _map(_template(_alone(f"HC3 HC5 HC10 OLT OLI ISO ACD EOH {names}"), tmp_path), tmp_path)
        shares = {name: row["XYLMN"] for name, row in found.boundary.profile.items() if "XYLMN" in row}
        assert shares == (right or dict.fromkeys(("XYM", "XYO", "XYP"), 0.333))
        assert found.emissions.becomes["OXYL"] == {{"XYE XYM": "XYE", "XYL EBZ": "XYL"}.get(names, "XYO"): 1.0}


def test_columns_that_nothing_counts_are_a_remark(tmp_path: Path) -> None:
    text = _template(_alone("O3 NO NO2 OH HO2 PAR OLE ALD2 ETH"), tmp_path)
    remark = next(line for line in text.splitlines() if line.startswith("# Columns of the profile that no entry uses"))
    assert {"ISOP", "TOL", "XYLMN", "CO"} < set(remark.removesuffix(".").partition(": ")[2].split(", "))
    assert "HONO" not in remark, "it is part of NO2"


def test_names_that_mean_the_same_everywhere(tmp_path: Path) -> None:
    found = _map(_template(_alone("CH3CO2H BENZ"), tmp_path), tmp_path)
    assert found.boundary.profile == {"CH3CO2H": {"AACD": 1.0}, "BENZ": {"BENZENE": 1.0}}
    assert found.deposition.surrogate == {"CH3CO2H": "CH3COOH"}
    assert not found.guesses


def test_a_sum_of_species_is_not_asked_for(tmp_path: Path) -> None:
    code = "#INLINE F90_RCONST\n RO2 = C(ind_CH3O2) + C(ind_C2H5O2)\n#ENDINLINE\n"
    text = _alone("CH3O2 C2H5O2 HCHO") + f"{code}#EQUATIONS\nCH3O2 = HCHO : 1e-13*RO2;\n"
    network = _network(text, tmp_path)
    assert "RO2" in network.names
    assert not [line for line in template(network).splitlines() if " RO2 " in f" {line} "]


def test_a_shipped_map_of_a_mechanism_with_other_species_is_a_guess(tmp_path: Path) -> None:
    """As CB05 of WRF-Chem is: in small letters, without counters of aerosols, with more species."""
    boundary = shipped_species_map("carbon_bond").boundary
    names = [*boundary.zero, *boundary.profile, *boundary.uniform]
    whole = _map(_template(_alone(" ".join(names)), tmp_path), tmp_path)
    assert not whole.guesses, "the map is that of the mechanism"
    fewer = sorted(name.lower() for name in names if not name.endswith("RO2") and name != "SESQ")
    text = _template(_alone(" ".join([*fewer, "terpaer"])), tmp_path)
    found = _map(text, tmp_path)
    assert "the shipped map carbon_bond: guesses, since the mechanism lacks species of that map" in text
    assert found.emissions.becomes["NC4H10"] == {"par": 4.0}
    assert {"NC4H10", "OXYL", "isoprene", "NH3"} <= set(found.guesses["emissions"]), (
        "NH3 maps to no species, and the template reports it"
    )
    assert {"NO", "CO", "C2H6"}.isdisjoint(found.guesses["emissions"]), "names that mean the same everywhere"
    assert found.boundary.profile["ntr"] == {"NTR1": 1.0, "NTR2": 1.0, "INTR": 1.0}
    assert "hcl" in found.guesses["boundary"]
    assert "#? terpaer =" in text
