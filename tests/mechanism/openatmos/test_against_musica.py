"""Rate constants and results compared with those of MICM, in the package musica: equal except for rounding."""

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import MechanismError
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.mechanism.openatmos import (
    CONDITIONS,
    musica_parameters,
    read_conditions,
    read_openatmos,
    write_openatmos,
)
from airshed.mechanism.openatmos.units import MOLECULES_PER_MOLE, concentration_to_molar

from .documents import camp, document
from .musica_rates import (
    airshed_rates,
    camp_with_tracers,
    environment,
    musica_rates,
    with_tracers,
)

AIR = [(200.0, 1e3), (253.0, 5e4), (287.45, 101319.9), (310.0, 9e4)]
POWERS = {"molecules/cm3/s": -1, "cm3/molecules/s": 1, "cm6/molecules2/s": 2}
CLOSE = 2e-14


def values(network: ReactionNetwork) -> tuple[dict[str, float], dict[str, float]]:
    """Return values for the open parameters of a network, in its units and in MICM's."""
    own, molar = {}, {}
    for each in network.open_parameters:
        ours = {"m": 2e-7, "1/m3": 3e9}.get(each.unit, 1e-3 * (1 + zlib.crc32(each.name.encode()) % 97))
        own[each.name] = ours
        molar[each.name] = ours * MOLECULES_PER_MOLE ** POWERS.get(each.unit, 0)
    return own, molar


def compare(network: ReactionNetwork, path: Path, count: int) -> float:
    """Return the largest relative difference of a rate constant."""
    assert count == len(network.reactions)
    own, molar = values(network)
    air = environment(*zip(*AIR, strict=True))
    ours, micms = airshed_rates(network, air, own), musica_rates(path, count, air, molar)
    assert ((ours == 0.0) == (micms == 0.0)).all()
    return float(np.max(np.abs(ours - micms) / np.where(ours == 0.0, 1.0, ours)))


def compared(path: Path, folder: Path) -> float:
    network = read_openatmos(path).with_defaults()
    if "camp-files" in json.loads(path.read_text()):
        return compare(network, folder / "config.json", camp_with_tracers(path.parent, folder))
    content, count = with_tracers(json.loads(path.read_text()))
    (folder / "traced.json").write_text(json.dumps(content))
    return compare(network, folder / "traced.json", count)


@pytest.mark.parametrize("name", ["chapman", "chapman_camp", "carbon_bond", "ts1", "t1s2"])
def test_every_rate_constant_of_its_mechanisms(name: str, package: dict[str, Path], tmp_path: Path) -> None:
    assert compared(package[name], tmp_path) < CLOSE


