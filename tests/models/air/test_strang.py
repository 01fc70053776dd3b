"""All integrators behind one interface: common requirements, and properties of the splittings."""

import copy

import numpy as np
import pytest
from tests.laws.cases import small_case
from tests.laws.derivatives import changing_weather

import airshed
from airshed.core.errors import MechanismError, NumericalError, ProgramError
from airshed.models.air.programs import one_step
from airshed.models.air.programs.context import AirContext
from airshed.models.air.programs.forward import make_executor
from airshed.program.check import check
from airshed.program.integrators import SPLITTINGS
from airshed.program.stage import EVERYTHING, Program
from airshed.program.stage import move as move_stage
from airshed.program.weights import StageWeights
from airshed.verify import west_europe

INTEGRATORS = ("imex", "strang")
OTHERS = tuple(name for name in SPLITTINGS if name not in INTEGRATORS)
LONG = [pytest.mark.thorough, pytest.mark.compiles]
APART = {"vertical": "with chemistry"}
AREA = {"area": {"lon": [4.0, 8.0], "lat": [49.0, 53.0]}}
CHIMNEYS = {"point": [{"species": "TRACER2", "lon": 6.7, "lat": 51.4, "height": "100 m", "rate": "2 mol/s"}]}


def tracers(integrator, length, **sections):
    """Passive tracers on the hourly winds of a part of west-europe."""
    chosen = {"integrator": integrator}
    return west_europe.real_case(length, chemistry=chosen, grid=AREA, emissions=CHIMNEYS, **sections)


def full(integrator, length="20 min", *, time=None, **chosen):
    """The full chemistry of a part of west-europe, in the morning."""
    case = west_europe.cut_case(
        length, start=west_europe.MORNING, chemistry={"integrator": integrator, **chosen}, time=time or {}
    )
    return airshed.Case.from_dict({**case.to_dict(), "run": {"threads": 1}}, base=case.base)


def missed(figures):
    return [(figure.what, figure.value) for figure in figures if not figure.ok]


FEW = {"layers": ["60 m", "1000 m"]}
"""Layers of a library of the catalogue, which has transport alone."""


@pytest.mark.parametrize(
    ("integrator", "length", "grid", "transport"),
    [
        ("imex", "2 h", FEW, {"diffusion": False}),
        ("strang", "2 h", FEW, {"diffusion": False}),
        *(
            pytest.param(each, "3 h", {}, {}, marks=[pytest.mark.thorough, pytest.mark.compiles])
            for each in INTEGRATORS
        ),
    ],
)
def test_a_uniform_mixing_ratio_stays_so_on_real_winds_and_plumes_stay_positive(integrator, length, grid, transport):
    """A whole day on the whole grid is in `airshed verify`."""
    data = tracers(integrator, length, transport=transport).to_dict()
    case = airshed.Case.from_dict({**data, "grid": {**data["grid"], **grid}}, base=tracers("imex", "1 h").base)
    figures = west_europe.check_uniform(case)
    without_mixing = grid and integrator == "strang"  # more of a plume is clipped
    assert [each for each in missed(figures) if not (without_mixing and "clipped" in each[0] and each[1] < 1e-10)] == []


def move(model, key, seconds):
    """Run a stage from the start of the case."""
    runner = model.executor.runners[key]
    for piece in runner.pieces(0.0, seconds):
        runner.move(*piece)


def uniform(folder, **sections):
    """The small case with VOC alone, as much at the boundary: nothing reacts with it, and nothing takes it away."""
    values = {**dict.fromkeys(("O3", "NO2", "NO"), "0 ppb"), "VOC": "5 ppb"}
    sea, overturning = small_case(folder).to_dict()["process"]
    sea["balances"] = {"NO2": "0 ppb"}
    chosen = {"initial": {"values": values}, "boundary": {"values": values}, "process": [sea, overturning]}
    return small_case(folder, **chosen, **sections)


