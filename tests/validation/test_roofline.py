"""Counted bytes and operations of a step on a GPU, against counts of its generated text and of its arrays."""

import re
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from tests.kernels.conftest import toy_on_a_device
from validation.cuda.roofline import (
    CARDS,
    H100,
    H200,
    OF_COLUMN,
    Work,
    cells,
    count,
    emep,
    parts,
    predict,
    predict_parts,
    predictions,
)

from airshed.kernels.operators import ADVECTION
from airshed.kernels.step.trial import forcing, make_stepper, random_trial
from airshed.mechanism import load_mechanism
from airshed.program.weights import two_step_weights

ROWS, COLUMNS = 3, 64


def text_counts(text: str) -> tuple[int, int]:
    """Return the operands of production and loss, each once for a species, and their additions and products."""
    found = re.findall(r"const value P = (.*);\s+const value L = (.*);", text)
    loads = sum(len(set(re.findall(r"\b[nkyj]\[[^\]]*\]", production + loss))) for production, loss in found)
    formulas = [re.sub(r"\[[^\]]*\]", "", each) for pair in found for each in pair]
    return loads, sum(len(re.findall(r" [-+*/] ", each)) for each in formulas)


def test_production_and_loss_are_those_of_the_generated_text() -> None:
    kernel = toy_on_a_device()
    found = count(kernel)
    assert (found.loads, found.chemistry) == text_counts(kernel.source.text) > (0, 0)
    assert found.rates >= len(re.findall(r"^    k\[\d+ \* NZ \+ z\] = ", kernel.source.text, re.MULTILINE)) > 0
    other = replace(kernel.network, reactions=kernel.network.reactions[1:])
    assert count(replace(kernel, network=other)).loads != found.loads, "the negative control"


def test_forcing_and_sums_are_those_of_the_arrays_of_a_step() -> None:
    kernel = toy_on_a_device()
    trial = random_trial(kernel, (ROWS, COLUMNS), two_step_weights(100.0, None))
    stepper = make_stepper(kernel, trial)
    transport, column = forcing(trial, stepper.layout)
    blocks, levels = stepper.layout.blocks, kernel.shape.levels

    def numbers(*arrays: Any) -> float:
        """Return the numbers for each cell, without the row and the block of faces beyond the last cell."""
        return sum(each[:ROWS, :blocks].size for each in arrays) / (ROWS * COLUMNS * levels)

    emission = numbers(column.emission)
    found = count(kernel, emission)
    fluxes = [each for pair in (transport.flux_x, transport.flux_y, transport.flux_z) for each in pair]
    explicit = [each for pair in transport.fields.values() for each in pair]
    implicit = [each for pair in column.fields.values() for each in pair]
    air = [*column.temperature, *column.water, column.sun, column.emission]
    assert found.transport == pytest.approx(numbers(*fluxes, *explicit))
    assert found.column == pytest.approx(numbers(*air, *implicit))
    assert found.sums == pytest.approx(stepper._sums[0].size / (ROWS * COLUMNS * levels))
    assert len({field.name for field in fields(stepper.state)}) == 6, (
        "of which one of species and one of air are read only"
    )
    stepper.close()
    bare = replace(kernel, shape=replace(kernel.shape, operators=(ADVECTION,)))
    assert count(bare, emission).column < found.column, "the negative control"


def test_a_split_step_writes_and_reads_the_scratch_once() -> None:
    found = count(emep("double"))
    single, split = (parts(found, design, H100, 2) for design in ("single", "split"))
    more = sum(split[name].once.reals - single[name].once.reals for name in single)
    assert more == pytest.approx(2 * (found.species + found.rates + OF_COLUMN + found.losses))
    assert split["sweeps"].most.bytes("double") < 0.1 * single["sweeps"].most.bytes("double")


MEASURED = {H100: (6.58, 6.97, 21.3), H200: (5.29, 5.77, 18.1)}
"""The study: the solve with a thread for each column, fastest and slowest, and a step of ROS3 in cells [ns], double."""


def test_expected_ranges_hold_what_the_study_measured() -> None:
    found = count(emep("double"))
    for card, (fastest, slowest, in_cells) in MEASURED.items():
        sweeps = predict_parts([parts(found, "single", card, 2)["sweeps"]], card, "double")
        assert sweeps.least <= fastest <= slowest <= sweeps.most
        assert not sweeps.least <= 0.5 * fastest, "the negative control"
        step = predict_parts([cells(load_mechanism("emep"), card)], card, "double")
        assert step.least <= in_cells <= step.most


def test_a_floor_is_the_longer_of_bytes_and_instructions() -> None:
    work = Work(10.0, 1.0, 100.0)
    assert work.bytes("double") == 88.0
    assert work.bytes("single") == 48.0
    assert work.floor(H100, "double") == pytest.approx(88.0 / 2960.0)
    assert Work(0.0, 0.0, 3400.0).floor(H100, "double") == pytest.approx(
        2 * Work(0.0, 0.0, 3400.0).floor(H100, "single")
    )
    assert Work(0.0, 0.0, 3400.0).floor(H100, "double") == pytest.approx(0.1)
    found = count(emep("single"))
    for card in CARDS:
        each = predict(found, "split", card, "single")
        assert each.floor < each.least < each.most
    assert predictions(emep("single"), "NVIDIA H200")["split"] == vars(each)
    assert predictions(emep("single"), "a shim on the CPU, for tests") == {}
    assert np.isclose(
        predict(found, "split", H100, "single").floor / predict(found, "split", H200, "single").floor, 1.4, atol=0.1
    )
