"""A network written as a reaction file reads back as the same network."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airshed.core.errors import MechanismError
from airshed.formula.evaluate import fold
from airshed.formula.tree import Binary, Call, Expression, Negate, Number, Symbol
from airshed.mechanism import (
    Reaction,
    ReactionNetwork,
    Species,
    inspect_mechanism,
    load_mechanism,
    rates,
    shipped_mechanisms,
)
from airshed.mechanism.expressions import SYMBOLS, Parameter
from airshed.mechanism.kpp import kpp_text, write_kpp
from airshed.mechanism.load import save_mechanism
from airshed.mechanism.network import OpenParameter
from airshed.mechanism.structure import differences


@pytest.mark.parametrize("name", shipped_mechanisms())
def test_shipped_mechanisms_read_back(name: str, tmp_path: Path) -> None:
    network = load_mechanism(name)
    path = tmp_path / f"{name}.eqn"
    written = write_kpp(network, path)
    again = load_mechanism(path)
    assert differences(network, again) == ()
    assert [each.label for each in again.reactions] == [each.label for each in network.reactions]
    assert [each.text for each in again.species] == [each.text for each in network.species]
    assert again.checked == network.checked
    assert [file.name for file in written] == [f"{name}.eqn"] + [f"{name}.rates.toml"] * bool(network.bindings)
    second = tmp_path / f"second_{name}.eqn"
    write_kpp(replace(again, name=name), second)
    assert second.read_bytes() == path.read_bytes()


class UnfitRateError(Exception):
    """A network may hold a rate that a reaction file refuses: a constant below zero or not finite."""


@contextmanager
def refused_rates() -> Iterator[None]:
    try:
        yield
    except MechanismError as error:
        if "not a finite number" in str(error) or "is negative" in str(error):
            raise UnfitRateError from error
        raise


def numbers() -> st.SearchStrategy[float]:
    return st.floats(1e-60, 1e60) | st.sampled_from([1.0, 2.6e-54, 0.1, 1e-300])


def expressions() -> st.SearchStrategy[Expression]:
    names = st.sampled_from(["j_NO2", "J(3)", "J(ip_O3)", "PHOTO.O3->O1D", "k het", "SURFACE.radius"])
    leaves = numbers().map(Number) | st.sampled_from(sorted(SYMBOLS)).map(Symbol) | names.map(Parameter)

    def grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        binary = st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "^"]), inner, inner)
        return binary | inner.map(Negate) | st.builds(lambda a, b: Call("max", (a, b)), inner, inner)

    return st.recursive(leaves, grow, max_leaves=6)


@st.composite
def networks(draw) -> ReactionNetwork:
    names = ["A", "B_2", "prod", "O3"]
    variable = tuple(
        Species(
            name,
            draw(st.dictionaries(st.sampled_from(["C", "O"]), st.integers(1, 9))),
            draw(st.text("ab{}/ é-", max_size=8)),
            mass=draw(st.none() | st.floats(1e-3, 1.0)),
        )
        for name in names
    )
    fixed = (Species("M", fixed=True), Species("CH4", {"C": 1, "H": 4}, fixed=True))
    left = st.lists(st.tuples(st.sampled_from([*names, "M", "CH4"]), st.sampled_from([1.0, 2.0])), max_size=3)
    right = st.lists(
        st.tuples(st.sampled_from([*names, "CH4"]), st.sampled_from([1.0, 2.0, 0.3, -0.5, 1 / 3, 1e-7, 123456.789])),
        max_size=4,
    )
    reactions = tuple(
        Reaction(f"R{number}", tuple(draw(left)), tuple(draw(right)), fold(draw(expressions())))
        for number in range(draw(st.integers(0, 4)))
    )
    initial = draw(st.dictionaries(st.sampled_from([*names, "CH4"]), numbers()))
    declared = (OpenParameter("j_NO2", "1/s", "light", default=1e-3),)
    return ReactionNetwork("test", variable, fixed, reactions, ("C", "H", "O"), initial, declared=declared)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(network=networks())
def test_any_network_reads_back(network: ReactionNetwork, tmp_path: Path) -> None:
    for file in tmp_path.iterdir():
        file.unlink()
    path = tmp_path / "test.eqn"
    write_kpp(network, path)
    with suppress(UnfitRateError), refused_rates():
        assert differences(network, load_mechanism(path)) == ()


def test_differences_are_seen(tmp_path: Path) -> None:
    """Negative control: every change of a network is reported."""
    network = load_mechanism("pollu")
    first, second, *others = network.reactions
    changed = {
        "in the same order": replace(network, species=network.species[::-1]),
        "species NO2: its atoms": replace(network, species=(Species("NO2", {"N": 1}), *network.species[1:])),
        "24 reactions": replace(network, reactions=(second, *others)),
        "reaction <1>: rate": replace(
            network, reactions=(replace(first, rate=Number(0.35 / 60 * 1.01)), second, *others)
        ),
        "reaction <1>: products": replace(
            network, reactions=(replace(first, products=(("NO", 1.0),)), second, *others)
        ),
        "initial values": replace(network, initial={}),
        "open parameters": replace(network, reactions=(replace(first, rate=Parameter("j")), second, *others)),
    }
    for text, other in changed.items():
        assert text in " ".join(differences(other, network)), text
    assert differences(network, network) == ()


def test_what_kpp_cannot_name_is_refused(tmp_path: Path) -> None:
    network = ReactionNetwork("test", (Species("All_Spec"), Species("hv"), Species("C")))
    with pytest.raises(MechanismError, match="All_Spec, hv have another meaning"):
        kpp_text(network)
    quoted = Reaction("R", (("C", 1.0),), (), Parameter('a "b"'))
    with pytest.raises(MechanismError, match="no names like"):
        kpp_text(ReactionNetwork("test", (Species("C"),), reactions=(quoted,)))
    with pytest.raises(MechanismError, match=r"\.txt: the suffix does not determine the format"):
        save_mechanism(network, tmp_path / "a.txt")


def test_labels_and_light(tmp_path: Path) -> None:
    reactions = (
        Reaction("O3->O{1D}", (("A", 1.0),), (("A", 2.0),), Binary("*", Number(2.0), Symbol("SUN"))),
        Reaction("o3 to o 1d", (("A", 1.0),), (), Number(1.0)),
        Reaction("<>", (), (("A", 1.0),), Number(1.0)),
    )
    network = ReactionNetwork("test", (Species("A"),), reactions=reactions)
    lines = [line for line in kpp_text(network).splitlines() if line.startswith("<")]
    assert [line.split(" : ")[0].rstrip() for line in lines] == [
        "<O3 to O 1D> A + hv = 2 A",
        "<o3 to o 1d_> A = PROD",
        "<R3> hv = A",
    ]
    save_mechanism(network, tmp_path / "a.kpp")
    assert differences(network, load_mechanism(tmp_path / "a.kpp")) == ()


def test_functions_in_python_stay_in_their_folder(write, tmp_path: Path) -> None:
    write("def f(a, TEMP):\n    return a*TEMP\ndef g(M):\n    return M\n", "own.py")
    write('"f(a)" = { python = "own.py:f" }\ng = { python = "own.py:g" }', "test.rates.toml")
    path = write("#DEFVAR\nA = IGNORE;\n#EQUATIONS\nA = PROD : f(2.0) + g;", "test.eqn")
    network = load_mechanism(path, allow_code=True)
    (tmp_path / "sub").mkdir()
    with pytest.raises(MechanismError, match=r"own\.py:f is outside .*sub, where its code must be"):
        write_kpp(network, tmp_path / "sub" / "new.eqn")
    write_kpp(inspect_mechanism(path), path.with_name("new.eqn"))
    again = load_mechanism(path.with_name("new.eqn"), allow_code=True)
    air = {"TEMP": np.array([1.0, 2.0]), "M": 3.0}
    np.testing.assert_array_equal(rates(again, air), rates(network, air))