@pytest.mark.parametrize(
    ("integrator", "transport"),
    [*((each, {}) for each in (*INTEGRATORS, *OTHERS)), ("strang", APART)],
    ids=[*INTEGRATORS, *OTHERS, "apart"],
)
def test_a_uniform_mixing_ratio_stays_so_where_air_sinks_and_mixes(tmp_path, integrator, transport):
    """And the negative control: half of a step's divergence is missing after the vertical part of the transport."""
    case = uniform(tmp_path, chemistry={"integrator": integrator}, transport=transport, time={"length": "30 min"})
    with airshed.Simulation(case, changing_weather()) as simulation:
        simulation.run()
        np.testing.assert_allclose(simulation["VOC"].values, 5e-9, rtol=1e-12)
        if integrator != "imex":
            assert west_europe.air_drift(simulation) < 1e-12
        if transport:
            move(simulation.model, "column", 300.0)
            assert 1e-4 < west_europe.air_drift(simulation) < 0.1


@pytest.mark.thorough
@pytest.mark.compiles
def test_plumes_are_clipped_because_a_weight_is_negative(monkeypatch):
    """Two Euler steps in the place of the one-step formula, all weights positive, clip nothing."""

    def euler(step):
        half = StageWeights(c0=1.0, c1=0.0, t0=0.5 * step, t1=0.0, g=0.5 * step, s0=1.0, s1=0.0)
        return half, half

    def clipped():
        figures = west_europe.check_uniform(tracers("strang", "6 h", transport={"diffusion": False}))
        return next(figure.value for figure in figures if figure.what.startswith("clipped"))

    assert clipped() > 1e-13
    monkeypatch.setattr(one_step, "one_step_weights", euler)
    monkeypatch.setattr(one_step, "GAMMA", 0.5)
    assert clipped() == 0.0


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize(
    ("integrator", "transport"),
    [("imex", {}), ("strang", {}), pytest.param("strang", APART, marks=pytest.mark.thorough)],
)
def test_the_budget_of_a_tracer_closes(integrator, transport):
    deposition = {"scheme": "constant", "velocities": {"TRACER": "0.3 cm/s", "TRACER2": "1 cm/s"}}
    assert (
        missed(west_europe.check_budget(tracers(integrator, "6 h", deposition=deposition, transport=transport))) == []
    )


@pytest.mark.parametrize(
    ("integrator", "followed"),
    [
        *((each, ("nitrogen",)) for each in (*INTEGRATORS, *OTHERS)),
        *(pytest.param(each, west_europe.FAMILIES, marks=LONG) for each in INTEGRATORS),
    ],
    ids=lambda value: value if isinstance(value, str) else ["small", "full"][len(value) > 1],
)
def test_families_close_and_nothing_is_negative(tmp_path, followed, integrator):
    case = small_case(tmp_path, chemistry={"integrator": integrator}) if len(followed) == 1 else full(integrator, "1 h")
    with airshed.Simulation(case) as simulation:
        simulation.run("1 h")
        budget = simulation.budget()
        assert simulation.model.mixing_ratios().min() >= 0.0
    for family in followed:
        assert west_europe.share(budget, family, "residual", "throughput") < 1e-10
        if integrator != "imex":  # nothing is left of an iteration
            assert west_europe.share(budget, family, "drift", "throughput") < 1e-10
    assert west_europe.share(budget, "nitrogen", "imbalance", "throughput") > 0.0


@pytest.mark.parametrize("integrator", OTHERS)
def test_a_saved_state_goes_on_to_the_same_bits(tmp_path, integrator):
    """IMEX and Strang splitting are among the ways of running in tests/laws."""
    case = small_case(tmp_path, chemistry={"integrator": integrator}, time={"length": "20 min"})
    with airshed.Simulation(case) as undisturbed, airshed.Simulation(case) as resumed:
        undisturbed.run(until="10 min")
        resumed.model.restore(copy.deepcopy(undisturbed.model.save()))
        undisturbed.run()
        resumed.run()
        np.testing.assert_array_equal(undisturbed.model.mixing_ratios(), resumed.model.mixing_ratios())
        np.testing.assert_array_equal(undisturbed.model.budget.amounts, resumed.model.budget.amounts)