def test_every_type_of_reaction(package: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    path.write_text(json.dumps(document()))
    assert compared(path, tmp_path) < CLOSE


def test_every_type_of_reaction_in_camp_json(package: dict[str, Path], tmp_path: Path) -> None:
    for name, content in camp().items():
        (tmp_path / name).write_text(json.dumps(content))
    target = tmp_path / "traced"
    target.mkdir()
    assert compared(tmp_path / "config.json", target) < CLOSE


@pytest.mark.parametrize(("key", "value"), [("A", 2.1001e6), ("C", 250.1), ("D", 280.1), ("E", 1.1e-6)])
def test_a_changed_number_is_noticed(package: dict[str, Path], tmp_path: Path, key: str, value: float) -> None:
    content = document()
    path = tmp_path / "ours.json"
    path.write_text(json.dumps(content))
    network = read_openatmos(path).with_defaults()
    content["reactions"][0][key] = value
    traced, count = with_tracers(content)
    (tmp_path / "traced.json").write_text(json.dumps(traced))
    assert 1e-6 < compare(network, tmp_path / "traced.json", count) < 0.1


@pytest.mark.parametrize(
    "name", ["chapman", "carbon_bond", "ts1", "shipped emep", "shipped small_strato", "shipped pollu"]
)
def test_what_is_written_has_the_same_rate_constants_in_micm(
    name: str, package: dict[str, Path], tmp_path: Path
) -> None:
    network = load_mechanism(name.removeprefix("shipped ")) if " " in name else read_openatmos(package[name])
    write_openatmos(network, tmp_path / "written.json")
    content, count = with_tracers(json.loads((tmp_path / "written.json").read_text()))
    (tmp_path / "traced.json").write_text(json.dumps(content))
    own, _ = values(network)
    air = environment([260.0, 300.0], [4e4, 1e5])
    # Water is a species like any other to MICM, so that it has 1 mol m-3 there.
    air |= {"H2O": np.full(2, MOLECULES_PER_MOLE), "SUN": np.array([0.3, 0.9])}
    air |= {"sec_zenith": np.array([3.0, 1.1]), "daylight": np.ones(2)}
    molar = musica_parameters(network, {**air, **own})
    ours = airshed_rates(network, air, own)
    micms = musica_rates(tmp_path / "traced.json", count, air, molar)
    np.testing.assert_allclose(micms, ours, rtol=CLOSE)


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize("name", ["chapman", "carbon_bond"])
def test_micm_has_the_same_result_from_what_is_written(
    name: str, suffix: str, package: dict[str, Path], tmp_path: Path
) -> None:
    network = read_openatmos(package[name])
    written = tmp_path / f"written{suffix}"
    write_openatmos(network, written)
    own, molar = values(network)
    start = {each: 1e10 * (1 + number % 7) for number, each in enumerate(network.names)}
    air = environment(280.0, 8e4)
    direct = solved(package[name], air, start, molar, 100.0)
    again = solved(written, air, start, musica_parameters(network, {**air, **own}), 100.0)
    assert again == pytest.approx(direct, rel=1e-9, abs=1.0)


def solved(
    path: Path, air: dict[str, float], start: dict[str, float], parameters: dict[str, Any], step: float
) -> dict[str, float]:
    """Return concentrations [molecules cm-3] after a step in MICM."""
    from musica.mechanism_configuration import parse
    from musica.micm import MICM, RosenbrockSolverParameters

    solver = MICM(mechanism=parse(str(path)))
    solver.set_solver_parameters(RosenbrockSolverParameters(relative_tolerance=1e-10))
    state = solver.create_state(1)
    state.set_conditions(*map(float, (air["TEMP"], air["PRESS"], concentration_to_molar(air["M"]))))
    names = state.get_species_ordering()
    state.set_concentrations({name: concentration_to_molar(start[name]) for name in names})
    state.set_user_defined_rate_parameters({name: float(parameters[name]) for name in parameters})
    done = 0.0
    while done < step * (1.0 - 1e-12):
        done += solver.solve(state, step - done).stats.final_time
    return {name: MOLECULES_PER_MOLE * value[0] for name, value in state.get_concentrations().items()}


@pytest.mark.parametrize(
    ("name", "species", "parameters", "unknown"),
    [
        ("carbon_bond", 28, 34, ["ENV.time_step"]),
        ("ts1", 208, 149, []),
        ("chapman_camp", 2, 0, ["ENV.time_step", "PHOTO.R1", "PHOTO.R3", "PHOTO.R5"]),
    ],
)
def test_conditions_beside_its_mechanisms(
    name: str, species: int, parameters: int, unknown: list[str], package: dict[str, Path]
) -> None:
    network = read_openatmos(package[name])
    found = read_conditions(package[name].with_name(CONDITIONS), network)
    assert {"TEMP", "PRESS"} <= set(found.environment)
    assert (len(found.initial), len(found.parameters)) == (species, parameters)
    assert set(found.parameters) <= {each.name for each in network.parameters}
    assert [each for each in found.unknown if not each.startswith(("CONC.", "SURF."))] == unknown


def test_cloud_chemistry_is_refused(package: dict[str, Path]) -> None:
    with pytest.raises(MechanismError, match=r"only gas-phase chemistry.*HENRYS_LAW_EQUILIBRIUM \(3\)"):
        read_openatmos(package["cam_cloud_chemistry"])


def test_a_mechanism_of_the_package_loads_by_its_name(package: dict[str, Path]) -> None:
    network = load_mechanism("musica:ts1")
    assert (len(network.species), len(network.reactions)) == (209, 547)
    assert network.sources == (str(package["ts1"]),)
    with pytest.raises(MechanismError, match=r"has no mechanism 'carbonbond' .*did you mean 'carbon_bond'"):
        load_mechanism("musica:carbonbond")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airshed.mechanism.openatmos.package.find_spec", lambda name: None)
    with pytest.raises(MechanismError, match="needs the package musica, which is not installed"):
        load_mechanism("musica:ts1")
