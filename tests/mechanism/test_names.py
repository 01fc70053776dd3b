"""Names: validity, conversion from other formats, and checks of networks of any origin."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import MechanismError
from airshed.mechanism import ReactionNetwork, Species, load_mechanism
from airshed.mechanism.location import check_label, is_name, legal_names
from airshed.mechanism.openatmos import read_conditions
from airshed.mechanism.structure import findings


@pytest.mark.parametrize("name", ["A", "O3", "A_B", "x" * 80])
def test_names(name: str) -> None:
    assert is_name(name)
    assert Species(name).name == name


@pytest.mark.parametrize(
    "name", ["", "_A", "1A", "A/B", "*/ x /*", "[red]A[/red]", "../x", "X??/", "Ä", "A\n", "x" * 81]
)
def test_no_names(name: str) -> None:
    assert not is_name(name)
    with pytest.raises(MechanismError, match="a name is a letter and then letters, digits and _") as told:
        ReactionNetwork("test", (Species(name),))
    assert str(told.value).isprintable()


def test_labels_are_any_text_on_one_line() -> None:
    check_label("label", "O₃ -> O(1D) + [x]")
    for text in ("a\nb", "a\rb", "\x1b[2J", "a\u2028b", "x" * 201):
        with pytest.raises(MechanismError):
            check_label("label", text)


@given(st.lists(st.text(max_size=12), max_size=8))
def test_names_become_legal_without_collisions(names: list[str]) -> None:
    legal = legal_names(names)
    assert list(legal) == [name for name in dict.fromkeys(names) if is_name(name)] + [
        name for name in dict.fromkeys(names) if not is_name(name)
    ]
    assert all(map(is_name, legal.values()))
    folded = [new.casefold() for name, new in legal.items() if not is_name(name)]
    assert len(set(folded)) == len(folded)
    assert set(folded).isdisjoint(name.casefold() for name in names if is_name(name))
    assert legal == legal_names(names)


def test_other_names_of_a_file_are_mapped_and_said(tmp_path: Path) -> None:
    names = ["a-pinene", "a_pinene", "O(1D)", "1,3-butadiene", "CH3.O2"]
    reaction = {"type": "ARRHENIUS", "gas phase": "gas", "reactants": ["a-pinene"], "products": ["O(1D)"]}
    content = {
        "version": "1.0.0", "species": [{"name": name} for name in names],
        "phases": [{"name": "gas", "species": names}], "reactions": [reaction],
    }  # fmt: skip
    path = tmp_path / "m.json"
    path.write_text(json.dumps(content))
    network = load_mechanism(path)
    assert network.names == ("a_pinene_2", "a_pinene", "O_1D_", "x1_3_butadiene", "CH3_O2")
    assert network.reactions[0].reactants == (("a_pinene_2", 1.0),)
    assert network.renaming.startswith("a_pinene_2 for a-pinene, O_1D_ for O(1D)")
    assert next(each.subject for each in findings(network) if each.kind == "renamed") == "a_pinene_2"
    (tmp_path / "initial.csv").write_text("CONC.a-pinene,1.0\nCONC.a_pinene,2.0\n")
    initial = read_conditions(tmp_path / "initial.csv", network).initial
    assert initial["a_pinene"] == 2.0 * initial["a_pinene_2"]