def test_restarts_hold_the_steps_of_cells(tmp_path):
    """The negative control: without them other steps are taken, and other bits come out."""
    case = small_case(tmp_path, chemistry={"integrator": "strang"}, time={"length": "20 min"})
    with airshed.Simulation(case) as undisturbed, airshed.Simulation(case) as resumed:
        undisturbed.run(until="10 min")
        saved = copy.deepcopy(undisturbed.model.save())
        assert (saved.tiled["chemistry.first"][..., :1] > 0.0).all()
        saved.tiled["chemistry.first"][...] = 0.0
        resumed.model.restore(saved)
        undisturbed.run()
        resumed.run()
        assert not np.array_equal(undisturbed.model.mixing_ratios(), resumed.model.mixing_ratios())


def test_steps_of_cells_are_guessed_where_the_state_is_new(tmp_path):
    with airshed.Simulation(small_case(tmp_path, chemistry={"integrator": "strang"})) as simulation:
        first = simulation.model.executor.cells.chemistry.first
        assert not first.any()
        simulation.step()
        assert first.all(axis=0)[simulation.model.executor.cells.chemistry._in_use].all()
        simulation["O3"] = "80 ppb"
        assert not first.any()


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_steps_are_fixed_or_automatic_and_end_when_something_is_due(tmp_path, integrator):
    def timed(**time):
        return small_case(tmp_path, chemistry={"integrator": integrator}, time={"length": "20 min", **time})

    lengths = []
    with airshed.Simulation(timed(step="4 min")) as simulation:
        simulation.run(until="7 min", observer=lambda info: lengths.append(info.dt))
        simulation.run(observer=lambda info: lengths.append(info.dt))
    assert sum(lengths) == pytest.approx(1200.0)
    assert max(lengths) <= 240.0 + 1e-9
    lengths.clear()
    with airshed.Simulation(timed(step="auto")) as simulation:
        simulation.run(observer=lambda info: lengths.append(info.dt))
    assert max(lengths) <= 300.0 + 1e-9


def test_transport_is_cut_into_pieces_where_the_wind_asks_for_it(tmp_path):
    """A step of Strang splitting may be longer than the Courant number of transport allows."""
    chosen = {"chemistry": {"integrator": "strang"}, "time": {"step": "15 min", "courant": 0.05}}
    with airshed.Simulation(small_case(tmp_path, **chosen), changing_weather()) as simulation:
        calls = []
        step = simulation.model.stepper.step
        simulation.model.stepper.step = lambda weights, *rest: calls.append(weights) or step(weights, *rest)
        rate = simulation.model.forcing.interval(0).outflow_rates["all"]
        for _ in range(2):  # in the second step the length differs from the end
            length = simulation.step().dt
            assert length >= 600.0
            assert len(calls) // 2 == np.ceil(length * rate / 0.05) > 1
            calls.clear()
        pieces = simulation.model.executor.runners["transport+column"].pieces(begin := 1000.0, begin + length)
        assert len(pieces) > 1
        for start, step in pieces:
            assert start == pytest.approx(begin)
            begin += step
        assert begin == pytest.approx(1000.0 + length)


# ---- chemistry on small grids ----------------------------------------------------------------------------------------


def small(folder, text, *, integrator="strang", rates="", **sections):
    (folder / "small.eqn").write_text(text)
    if rates:
        (folder / "small.rates.toml").write_text(rates)
    data = {
        "grid": {"area": {"lon": [0, 5], "lat": [50, 52]}, "spacing": "1 deg", "layers": ["100 m", "500 m", "1500 m"]},
        "time": {"start": "2022-06-01T10:00:00Z", "length": "2 h", "step": "10 min"},
        "chemistry": {
            "mechanism": "small.eqn", "integrator": integrator, "sweeps": 8, "solver": "rodas3",
            "relative_tolerance": 1e-6, "absolute_tolerance": "1 molecules/cm3",
        },
        "meteorology": {"kind": "uniform"}, "deposition": {"scheme": "none"}, "run": {"threads": 1},
    }  # fmt: skip
    chosen = {name: {**data.get(name, {}), **sections.get(name, {})} for name in data | sections}
    return airshed.Case.from_dict(chosen, base=folder)


