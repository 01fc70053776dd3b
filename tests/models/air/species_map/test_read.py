"""Reading a species map: all sections; messages for invalid entries name the file and the line."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import AirshedError, CaseError
from airshed.models.air.species_map import Compound, read_species_map

WHOLE = """\
mechanisms = ["mine", "Mine 2.0"]

[names]
none = ["SA"]
HCHO = "FORM"

[split.NOx]
NO = { mass = 0.9, molar_mass = "46.0055 g/mol" }
NO2 = { mass = 0.1, molar_mass = "46.0055 g/mol", carbon = 0 }

[emissions]
none = ["NH3"]
NC4H10 = { PAR = 4, OLE = 0.5 }

[boundary]
zero = ["OH"]
CH4 = "1.91 ppm"
O3 = { O3 = 1, "odd column" = 0.5 }

[deposition]
none = "others"
FORM = "HCHO"

[rates]
"O3->O1D" = 1e-5
k_x = "2*TEMP"
PHOTO.NO2 = "k_x"

[rates.SURF.dust]
"radius [m]" = 1e-7

[carbon]
PAR = 1
"""


def test_each_section(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(WHOLE)
    found = read_species_map(tmp_path / "m.toml")
    assert found.mechanisms == ("mine", "Mine 2.0")
    assert found.names == {"SA": "", "HCHO": "FORM"}
    no, no2 = found.emissions.split["NOx"]
    assert no == Compound("NO", 0.9, pytest.approx(0.0460055))
    assert no2.carbon == 0.0
    assert found.emissions.becomes == {"NH3": {}, "NC4H10": {"PAR": 4.0, "OLE": 0.5}}
    assert ("NH3" in found.emissions, "CO" in found.emissions) == (True, False)
    assert found.emissions.carbon == {"PAR": 1.0}
    boundary = found.boundary
    assert (boundary.name, boundary.zero) == ("m.toml", {"OH"})
    assert boundary.uniform == {"CH4": pytest.approx(1.91e-6)}
    assert boundary.profile == {"O3": {"O3": 1.0, "odd column": 0.5}}
    assert ("CO" in boundary, "CO" in found.deposition) == (False, True)
    assert found.deposition.surrogate == {"FORM": "HCHO"}
    assert found.rates == {"O3->O1D": 1e-5, "k_x": "2*TEMP", "PHOTO.NO2": "k_x", "SURF.dust.radius [m]": 1e-7}


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("")
    found = read_species_map(tmp_path / "m.toml")
    assert "O3" not in found.boundary
    assert "O3" not in found.deposition
    assert "NOx" not in found.emissions


@pytest.mark.parametrize("document", ["species-maps.md", "boundaries.md"])
def test_the_examples_of_the_documents_are_maps(tmp_path: Path, document: str) -> None:
    text = (Path(__file__).parents[4] / "docs" / "how-to" / document).read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    other = r"profiles =|^\[\[output\]\]|^\[initial\]|^\[species\]"  # case files, maps of another model
    examples = [each for each in blocks if not re.search(other, each, re.MULTILINE)]
    assert examples
    for example in examples:
        (tmp_path / "m.toml").write_text(example)
        read_species_map(tmp_path / "m.toml")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[boundary]", "[boundry]", r"m\.toml:15: a species map has no 'boundry'; did you mean boundary\?"),
        ("[boundary]", f"[{90 * 'x'}]", rf"m\.toml:15: a species map has no '{56 * 'x'}\.\.\.; "),
        ("[boundary]", "[boundary", r"m\.toml:15:\d+: this is not TOML"),
        ('zero = ["OH"]', "zero = 0", r"m\.toml:16: boundary\.zero must be a list of names"),
        ('zero = ["OH"]', 'zero = "rest"', r"must be a list of names .* or \"others\""),
        ('zero = ["OH"]', 'zero = ["O3"]', r"m\.toml:16: boundary: O3 has an entry and is also in 'zero'"),
        ('"1.91 ppm"', "1.91", r"m\.toml:17: boundary\.CH4 must be a mixing ratio such as"),
        ('"1.91 ppm"', '"1.91 K"', r"m\.toml:17: boundary\.CH4 .*wrong kind of unit"),
        ('"1.91 ppm"', '"-1 ppm"', r"m\.toml:17: boundary\.CH4 = -1e-06 must be a number of 0 or more"),
        ("{ O3 = 1,", "{ O3 = -1,", r"m\.toml:18: boundary\.O3\.O3 = -1 must be a number of 0 or more"),
        ("{ PAR = 4,", '{ PAR = "4",', r"m\.toml:13: emissions\.NC4H10\.PAR = '4' must be a number"),
        ("{ PAR = 4, OLE = 0.5 }", "4", r"emissions\.NC4H10 must be a table of factors"),
        ('FORM = "HCHO"\n\n[rates]', "FORM = 3\n\n[rates]", r"m\.toml:22: deposition\.FORM must be a text in quotes"),
        ("1e-5", "nan", r"m\.toml:25: rates\.O3->O1D = nan must be a number of 0 or more"),
        ("1e-5", "true", r"rates\.O3->O1D = True must be a number"),
        ('"46.0055 g/mol" }', '"46 g" }', r"split\.NOx\.NO\.molar_mass .*wrong kind of unit"),
        ('"46.0055 g/mol" }', '"0 g/mol" }', r"m\.toml:8: split\.NOx\.NO\.molar_mass must be more than 0"),
        ("mass = 0.9, ", "", r"m\.toml:8: split\.NOx\.NO must be of the form NAME = \{ mass"),
        ('none = ["SA"]', 'none = "others"', r"names\.none must be a list"),
        ("[names]", "[[names]]", r"m\.toml: names must be a table: write \[names\]"),
    ],
)
def test_what_a_map_cannot_say(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in WHOLE
    (tmp_path / "m.toml").write_text(WHOLE.replace(before, after, 1))
    with pytest.raises(CaseError, match=message):
        read_species_map(tmp_path / "m.toml")


@given(st.integers(0, len(WHOLE)), st.integers(0, 40), st.text('[]{}=".,#\n0aé', max_size=4))
def test_no_damage_crashes_the_reader(tmp_path_factory: pytest.TempPathFactory, at: int, cut: int, put: str) -> None:
    path = tmp_path_factory.mktemp("maps", numbered=True) / "m.toml"
    path.write_text(WHOLE[:at] + put + WHOLE[at + cut :], encoding="utf-8")
    message = ""
    try:
        read_species_map(path)
    except AirshedError as error:
        message = str(error)
    assert not message or "m.toml" in message
