"""The order of a sweep: shortest-lived first, groups that can be solved side by side, always the same."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from airshed.kernels.schedule import NOON, dependencies, reference_lifetimes, schedule
from airshed.mechanism import ReactionNetwork, load_mechanism, rates
from airshed.mechanism.network import sum_terms

Network = Callable[[str], ReactionNetwork]


@pytest.mark.parametrize("name", ["emep", "toy", "tracer"])
@pytest.mark.parametrize("largest", [1, 2, 3, 8, 100])
def test_nobody_needs_a_species_before_it_in_its_group(network: Network, name: str, largest: int) -> None:
    """The members of a group all see old values, so one that needs an earlier one would lose its new value."""
    found = schedule(network(name), largest)
    assert sorted(found.order) == list(range(len(network(name).species)))
    for group in found.groups:
        assert 1 <= len(group) <= largest
        for place, species in enumerate(group):
            assert not dependencies(network(name), species) & set(group[:place]) - {species}


@pytest.mark.parametrize("name", ["emep", "toy"])
def test_one_by_one_the_order_is_that_of_lifetimes(network: Network, name: str) -> None:
    found = schedule(network(name), 1)
    lifetimes = [found.lifetimes[species] for species in found.order]
    assert lifetimes == sorted(lifetimes)


@pytest.mark.parametrize("name", ["emep", "toy"])
@pytest.mark.parametrize("largest", [2, 3, 8])
def test_nobody_is_solved_before_a_shorter_lived_species_that_it_needs(
    network: Network, name: str, largest: int
) -> None:
    """Groups pull independent species forward, yet whoever needs one that lives shorter still comes after it."""
    found = schedule(network(name), largest)
    place = {species: number for number, species in enumerate(found.order)}
    by_lifetime = {species: number for number, species in enumerate(schedule(network(name), 1).order)}
    for species in found.order:
        for other in dependencies(network(name), species) - {species}:
            assert by_lifetime[other] > by_lifetime[species] or place[other] < place[species]


def test_lifetimes_are_those_of_the_loss_terms(network: Network) -> None:
    """NO2 + hv alone gives a lifetime of 100 s at noon; OH lives for about a second; CH4 for years."""
    emep = network("emep")
    lifetimes = dict(zip(emep.names, reference_lifetimes(emep), strict=True))
    photolysis = 1.0 / (1.45e-2 * np.exp(-0.4 * NOON["sec_zenith"]))
    assert 0.5 * photolysis < lifetimes["NO2"] < photolysis
    assert 0.01 < lifetimes["OH"] < 10.0
    assert lifetimes["CH4"] > 1e7
    assert lifetimes["OD"] < 1e-7


def test_what_is_never_lost_comes_last(network: Network) -> None:
    found = schedule(network("tracer"), 3)
    assert found.lifetimes == (np.inf, np.inf)
    assert found.order == (0, 1)


def test_the_first_lifetime_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "two.kpp"
    path.write_text("#DEFVAR\nA = IGNORE;\nB = IGNORE;\n#EQUATIONS\n<x> A = B : 0.01;\n<y> B = A : 4;\n")
    network = load_mechanism(path)
    assert reference_lifetimes(network) == pytest.approx([100.0, 0.25])
    assert schedule(network, 3).groups == ((1,), (0,))
    k = rates(network, NOON)
    assert sum_terms(network.loss_terms[1], k, np.ones(2)) == pytest.approx(4.0)


def test_it_is_the_same_in_every_process(network: Network) -> None:
    """Sets are walked through in an order that differs from process to process: none of it may show."""
    code = "from airshed.kernels.schedule import schedule; from airshed.mechanism import load_mechanism\n"
    code += "print(schedule(load_mechanism('emep'), 3).groups)"
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PATH": ""}
        answer = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
        )
        assert answer.stdout.strip() == str(schedule(network("emep"), 3).groups)
