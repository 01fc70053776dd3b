"""Transport and chemistry on separate groups of ranks: the bits of one rank, messages, refusals, and no deadlock."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.runtime.test_batches import WINDS, make
from tests.started import python

import airshed
from airshed.core.errors import CaseError, ProgramError
from airshed.kernels.layout import Layout
from airshed.kernels.step.arguments import State
from airshed.models.air.case.estimate import describe
from airshed.models.air.kind import make_groups, only_transports
from airshed.models.air.model import AirModel
from airshed.models.air.programs.groups import pack_widths
from airshed.models.air.programs.one_step import OneStepRunner
from airshed.models.air.programs.records import MoveRecord
from airshed.parallel.communicator import SingleRank
from airshed.parallel.decomposition import Decomposition
from airshed.parallel.groups import Exchange, Groups
from airshed.parallel.redistribution import make_plan, simulate
from airshed.program.integrators import strang
from airshed.program.placement import device, placed
from airshed.program.stage import COLUMN

MPIEXEC = Path(sys.executable).with_name("mpiexec")
PROGRAM = Path(__file__).with_name("two_phases.py")
UNEVEN = Path(__file__).with_name("uneven.py")
CASES = Path(__file__).parents[2] / "cases"
TWO = ("TRACER", "TRACER2")
SAME = {"transport": "same"}

with_mpi = pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")


class FakeRank:
    """Rank of a world without other ranks."""

    handle = None

    def __init__(self, rank, size):
        self.rank, self.size = rank, size


def groups(transport, chemistry, rank=0):
    world = FakeRank(rank, transport + chemistry)
    everybody = tuple(range(world.size))
    return Groups(world, everybody[:chemistry], everybody[chemistry:], SingleRank())


def case(*settings):
    chosen = ("chemistry.integrator=strang", "parallel.groups.transport=1", "parallel.groups.chemistry=2")
    return airshed.Case.load(CASES / "west-europe", [*chosen, *settings])


def tracers(further=None):
    tops = [f"{100 * level} m" for level in range(1, 13)]
    return airshed.Case.from_dict(
        {
            "grid": {"area": {"lon": [0, 4], "lat": [0, 4]}, "spacing": "0.5 deg", "layers": tops},
            "time": {"start": "2022-01-01T00:00:00Z", "length": "1 h", "step": "60 s"},
            "meteorology": {"kind": "uniform", "diffusivity": "100 m2/s"},
            "chemistry": {"mechanism": "tracer", "integrator": "strang"},
            "deposition": {"scheme": "none"},
            **(further or {}),
        }
    )


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    return json.loads(launched(4, PROGRAM, CASES, tmp_path_factory.mktemp("runs")))


def launched(ranks, *command):
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    whole = [MPIEXEC, "-n", str(ranks), python(), "-m", "mpi4py", *command]
    answer = subprocess.run(whole, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return answer.stdout


INTEGRATORS = {  # the runs on groups, by integrator
    "strang": ("1+1", "1+2, then 2+1", "2+2", "both on 2"),
    "concurrent": ("2+2 concurrent",),
    "lie": ("1+2 lie",),
    "symmetric": ("2+1 symmetric", "both on 2 symmetric"),
}


@pytest.mark.thorough
@pytest.mark.compiles
@with_mpi
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_groups_of_any_size_have_the_bits_of_one_rank(answers, integrator):
    alone = answers["alone" if integrator == "strang" else f"alone {integrator}"]["bits"]
    assert {name: answers[name]["bits"] for name in INTEGRATORS[integrator] if answers[name]["bits"] != alone} == {}


@pytest.mark.thorough
@pytest.mark.compiles
@with_mpi
def test_integrators_differ(answers):
    """Negative control."""
    alone = [each["bits"] for name, each in answers.items() if name.startswith("alone")]
    assert len(alone) == len(INTEGRATORS)
    assert all(len({each[key] for each in alone}) == len(INTEGRATORS) for key in alone[0])


@pytest.mark.thorough
@pytest.mark.compiles
@with_mpi
def test_species_shared_unevenly_deposit_to_the_same_bits(tmp_path):
    """Kernels for other numbers of species round identically, unlike code that a compiler contracts freely."""
    assert json.loads(launched(5, UNEVEN, tmp_path)) == {"same, 3": 0, "same, 5": 0, "3, 2": 0}


@pytest.mark.thorough
@pytest.mark.compiles
@with_mpi
def test_budgets_close_and_nothing_is_negative(answers):
    found = [each for each in answers.values() if each]
    assert max(each["residual"] for each in found) < 1e-13
    assert not any(each["negative"] for each in found)


@pytest.mark.thorough
@pytest.mark.compiles
@with_mpi
def test_what_phases_took_is_told(answers):
    for name, each in answers.items():
        if each and not name.startswith("alone"):
            moving, there, back = each["groups"]
            assert moving[2] > 0.0
            assert all(row[1] > 0.0 and row[2] > 0.0 for row in (there, back))


DYING = """
import os, sys
import airshed
from airshed.models.air.programs.groups import TransportRunner
from airshed.parallel.communicator import world
case = airshed.Case.load(sys.argv[1], ["chemistry.integrator=strang", "parallel.groups.transport=1",
    "parallel.groups.chemistry=1", "grid.area.lon=[4, 7.25]", "grid.area.lat=[50.5, 52]", "time.length=10 min",
    "time.spinup=0 h", "run.threads=1"])
