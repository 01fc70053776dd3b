"""Kernels of the GPU study on the CPU: code, layouts, and a step through the shim compared with its reference."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.builds import TOY
from validation.cuda import cells, problem
from validation.cuda.device import Shim, arguments
from validation.cuda.measure import Study, parity
from validation.cuda.source import ARRAYS, mechanism, source
from validation.cuda.variants import REGISTERS, SHARED, Variant, variants

LEVELS = 8
AREA = (4, 8)
CHOSEN = (
    Variant("double", LEVELS, False, (8, 2, 2), share=True, rows=LEVELS, columns=16, block=4),
    Variant("double", LEVELS, False, (4, 4, 4), share=False, rows=2, columns=4, group=2),
    Variant("double", LEVELS, True, (8, 2, 2), share=False, rows=1, columns=4, block=4, place=SHARED, shuffle=True),
    Variant("double", LEVELS, True, (8, 1, 4), share=True, rows=2, columns=8, place=REGISTERS),
)
"""All layouts, methods of face fluxes, threads per column, and memory spaces of mixing ratios."""


def test_text_has_every_species_once_and_no_name_of_the_cpu_code() -> None:
    network = problem.load(str(TOY))
    text = source(mechanism(network), CHOSEN[0].options, shim=False)
    rows = [line for line in text.splitlines() if line.lstrip().startswith("ROW(")]
    assert sorted(int(row.split("(")[1].split(",")[1]) for row in rows) == list(range(len(network.species)))
    assert not [row for row in rows if "NZ" in row or "splat" in row]


def test_arguments_lie_in_the_order_of_the_structure() -> None:
    words = arguments({"g": 2.5, "nx": 7})
    text = source(mechanism(problem.load("tracer")), CHOSEN[0].options, shim=True)
    members = text.split("struct Step {")[1].split("}")[0].split(";")[:-1]
    names = [each.split()[-1] for each in members]
    assert names[: len(ARRAYS)] == list(ARRAYS)
    assert len(names) == len(words)
    assert words.view(np.float64)[names.index("g")] == 2.5
    assert words[names.index("nx")] == 7


@pytest.mark.parametrize("levels_fastest", [False, True])
@pytest.mark.parametrize("block", [0, 2, 4])
def test_layout_packs_and_unpacks(levels_fastest: bool, block: int) -> None:
    layout = problem.Layout(levels_fastest, block, np.float64)
    for shape in ((3, 5, 8), (6, 3, 5, 8)):
        array = np.random.default_rng(1).random(shape)
        packed = layout.pack("q", array)
        assert packed.shape == layout.shape("q", shape)
        assert np.array_equal(layout.unpack("q", packed), array)


def test_launches_of_measured_variants_cover_their_area() -> None:
    for each in variants(32):
        transport, solve = each.transport(512, 512), each.solve(512, 512, 66)
        assert np.prod(transport.blocks) * np.prod(transport.threads) == 512 * 512 * 32
        assert np.prod(solve.blocks) * np.prod(solve.threads) * each.rows == 512 * 512 * 32
        assert max(transport.shared, solve.shared) <= 227 * 1024


@pytest.mark.standard
@pytest.mark.parametrize("variant", CHOSEN, ids=range(len(CHOSEN)))
def test_step_agrees_with_its_reference_and_not_with_another(variant: Variant, tmp_path: Path) -> None:
    network = problem.load(str(TOY))
    parts = mechanism(network, variant.group)
    study, given = Study(tmp_path, Shim(), parts, LEVELS), problem.trial(network, LEVELS, AREA, smooth=False)
    module = study.device.build(source(parts, variant.options, shim=True))
    assert max(parity(study, module, variant, given, problem.reference(given)).values()) < 1e-12
    other = replace(given, setup=replace(given.setup, sweeps=1))
    assert parity(study, module, variant, given, problem.reference(other))["q"] > 1e-9


@pytest.mark.thorough
def test_rosenbrock_cells_agree_with_their_reference() -> None:
    network, device = problem.load("emep"), Shim()
    given = cells.prepare(network)
    module = device.build(cells.cell_source(network, "double", 32, shim=True))
    assert cells.run_cells(device, module, given, np.float64, 64, 32, 32, 1)["difference"] < 1e-12
