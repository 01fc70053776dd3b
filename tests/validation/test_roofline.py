"""Counted bytes of the kernels of a step on a GPU, against counts of generated text and of arrays."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.kernels.conftest import toy_on_a_device
from validation.cuda.roofline import (
    CARDS,
    COLUMNS,
    H100,
    H200,
    SWEPT,
    UNIT,
    Kernel,
    cells,
    count,
    emep,
    emep_kernels,
    kernels,
    predict,
    predictions,
)

from airshed.kernels.backends.cpu.argument_table import ArgumentTable
from airshed.kernels.backends.cuda.device import WARP
from airshed.kernels.cpp import header
from airshed.kernels.operators import ADVECTION
from airshed.kernels.step.trial import forcing, make_stepper, random_trial
from airshed.mechanism import load_mechanism
from airshed.program.weights import two_step_weights

ROWS, COLUMNS_OF_A_ROW = 3, 64
WEIGHTS = two_step_weights(100.0, None)


def operands(text: str) -> int:
    """Return the operands of production and loss in a text, each once for a species."""
    found = re.findall(r"const value P = (.*);\s+const value L = (.*);", text)
    return sum(len(set(re.findall(r"\b[nkyj]\[[^\]]*\]", production + loss))) for production, loss in found)


def test_operands_of_production_and_loss_are_those_of_the_generated_text() -> None:
    kernel = toy_on_a_device()
    found = count(kernel)
    assert found.loads == operands(kernel.source.text) > 0
    other = replace(kernel.network, reactions=kernel.network.reactions[1:])
    assert count(replace(kernel, network=other)).loads != found.loads, "the negative control"


def test_bytes_in_device_memory_are_those_of_the_arrays_of_a_step() -> None:
    kernel = toy_on_a_device()
    trial = random_trial(kernel, (ROWS, COLUMNS_OF_A_ROW), WEIGHTS)
    stepper = make_stepper(kernel, trial)
    transport, column = forcing(trial, stepper.layout)
    blocks, number = stepper.layout.blocks, trial.fields.air.size

    def size(*arrays: Any) -> float:
        """Return the bytes for each cell, without the row and the block of faces beyond the last cell."""
        return sum(each[:ROWS, :blocks].nbytes for each in arrays) / number

    state, species = stepper.state, size(stepper.state.q)
    emission = column.emission[:ROWS, :blocks].size / number
    found = kernels(kernel, H100, emission)

    # transport: species and air at three times, of which two are also written, and right-hand sides
    fluxes = [each for pair in (transport.flux_x, transport.flux_y, transport.flux_z) for each in pair]
    explicit = [each for pair in transport.fields.values() for each in pair]
    written = size(state.q_other, state.tendency, state.air_other, state.air_tendency)
    moved = size(state.q, state.air, *fluxes, *explicit) + 2 * written + species
    in_all_levels = 16 * len(kernel.network.species) / (WARP * kernel.shape.levels)
    assert found["airshed_transport"].memory == pytest.approx(moved + in_all_levels)

    # columns: right-hand sides and the start of the iteration, results, forcing, density of air
    implicit = [each for pair in column.fields.values() for each in pair]
    read = size(state.air_other, *column.temperature, *column.water, column.sun, column.emission, *implicit)
    sums = 8 * count(kernel).column_sums / kernel.shape.levels
    assert found["airshed_columns"].memory == pytest.approx(3 * species + read + 8 + sums)

    # sums: the workspace without right-hand sides, and the result
    summands, block = kernel.workspace_bytes, ROWS * blocks / number
    result = stepper._sums[0].nbytes / number
    assert found["airshed_sums"].memory == pytest.approx(summands * block - species + result)
    assert found["airshed_exact_sums"].memory == pytest.approx(2 * result)
    stepper.close()

    bare = replace(kernel, shape=replace(kernel.shape, operators=(ADVECTION,)))
    fewer = kernels(bare, H100, emission)
    assert fewer["airshed_columns"].memory < found["airshed_columns"].memory, "the negative control"
    assert fewer["airshed_transport"].memory < found["airshed_transport"].memory


def test_columns_write_the_counted_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, workspaces = toy_on_a_device(), []
    usual = ArgumentTable.set_workspace

    def set_workspace(table: ArgumentTable, workspace: Any) -> None:
        workspace.view(np.float64)[...] = np.nan
        workspaces.append(workspace)
        usual(table, workspace)

    monkeypatch.setattr(ArgumentTable, "set_workspace", set_workspace)
    trial = random_trial(kernel, (1, WARP), WEIGHTS)
    stepper = make_stepper(kernel, trial)
    stepper.step(WEIGHTS, *forcing(trial, stepper.layout))
    summands = workspaces[0].view(np.float64).ravel()[len(kernel.network.species) * kernel.shape.levels * WARP :]
    of_last_column = summands.reshape(-1, WARP)[:, -1]  # transport writes one for each of the 7 levels
    stepper.close()
    found = count(kernel)
    assert len(of_last_column) == found.sums
    assert np.count_nonzero(~np.isnan(of_last_column)) == found.column_sums < found.sums


def of_a_sweep(levels: int) -> float:
    """Return the bytes of a sweep in the unit of a multiprocessor, for all levels of a column."""
    two, three = (kernels(emep("double", levels), H100, sweeps=sweeps)["airshed_columns"].unit for sweeps in (2, 3))
    return (three - two) * levels


def test_cyclic_reduction_exchanges_what_its_text_exchanges() -> None:
    text = header("backends/cuda/elimination.hpp")
    (loop,) = re.findall(r"Solutions<N> cyclic_reduction\(.*?return result", text, re.DOTALL)
    before_last, last = loop.split("continue;")
    in_round, only_coefficients = (len(re.findall(r"from_(?:below|above)\(", each)) for each in (before_last, last))
    found = count(emep("double"))
    exchanged = {rounds: rounds * in_round + (rounds - 1) * only_coefficients for rounds in (4, 5)}
    for levels, rounds in ((16, 4), (18, 5), (32, 5)):
        numbers = found.loads + found.species * (SWEPT + exchanged[rounds])
        assert of_a_sweep(levels) == pytest.approx(8 * WARP * numbers), "lanes without a level take time, too"
    assert of_a_sweep(33) > of_a_sweep(32), "the negative control: two levels in a thread"


TRANSPORT = {
    (H100, "double"): (2.21, 2.76), (H200, "double"): (1.98, 2.24),
    (H100, "single"): (1.39, 1.59), (H200, "single"): (1.26, 1.47),
}  # fmt: skip
"""The study: transport with columns fastest in blocks of 32 and faces computed twice, fastest and slowest [ns]."""

SWEEPS = {H100: (1.73, 2.30), H200: (1.65, 2.18)}
"""The same of sweeps with 32 threads a column and levels fastest in blocks, in double precision."""

OF_STUDY = 5
"""Loads and stores of a species in a sweep of the study: right-hand side, result, index, and two of the copies."""

CELLS = {H100: 21.3, H200: 18.1}
"""The same of a step of ROS3 in cells."""


def holds(found: dict[str, float], fastest: float, slowest: float) -> bool:
    return found["least"] <= fastest <= slowest <= found["most"]


def test_expected_ranges_hold_what_the_study_measured() -> None:
    for (card, precision), measured in TRANSPORT.items():
        found = predict(card, emep_kernels(precision, card)["airshed_transport"])
        assert holds(found, *measured)
        assert not holds(found, 0.8 * measured[0], measured[1]), "the negative control"
    of_step = count(emep("double"))
    for card, measured in SWEEPS.items():
        unit = 2 * 8 * (of_step.loads + of_step.species * (28 + OF_STUDY))
        found = predict(card, Kernel(0.0, unit, COLUMNS))
        assert holds(found, *measured)
        assert not holds(found, 0.8 * measured[0], measured[1]), "the negative control"
        assert predict(card, emep_kernels("double", card)["airshed_columns"])["least"] > found["least"]
    for card, in_cells in CELLS.items():
        assert holds(predict(card, cells(load_mechanism("emep"), card, "double")), in_cells, in_cells)


def test_a_floor_is_the_longer_of_both_times() -> None:
    share = 0.25, 0.5
    assert predict(H100, Kernel(2960.0, 0.0, share)) == pytest.approx({"floor": 1.0, "least": 2.0, "most": 4.0})
    assert Kernel(2960.0, 2 * UNIT / 1e9, share).times(H100)[0] == pytest.approx(2.0)
    assert Kernel(4320.0, 0.5 * UNIT / 1e9, share).times(H200)[0] == pytest.approx(1.0)


def test_predictions_name_the_kernels_and_add_their_times() -> None:
    plan = emep("single")
    for card in CARDS:
        *parts, step = predictions(plan, f"NVIDIA {card.name} 80GB HBM3").values()
        assert step == pytest.approx({key: sum(each[key] for each in parts) for key in step})
        assert step["floor"] < step["least"] < step["most"]
    launched = [name for name in predictions(plan, "NVIDIA H200") if name != "step"]
    text = "".join(header(f"backends/cuda/{name}.hpp") for name in ("transport_kernel", "column_kernel", "sums"))
    assert sorted(launched) == sorted(re.findall(r"__global__ void.* (airshed_\w+)\(", text))
    assert predictions(plan, "a shim on the CPU, for tests") == {}