def ended(case, *names):
    with airshed.Simulation(case) as simulation:
        simulation.run()
        return [simulation[name].values for name in names]


PAIR = "#DEFVAR\nA = IGNORE;\nB = IGNORE;\n#EQUATIONS\n"


def open_rates(folder, *, grow="0.0", warm="0.0", pair="0.0", integrator="strang", **sections):
    """A case whose rates are functions in Python, so that all have one library: A grows, becomes B, is eaten by B."""
    functions = {"grow": grow, "warm": warm, "pair": pair}
    (folder / "functions.py").write_text(
        "".join(f"def {name}(TEMP, M):\n    return {each} + 0.0 * M\n" for name, each in functions.items())
    )
    rates = "".join(f'k_{name} = {{ python = "functions.py:{name}" }}\n' for name in functions)
    text = PAIR + "<1> A = 2 A : k_grow;\n<2> A = B : k_warm;\n<3> A + B = 2 B : k_pair;\n"
    chosen = {"deposition": {"velocities": {"A": "0 cm/s", "B": "0 cm/s"}}, **sections}
    return small(folder, text, rates=rates, integrator=integrator, **chosen)


@pytest.mark.thorough
@pytest.mark.compiles
def test_nothing_reacts(tmp_path):
    """Tracers need no chemistry, and move alike."""
    chosen = {
        "time": {"length": "2 h", "step": "auto"},
        "meteorology": {"eastward": "8 m/s", "diffusivity": "5 m2/s"},
        "boundary": {"values": {"A": "1 ppb"}},
        "initial": {"values": {"B": "2 ppb"}},
    }
    text = "#DEFVAR\nA = IGNORE;\nB = IGNORE;\n"
    one, other = (ended(small(tmp_path, text, integrator=integrator, **chosen), "A", "B") for integrator in INTEGRATORS)
    for first, second in zip(one, other, strict=True):
        np.testing.assert_allclose(first, second, rtol=0.05, atol=2e-11)


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize(("one", "other"), [INTEGRATORS, INTEGRATORS[::-1]])
def test_tracers_go_on_with_another_integrator(tmp_path, one, other):
    """Their state consists of the same arrays; a formula without its history restarts with forward Euler."""
    text, chosen = "#DEFVAR\nA = IGNORE;\nB = IGNORE;\n", {"meteorology": {"eastward": "8 m/s"}}
    first, second = (small(tmp_path, text, integrator=integrator, **chosen) for integrator in (one, other))
    with airshed.Simulation(first) as simulation:
        simulation.run("30 min")
        with simulation.branch(case=second) as branch:
            branch.run("30 min")
            budget = branch.budget()
            assert (np.abs(budget["residual"]) <= 1e-12 * budget["throughput"]).all()


@pytest.mark.parametrize(
    "stage",
    [
        move_stage(0, 1, weights="two-step"), move_stage(0, 1, kernel=EVERYTHING),
        move_stage(0, 1, kernel=("transport", "cells")),
    ],
)  # fmt: skip
def test_a_formula_that_the_air_does_not_run_is_refused(tmp_path, stage):
    """The simulator accepts it, since the reference executor applies any formula."""
    program = Program("other", 1, (stage,))
    check(program)
    with airshed.Simulation(small_case(tmp_path, chemistry={"integrator": "strang"})) as simulation:
        model = simulation.model
        context = AirContext(model.parts, model.stepper, model.forcing, model.sources, None, model.budget)
        with pytest.raises(ProgramError, match=r"the air does not run .* by "):
            make_executor(program, context, (), threads=1)


