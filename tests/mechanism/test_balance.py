"""Atoms produced and lost by reactions."""

import pytest

from airshed.core.errors import MechanismError
from airshed.mechanism import load_mechanism
from airshed.mechanism.structure import atom_counts, imbalances, report


def test_emep_conserves_sulphur_and_nearly_all_nitrogen(emep) -> None:
    assert imbalances(emep, "S") == ()
    assert [(found.label, found.change) for found in imbalances(emep, "N")] == [("R162", -0.1), ("R164", -0.05)]


def test_emep_carbon(emep) -> None:
    changes = {found.label: found.change for found in imbalances(emep, "C")}
    assert len(changes) == 19
    made = {label: change for label, change in changes.items() if change > 0}
    # Where a larger compound stands for a smaller one, and the photolysis that leaves its reactant.
    assert made == {"R76_PRRO2H": 1.0, "R154": 0.05, "R159": 1.0, "R162": 0.7, "J16_CH2CCH3": 4.0}
    assert changes["R70"] == changes["R79_CH3COO"] == -1.0  # CO2


def test_counts_are_the_weights_of_a_family(emep) -> None:
    counts = dict(zip(emep.names, atom_counts(emep, "n"), strict=True))
    assert {name for name, count in counts.items() if count} == {
        *("NO", "NO2", "HNO3", "PAN", "NO3", "N2O5", "NITRAT", "ISNI", "MAPAN"),
        *("ISONO3", "ISNIR", "ISNO3H", "ISNIRH"),
    }
    assert counts["N2O5"] == 2
    sulphur = dict(zip(emep.names, atom_counts(emep, "S"), strict=True))
    assert {name for name, count in sulphur.items() if count} == {"SO2", "SA"}


def test_report(emep) -> None:
    text = report(emep)
    assert text.splitlines()[0] == "emep: 135 reactions, of which conserved by atom: C 116, N 133, S 135"
    assert len(text.splitlines()) == 1 + 20
    assert "N   -0.100" in text
    assert report(load_mechanism("tracer")) == "tracer: 0 reactions, of which conserved by atom: none declared"


def test_an_unbalanced_reaction_is_found(write) -> None:
    path = write(
        "#DEFVAR\nNO = N + O; NO2 = N + 2O; X = IGNORE;\n#EQUATIONS\n<a> NO + X = 1.2 NO2 : 1;<b> NO = NO2 : 1;"
    )
    (found,) = imbalances(load_mechanism(path), "N")
    assert (found.reaction, found.label, found.atom, found.change) == (0, "a", "N", 0.2)


def test_unknown_atom(emep) -> None:
    with pytest.raises(MechanismError, match=r"no atom 'Cl' \(it declares H, C, N, O, S\)"):
        atom_counts(emep, "Cl")
