"""Networks that are written and read again, as JSON, as YAML and by way of KPP, are the same."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airshed.core.errors import MechanismError, OutputError
from airshed.formula.tree import Binary, Call, Expression, Number, Symbol
from airshed.mechanism import ReactionNetwork, load_mechanism, rate_forms, rates, shipped_mechanisms
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.kpp import read_kpp, write_kpp
from airshed.mechanism.network import OpenParameter, Reaction, Species
from airshed.mechanism.openatmos import read_openatmos, write_openatmos
from airshed.mechanism.openatmos.writer import openatmos_document

from .documents import document

NAMES = ["NO", "NO2", "O3", "Y", "N", "off", "O1D"]  # YAML 1.1 takes some of these for true and false
FIXED = ["M", "O2", "H2O", "CH4"]


def assert_same(first: ReactionNetwork, second: ReactionNetwork, *, seed: int = 0) -> None:
    """Raise AssertionError unless two networks have the same species, reactions and rate constants."""
    for name in ("name", "species", "fixed", "atoms", "initial", "bindings", "checked", "parameters"):
        assert getattr(first, name) == getattr(second, name), name
    assert set(first.declared) == set(second.declared)
    for one, two in zip(first.species + first.fixed, second.species + second.fixed, strict=True):
        assert one.atoms == two.atoms
    for old, new in zip(first.reactions, second.reactions, strict=True):
        assert (old.label, old.reactants, old.products) == (new.label, new.reactants, new.products)
    random = np.random.default_rng(seed)
    temperature, pressure = random.uniform(200.0, 310.0, 4), random.uniform(1e3, 1.05e5, 4)
    air = {"TEMP": temperature, "PRESS": pressure, "M": pressure / temperature * 7.24e16}
    air |= {"O2": 0.21 * air["M"], "N2": 0.78 * air["M"], "H2O": 0.01 * air["M"]}
    air |= {"SUN": np.full(4, 0.5), "sec_zenith": np.full(4, 2.0), "daylight": np.ones(4)}
    opened = {each.name: random.uniform(0.5, 1.0, 4) for each in first.parameters}
    np.testing.assert_allclose(rates(second, {**air, **opened}), rates(first, {**air, **opened}), rtol=1e-15)


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize("name", [name for name in shipped_mechanisms() if name != "chapman"])
def test_shipped_mechanisms(name: str, suffix: str, tmp_path: Path) -> None:
    network = load_mechanism(name)
    write_openatmos(network, tmp_path / f"written{suffix}")
    assert_same(network, read_openatmos(tmp_path / f"written{suffix}"))


@pytest.mark.parametrize("name", ["emep", "small_strato", "pollu"])
def test_kpp_to_openatmos_to_kpp(name: str, tmp_path: Path) -> None:
    network = load_mechanism(name)
    write_openatmos(network, tmp_path / f"{name}.json")
    write_kpp(read_openatmos(tmp_path / f"{name}.json"), tmp_path / f"{name}.def")
    assert_same(network, read_kpp(tmp_path / f"{name}.def"))


@pytest.mark.parametrize("name", ["carbon_bond", "t1s2", "full_configuration", "chapman_camp"])
def test_mechanisms_of_musica(name: str, package: dict[str, Path], tmp_path: Path) -> None:
    network = read_openatmos(package[name])
    write_openatmos(network, tmp_path / "written.json")
    assert_same(network, read_openatmos(tmp_path / "written.json"))


def test_openatmos_to_kpp_to_openatmos(save: Callable[..., Path], tmp_path: Path) -> None:
    content = document()
    species = [each for each in content["species"] if each["name"] not in ("K", "Q", "O2")]
    content |= {"species": species, "reactions": content["reactions"][:-1]}
    content["phases"][0]["species"] = content["phases"][0]["species"][:5]
    network = read_openatmos(save(content))
    write_kpp(network, tmp_path / "all_types.def")
    through = read_kpp(tmp_path / "all_types.def")
    write_openatmos(through, tmp_path / "again.json")
    again = read_openatmos(tmp_path / "again.json")
    assert again.names == network.names
    for old, new in zip(network.reactions, again.reactions, strict=True):
        assert (old.reactants, old.products) == (new.reactants, new.products)
        assert str(old.rate) == str(new.rate)


def test_every_type_stays_what_it_is(save: Callable[..., Path], tmp_path: Path) -> None:
    content = document()
    content["reactions"][2]["taylor coefficients"] = [1.1, 0.002, -1e-6]  # one alone would be a factor of A
    network = read_openatmos(save(content))
    write_openatmos(network, tmp_path / "written.yaml")
    again = read_openatmos(tmp_path / "written.yaml")
    assert_same(network, again)
    kinds = [each["type"] for each in openatmos_document(network)["reactions"]]
    assert kinds == [each["type"] for each in content["reactions"]]
    assert "__rate" not in str(openatmos_document(network)["reactions"])


def test_two_texts_of_one_network_are_the_same(save: Callable[..., Path], tmp_path: Path) -> None:
    network = read_openatmos(save(document()))
    for name in ("one.json", "two.json"):
        write_openatmos(network, tmp_path / name)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_a_difference_is_noticed(save: Callable[..., Path]) -> None:
    first = document()
    second = document()
    second["reactions"][3]["B"] = 900.0001
    with pytest.raises(AssertionError):
        assert_same(read_openatmos(save(first)), read_openatmos(save(second, "second.json")))


def test_parameters_bindings_and_checks_are_kept(tmp_path: Path) -> None:
    rate = Binary("*", Number(2.0), Parameter("j(NO2), from below [1/s]"))
    network = ReactionNetwork(
        name="kept",
        species=(Species("NO2", {"N": 1, "O": 2}, "brown"), Species("NO", {"N": 1, "O": 1}, mass=0.03)),
        fixed=(Species("AIR", fixed=True), Species("H2O", fixed=True), Species("CH4", fixed=True)),
        reactions=(
            Reaction("a", (("NO2", 1.0), ("CH4", 1.0)), (("NO", 1.0),), rate),
            Reaction("b", (("NO", 2.0), ("AIR", 1.0)), (("NO2", 1.5), ("NO", -0.25)), Parameter("k_b")),
        ),
        atoms=("N", "O"),
        initial={"NO": 1.7e11, "CH4": 4.3e13},
        declared=(OpenParameter("j(NO2), from below [1/s]", "1/s", "light", 0.01), OpenParameter("k_b", "cm6/s")),
        bindings={"AIR": Symbol("M"), "k_b": Binary("*", Parameter("half"), Call("exp", (Symbol("TEMP"),)))},
        checked=("N",),
    )
    for suffix in (".json", ".yml"):
        write_openatmos(network, tmp_path / f"kept{suffix}")
        again = read_openatmos(tmp_path / f"kept{suffix}")
        assert_same(network, again)
        assert again.bindings == network.bindings


def test_what_python_computes_cannot_be_written(tmp_path: Path) -> None:
    network = ReactionNetwork("x", (Species("A"),), callables={"k": lambda environment: 1.0})
    with pytest.raises(MechanismError, match="functions in Python compute k"):
        write_openatmos(network, tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot write .*x.json"):
        write_openatmos(ReactionNetwork("x", (Species("A"),)), tmp_path / "none" / "x.json")


numbers = st.floats(min_value=1e-30, max_value=1e6)
exponents = st.floats(min_value=-4.0, max_value=4.0).filter(lambda value: abs(value) > 1e-3)
kelvins = st.floats(min_value=-3000.0, max_value=3000.0)


@st.composite
def power_laws(draw: st.DrawFn) -> Expression:
    A, B, C = draw(numbers), draw(st.just(0.0) | exponents), draw(st.just(0.0) | kelvins)
    return rate_forms.arrhenius(A, B, C)


@st.composite
def other_rates(draw: st.DrawFn) -> Expression:
    """Return a rate in common KPP notation."""
    A, B, C = draw(numbers), draw(exponents), draw(kelvins)
    ratio = Binary("/", Number(300.0), Symbol("TEMP"))
    exponential = Call("exp", (Binary("/", Number(C), Symbol("TEMP")),))
    return draw(
        st.sampled_from(
            [
                Number(A),
                Binary("*", Number(A), Binary("^", ratio, Number(B))),
                Binary("*", exponential, Binary("/", Number(A), Symbol("TEMP"))),
                Binary("*", Binary("*", Number(A), exponential), Symbol("M")),
                Binary("+", Number(A), exponential),
                Call("max", (Number(A), Parameter("floor"))),
                Parameter("j_NO2"),
                Call("PHOTO", (Number(A), Number(1.5))),
                Binary("*", Number(A), Symbol("SUN")),
            ]
        )
    )


@st.composite
def forms(draw: st.DrawFn) -> Expression:
    low, high = draw(power_laws()), draw(power_laws())
    broadening = Number(draw(st.floats(0.1, 1.0))), Number(draw(st.floats(0.5, 2.0)))
    return draw(
        st.sampled_from(
            [
                rate_forms.troe(low, high, *broadening),
                rate_forms.ternary_chemical_activation(low, high, *broadening),
                rate_forms.tunneling(draw(numbers), draw(kelvins), draw(st.floats(1e6, 1e8))),
                rate_forms.taylor_series([draw(numbers), draw(numbers)], low),
                rate_forms.arrhenius(draw(numbers), E=draw(st.floats(1e-8, 1e-5))),
            ]
        )
    )


@st.composite
def networks(draw: st.DrawFn) -> ReactionNetwork:
    variable = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique_by=str.casefold))
    fixed = draw(st.lists(st.sampled_from(FIXED), max_size=3, unique=True))
    side = st.lists(st.sampled_from(variable + fixed), max_size=3, unique=True)
    reactions = []
    for number in range(draw(st.integers(0, 6))):
        left = tuple((name, float(draw(st.integers(1, 2)))) for name in draw(side))
        right = tuple((name, draw(st.sampled_from([1.0, 2.0, 0.35, -0.5]))) for name in draw(side))
        rate = draw(power_laws() | forms() | other_rates())
        reactions.append(Reaction(f"R{number + 1}", left or ((variable[0], 1.0),), right, rate))
    masses = st.none() | st.floats(0.001, 0.5)
    species = tuple(Species(name, {"N": 1} if name == "NO" else {}, mass=draw(masses)) for name in variable)
    initial = {name: draw(numbers) for name in (variable[:2] + fixed)}
    held = tuple(Species(name, fixed=True) for name in fixed)
    atoms = ("N",) if "NO" in variable else ()
    return ReactionNetwork("drawn", species, held, tuple(reactions), atoms, initial)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(networks(), st.sampled_from([".json", ".yaml"]), st.integers(0, 1000))
def test_any_network(network: ReactionNetwork, suffix: str, seed: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"drawn{suffix}"
        write_openatmos(network, path)
        again = read_openatmos(path)
        assert_same(network, again, seed=seed)
        write_openatmos(again, path)
        assert_same(again, read_openatmos(path), seed=seed)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(networks(), st.integers(0, 1000))
def test_any_network_by_way_of_kpp(network: ReactionNetwork, seed: int) -> None:
    with TemporaryDirectory() as folder:
        kpp, json = Path(folder) / "drawn.def", Path(folder) / "drawn.json"
        write_kpp(network, kpp)
        first = read_kpp(kpp)
        write_openatmos(first, json)
        assert_same(first, read_openatmos(json), seed=seed)
        write_kpp(read_openatmos(json), kpp)
        assert_same(first, read_kpp(kpp), seed=seed)