def test_padding_is_never_seen(tmp_path):
    """Nine columns do not fill their blocks: values in the unused SIMD lanes affect no result."""
    case = small_case(tmp_path, chemistry={"integrator": "strang"}, time={"length": "30 min"})
    fields = []
    for spoil in (False, True):
        with airshed.Simulation(case) as simulation:
            state, layout = simulation.model.stepper.state, simulation.model.layout
            assert layout.last_lanes < layout.width
            if spoil:
                for array in (state.q, state.q_other, state.tendency):
                    array[:, -1, ..., layout.last_lanes :] = 1.0
            simulation.run()
            fields.append(simulation.model.mixing_ratios())
            budget = simulation.budget()
            assert (np.abs(budget["residual"]) <= 1e-12 * budget["throughput"]).all()
    np.testing.assert_array_equal(*fields)


# ---- cells that fail -------------------------------------------------------------------------------------------------


@pytest.mark.compiles
def test_a_cell_that_cannot_be_integrated_is_named_and_can_be_replayed(tmp_path):
    from airshed.models.box.run import run_box

    start = {"values": {"B": "1 ppb"}}
    chimney = {"point": [{"species": "A", "lon": 3.5, "lat": 50.5, "height": "300 m", "rate": "1000 mol/s"}]}
    case = open_rates(tmp_path, grow="1e3", initial=start, emissions=chimney).allowing_code()
    run = tmp_path / "run"
    with pytest.raises(NumericalError) as caught, airshed.Simulation(case, output=run) as simulation:
        simulation.run()
    message = str(caught.value)
    assert "the cell at lon 3.5, lat 50.5, level 1 (100 to 500 m) goes no further than t = " in message
    assert "most there is of A" in message
    assert "shorten time.step" in message
    file = run / "failed-cell.toml"
    assert f"--conditions {file}" in message
    assert not (run / "output.nc").exists()
    with pytest.raises(NumericalError) as again:
        run_box(str(tmp_path / "small.eqn"), file, tmp_path / "replay.nc", allow_code=True)
    begin = caught.value.interval[0]
    assert again.value.time == pytest.approx(caught.value.time - begin, rel=1e-6)


def test_a_cell_that_needs_more_steps_gets_them(tmp_path):
    """A low limit of steps makes all cells fail at first; the second attempt is as accurate."""
    case = small_case(tmp_path, chemistry={"integrator": "strang"}, time={"length": "10 min"})
    (expected,) = ended(case, "NO2")
    with airshed.Simulation(case) as simulation:
        cells = simulation.model.executor.cells.chemistry
        cells.solver.most_steps = 2
        tried = []
        again = cells._try_again
        cells._try_again = lambda *arguments: tried.append(int(arguments[-1].sum())) or again(*arguments)
        simulation.run()
        np.testing.assert_allclose(simulation["NO2"].values, expected, rtol=1e-2)
        budget = simulation.budget()
        assert (np.abs(budget["residual"]) <= 1e-12 * budget["throughput"]).all()
        counts = simulation.model.cell_counts
        fact = str(simulation.summary().facts["chemistry of cells"])
    assert tried[0] == 108  # all 9 x 4 x 3 cells, none of the padding
    assert counts.retried == sum(tried)
    assert counts.integrated % 108 == 0
    assert counts.rejected + counts.accepted > 2 * counts.retried
    assert f"cells in stages {counts.retried} repeated, {counts.clipped} clipped, none failed" in fact


def test_cells_that_are_clipped_are_counted_and_lanes_that_are_not_in_use_are_not(tmp_path):
    with airshed.Simulation(small_case(tmp_path, chemistry={"integrator": "strang"})) as simulation:
        cells, state = simulation.model.executor.cells.chemistry, simulation.model.stepper.state
        clipped = np.zeros_like(state.tendency)
        clipped[1, -1, :, 2, 0] = 1e-12  # all species of one cell
        clipped[0, 0, 1, 0, 1] = 1e-12
        clipped[:, -1, ..., simulation.model.layout.last_lanes :] = 1.0
        cells._count(clipped)
        assert cells.counts.clipped == 2
        assert cells.counts.integrated == 108