if airshed.only_transports(case):
    TransportRunner.run = lambda self, number, stage, given: os._exit(3)
    airshed.transport_for_others(case)
with airshed.Simulation(case) as simulation:
    simulation.run()
"""


@pytest.mark.thorough
@with_mpi
def test_a_lost_rank_of_transport_ends_the_run(tmp_path):
    program = tmp_path / "dying.py"
    program.write_text(DYING, encoding="utf-8")
    command = [MPIEXEC, "-n", "2", sys.executable, "-m", "mpi4py", program, CASES / "west-europe"]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert answer.returncode == 3


@pytest.mark.parametrize("split_levels", [False, True])
@pytest.mark.parametrize(("transport", "chemistry"), [(1, 1), (1, 2), (3, 2), (2, 6), (7, 2)])
def test_tiles_become_planes_and_come_back(transport, chemistry, split_levels):
    both, layout = groups(transport, chemistry), Layout(9, 21, 8, np.float64)
    decomposition = Decomposition.of(9, 21, 8, chemistry)
    rest = 7, 3, 8
    columns = both.columns(decomposition, layout.blocks, rest, np.float64)
    planes = both.planes(layout.rows, layout.blocks, rest, np.float64, split_levels=split_levels)
    whole = np.arange(float(9 * 3 * 7 * 3 * 8)).reshape(9, 3, *rest)
    plan = make_plan(columns, planes)
    moved = simulate(plan, {rank: columns.take(whole, rank) for rank in columns.ranks})
    own = [groups(transport, chemistry, rank).own_planes(7, 3, split_levels=split_levels) for rank in both.transport]
    for rank, each in zip(both.transport, own, strict=True):
        np.testing.assert_array_equal(moved[rank], whole[:, :, each.species, each.levels])
    back = simulate(plan.inverse(), moved)
    assert all(np.array_equal(back[rank], columns.take(whole, rank)) for rank in both.chemistry)
    air, tiles = whole[:, :, 0], both.columns(decomposition, layout.blocks, rest[1:], np.float64)
    for held in both.air(
        layout.rows, layout.blocks, rest, np.float64, split_levels=split_levels
    ):  # every rank has the air of its levels
        brought = simulate(make_plan(tiles, held), {rank: tiles.take(air, rank) for rank in tiles.ranks})
        for rank in held.ranks:
            np.testing.assert_array_equal(brought[rank], air[:, :, own[rank - chemistry].levels])


@pytest.mark.parametrize(("transport", "chemistry"), [(8, 32), (32, 8)])
@pytest.mark.parametrize("ranks", [1, 2])
def test_tiles_in_packs_of_a_device_become_planes_and_come_back(transport, chemistry, ranks):
    columns = 44
    wide = Decomposition.of(4, columns, chemistry, ranks)
    cut = wide.in_packs(8)
    assert [each.window for each in cut.tiles()] == [each.window for each in wide.tiles()]
    assert cut.block_cuts[-1] == 6, "44 columns have packs of 8 to the sixth, not to the end of the second pack of 32"
    both, area = Groups.of(SingleRank(), "same", 0), Layout(4, columns, transport, np.float64)
    exchange = Exchange(both, Decomposition.of(4, columns, chemistry, 1), area, 3, 2)
    tile, planes = (State.zeros(Layout(4, columns, width, np.float64), 3, 2) for width in (chemistry, transport))
    q = np.random.default_rng(1).random((3, 2, 4, columns))
    tile.q[...], tile.air[...] = Layout(4, columns, chemistry, np.float64).pack(q), 5.0
    exchange.to_transport(tile, planes, np.zeros(1))
    np.testing.assert_array_equal(area.unpack(planes.q), q)
    planes.q *= 2.0
    exchange.to_chemistry(planes, tile, np.zeros(1))
    np.testing.assert_array_equal(Layout(4, columns, chemistry, np.float64).unpack(tile.q), 2.0 * q)
    assert (tile.air == 5.0).all()
    assert (planes.air == 5.0).all()


def test_ranks_of_a_group_with_different_devices_are_refused():
    class OtherRank(FakeRank):
        def gather_all(self, value):
            return [value, [("chemistry", widths)], [("transport", 8)]]

    held = Groups(OtherRank(0, 3), (0, 1), (2,), SingleRank())
    widths = 8
    assert pack_widths(case(), held) == {"transport": 8, "chemistry": 8}
    widths = 32
    with pytest.raises(CaseError, match=r"only some ranks of chemistry have a GPU: set parallel.groups.chemistry_dev"):
        pack_widths(case(), held)


def test_a_rank_in_both_groups_exchanges_with_itself():
    both, layout = Groups.of(SingleRank(), "same", 0), Layout(4, 8, 8, np.float64)
    sums = np.array([[0.1, -2.0, np.inf], [1e-300, 0.0, 3.0]])
    np.testing.assert_array_equal(both.gather_sums(sums, 3, 2), sums)
    by_level = np.random.default_rng(1).random((4, 3, 2))
    np.testing.assert_array_equal(both.gather_sums(by_level, 3, 2), by_level)
    exchange = Exchange(both, Decomposition.of(4, 8, 8, 1), layout, 3, 2)
    columns, planes = (State.zeros(layout, 3, 2) for _ in range(2))
    columns.q[...], columns.air[...], numbers = 7.0, 5.0, np.array([0.1, np.nan])
    np.testing.assert_array_equal(exchange.to_transport(columns, planes, numbers), numbers)
    assert (planes.q == 7.0).all()
    assert (planes.air == 5.0).all()
    planes.q[...], planes.air[...], exchange.moving = 8.0, 6.0, 0.5
    np.testing.assert_array_equal(exchange.to_chemistry(planes, columns, numbers[:1]), numbers[:1])
    assert (columns.q == 8.0).all()
    assert (columns.air == 6.0).all()
    assert (exchange.times.count, exchange.times.moving) == (1, 0.5)


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(CaseError, match=r"requires 1 rank for transport and 2 for chemistry, but there is 1"):
        make_groups(case(), SingleRank())
    with pytest.raises(CaseError, match="give transport some too"):
        make_groups(case("parallel.groups.transport=0"), FakeRank(0, 2))
    with pytest.raises(CaseError, match="give chemistry some too"):
        make_groups(case("parallel.groups.chemistry=0"), FakeRank(0, 1))
    with pytest.raises(CaseError, match="all 1 ranks have chemistry; leave it out"):
        make_groups(case("parallel.groups.transport=same"), SingleRank())
    with pytest.raises(CaseError, match="needs a splitting"):
        make_groups(case("chemistry.integrator=imex"), FakeRank(0, 3))
    refused = "4 ranks cannot share the transport of 3 species, each of which stays on one rank; "
    with pytest.raises(CaseError, match=f"{refused}set parallel.groups.transport to at most 3, and give the other"):
        groups(4, 1).planes(2, 1, (3, 1, 8), np.float64, split_levels=False)
    everybody = tuple(range(4))
    with pytest.raises(
        CaseError, match=f"{refused}start at most 3, or leave out parallel.groups; levels are distributed"
    ):
        Groups(FakeRank(0, 4), everybody, everybody, SingleRank()).planes(
            2, 1, (3, 1, 8), np.float64, split_levels=False
        )
    groups(6, 1).check_species(3, 2, split_levels=True)
    refused = "7 ranks cannot share the transport of 3 species in 2 levels, each level of each on one rank; "
    with pytest.raises(CaseError, match=f"{refused}set parallel.groups.transport to at most 6, and give the other"):
        groups(7, 1).check_species(3, 2, split_levels=True)
    with pytest.raises(CaseError, match="needs two ranks in both groups; there are 1 and 1"):
        Exchange(
            Groups.of(SingleRank(), "same", 0), Decomposition.of(4, 8, 8, 1), Layout(4, 8, 8, np.float64), 3, 2,
            "parallel funnel",
        )  # fmt: skip


def test_more_ranks_than_species_are_refused_before_anything_is_compiled(monkeypatch):
    def compiled(*_, **__):
        raise AssertionError("compiled")

    monkeypatch.setattr("airshed.kernels.backends.cpu.backend.BACKEND.compile_mechanism", compiled)
    with pytest.raises(AssertionError, match="compiled"):  # the negative control: two species, two ranks
        AirModel(tracers(), groups=groups(2, 1))
    with pytest.raises(CaseError, match="3 ranks cannot share the transport of 2 species"):
        AirModel(tracers(), groups=groups(3, 1))
    apart = {"transport": {"vertical": "with chemistry"}}
    with pytest.raises(AssertionError, match="compiled"):
        AirModel(tracers(apart), groups=groups(24, 1))
    with pytest.raises(CaseError, match="25 ranks cannot share the transport of 2 species in 12 levels"):
        AirModel(tracers(apart), groups=groups(25, 1))


def test_a_stage_on_a_device_is_refused_before_anything_is_compiled(monkeypatch):
    on_device = placed(strang(), {"cells": device("cuda")})
    monkeypatch.setattr("airshed.models.air.case.case.integrator", lambda *_, **__: on_device)
    with pytest.raises(ProgramError, match="the device 'cuda'; there is none but the processor"):
        AirModel(tracers())


def test_show_prints_where_stages_run():
    placements = [row[-1] for row in describe(case()).tables[0].rows]
    assert placements == [
        "chemistry ranks", "chemistry ranks to transport ranks", "transport ranks",
        "transport ranks to chemistry ranks", "chemistry ranks",
    ]  # fmt: skip


def after_a_step(factor, **settings):
    """Return both tracers after a step of 60 s, from 1 ppb everywhere except for the first one in the lowest level."""
    case = tracers(settings)
    grid = case.make_grid()
    start = np.full((2, *grid.shape), 1e-9)
    start[0, 0] *= factor
    fields = {name: (("level", "lat", "lon"), each) for name, each in zip(TWO, start, strict=True)}
    initial = xr.Dataset(fields, {"level": grid.level, "lat": grid.y, "lon": grid.x})
    with airshed.Simulation(case, initial=initial) as simulation:
        assert simulation.step().dt == 60.0
        return [simulation[name].values for name in TWO]


@pytest.mark.thorough
@pytest.mark.compiles
def test_a_step_of_transport_couples_all_levels_and_no_species():
    """TRANS is distributed by species and not by levels: a halo of levels would be the whole column."""
    (tracer, other), (more, same) = after_a_step(1.0), after_a_step(2.0)
    assert len(tracer) == 12
    assert (more > tracer).all()  # two stages that reach two levels each would end at the fourth
    np.testing.assert_array_equal(other, same)
    still, moved = (after_a_step(factor, transport={"diffusion": False})[0] for factor in (1.0, 2.0))
    assert (still[4:] == moved[4:]).all()  # the negative control: advection reaches no further


@pytest.mark.thorough
@pytest.mark.compiles
def test_horizontal_transport_alone_couples_neither_levels_nor_species(monkeypatch):
    """TRANS can be distributed by level and species: the tracer of one level is independent of all others."""
    run = OneStepRunner.run

    def without_columns(self, number, stage, given):
        return [MoveRecord(())] if stage.kernel == COLUMN else run(self, number, stage, given)

    monkeypatch.setattr(OneStepRunner, "run", without_columns)
    wind = {"kind": "uniform", "eastward": "10 m/s", "diffusivity": "100 m2/s"}
    further = {
        "transport": {"vertical": "with chemistry"},
        "meteorology": wind,
        "boundary": {"values": dict.fromkeys(TWO, "2 ppb")},
    }
    (tracer, other), (more, same) = after_a_step(1.0, **further), after_a_step(2.0, **further)
    assert (tracer[0] != more[0]).any()
    np.testing.assert_array_equal(tracer[1:], more[1:])
    np.testing.assert_array_equal(other, same)


def on_one_rank(**parallel):
    data = make("strang").to_dict() | {"parallel": parallel}
    return airshed.Simulation(airshed.Case.from_dict(data), WINDS)


def after_setting(value, **parallel):
    with on_one_rank(**parallel) as simulation:
        simulation.step()
        if value is not None:
            simulation["TRACER"] = value
        simulation.step()
        return simulation["TRACER"].values, simulation.model.budget.amounts


def test_a_species_that_is_set_reaches_the_transport_ranks():
    groups, alone, unset = after_setting("3 ppb", groups=SAME), after_setting("3 ppb"), after_setting(None)
    for one, other, control in zip(groups, alone, unset, strict=True):
        np.testing.assert_array_equal(one, other)
        assert (one != control).any()


def test_numbers_of_processes_that_transport_ranks_do_not_receive_are_refused():
    with on_one_rank(groups=SAME) as simulation:
        model = simulation.model
        saved = model.save()
        model.restore(saved)
        saved.metadata["settable"] = {"particles_diameters_TRACER": 1e-5}
        with pytest.raises(CaseError, match="particles_diameters_TRACER cannot change while ranks are in groups"):
            model.restore(saved)
        model.settable = dict.fromkeys(saved.metadata["settable"])
        with pytest.raises(CaseError, match="particles_diameters_TRACER cannot change while ranks are in groups"):
            model.set("particles_diameters_TRACER", 1e-5)


def test_groups_that_were_closed_are_not_asked_any_more():
    with on_one_rank(groups=SAME) as simulation:
        simulation["TRACER"]
    for ask in (lambda: simulation["TRACER"], simulation.budget, simulation.summary):
        with pytest.raises(CaseError, match="this simulation was closed"):
            ask()


def test_a_rank_that_only_moves_species_makes_no_simulation():
    assert [only_transports(case(), FakeRank(rank, 3)) for rank in range(3)] == [False, False, True]
    assert not only_transports(case("parallel.groups.transport=same"), FakeRank(2, 3))
    with pytest.raises(CaseError, match=r"rank 2 runs only transport .* airshed.transport_for_others"):
        airshed.Simulation(case(), ranks=FakeRank(2, 3))


def test_no_groups_are_none():
    plain = ["parallel.groups.transport=0", "parallel.groups.chemistry=0"]
    assert make_groups(case(*plain), SingleRank()) is None
    assert not only_transports(case(*plain), SingleRank())