def test_counts_go_on_after_a_restart_and_imex_has_none(tmp_path):
    case = small_case(tmp_path, chemistry={"integrator": "strang"}, time={"length": "20 min"})
    with airshed.Simulation(case) as undisturbed, airshed.Simulation(case) as resumed:
        undisturbed.run(until="10 min")
        resumed.model.restore(copy.deepcopy(undisturbed.model.save()))
        undisturbed.run()
        resumed.run()
        assert undisturbed.model.cell_counts.integrated > 0
        assert undisturbed.model.cell_counts == resumed.model.cell_counts
    with airshed.Simulation(small_case(tmp_path)) as simulation:
        assert simulation.model.cell_counts is None
        assert "chemistry of cells" not in simulation.summary().facts


@pytest.mark.compiles
def test_all_cells_that_fail_at_once_are_counted(tmp_path):
    case = open_rates(tmp_path, grow="1e3", initial={"values": {"A": "1 ppb"}}).allowing_code()
    with pytest.raises(NumericalError, match=r"the cell at .* and of 29 more cells goes no further"):
        ended(case, "A")


# ---- rates that functions in Python compute --------------------------------------------------------------------------

FUNCTIONS = "import numpy as np\ndef warm(TEMP, M):\n    return 1e-4 * TEMP / 288.15 + 0.0 * M\n"
FUNCTIONS += "def light(SUN):\n    return 2e-4 * SUN\n"


@pytest.mark.compiles
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_rate_that_a_function_computes(tmp_path, integrator):
    chosen = {"initial": {"values": {"A": "10 ppb"}}, "time": {"step": "60 s"}}
    case = open_rates(tmp_path, warm="1e-4 * TEMP / 288.15", integrator=integrator, **chosen)
    with pytest.raises(MechanismError, match=r"functions\.py:\w+ is code .* allow_code=True"):
        airshed.Simulation(case)
    (a,) = ended(case.allowing_code(), "A")
    np.testing.assert_allclose(a, 1e-8 * np.exp(-1e-4 * 7200.0), rtol=1e-4)


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_rate_that_follows_the_sun(tmp_path, integrator):
    """Evaluated every hour, linear in between: close to the same formula that the kernel evaluates at every step."""
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    chosen = {"integrator": integrator, "initial": {"values": {"A": "10 ppb"}}, "time": {"step": "60 s"}}
    rates = 'j_light = { python = "functions.py:light" }\n'
    (called,) = ended(small(tmp_path, PAIR + "<1> A = B : j_light;\n", rates=rates, **chosen).allowing_code(), "A")
    (tmp_path / "small.rates.toml").unlink()
    (formula,) = ended(small(tmp_path, PAIR + "<1> A = B : 2e-4*SUN;\n", **chosen), "A")
    np.testing.assert_allclose(called, formula, rtol=2e-2)
    assert not np.array_equal(called, formula)


def test_columns_and_planes_have_pieces_of_their_own(tmp_path):
    chosen = {"time": {"step": "15 min", "courant": 0.02}, "chemistry": {"integrator": "strang"}, "transport": APART}
    with airshed.Simulation(small_case(tmp_path, **chosen), changing_weather()) as simulation:
        model = simulation.model
        planes, columns = (model.executor.runners[key] for key in ("transport", "column"))
        rates = [each._outflow_rate(0.0) for each in (planes, columns)]
        together = model.forcing.outflow_rate(0.0)
        assert max(rates) < together <= sum(rates)
        length = simulation.step().dt
        assert len(planes.pieces(0.0, length)) == np.ceil(length * rates[0] / 0.02) > 1
        assert len(columns.pieces(0.0, 0.5 * length)) == np.ceil(0.5 * length * rates[1] / 0.02)
