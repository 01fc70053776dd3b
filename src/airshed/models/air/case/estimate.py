"""Estimate of a run before it starts, and notices about settings that have no effect or degrade the results."""

import math
from typing import Final

from airshed.core.constants import SECONDS_PER_HOUR
from airshed.core.report import Cell, Report, Table
from airshed.core.text import counted, duration
from airshed.kernels.cells import method
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.case.case import Case
from airshed.models.air.case.steady_wind import outflow_rate
from airshed.program.stage import CELLS, EVERYTHING, Stage

SECONDS_PER_CELL_SPECIES = 7.8e-9
"""One core's time for transport, rates and sources in a step of one cell and species [s]."""

SECONDS_PER_SWEEP = 2.75e-9
"""One core's time for a sweep over one cell and species [s]: two sweeps of a cell with 66 species take 0.9 us."""

SECONDS_PER_CELLS_STAGE = 1.7e-8
"""One core's time per stage of Rosenbrock chemistry, independent of its steps, for one cell and species [s]."""

SECONDS_PER_TRY = 8e-9  # time per attempted step for Jacobian, elimination and error, for one cell and species [s]

SECONDS_PER_STAGE = 3.7e-9
"""Time per Rosenbrock stage [s]; accurate to 25 % in five runs of emep: three methods, steps of 100 and 300 s."""

TRIES = 1.6  # attempted steps of a cell in a stage: 1.1 to 1.8 for emep in these runs
SINGLE = 0.8  # ratio of the times of the compiled step in single and in double precision

GAIN_BY_CORES = 0.5
"""Speedup of the compiled step, as a power of the number of cores, which share the memory bandwidth."""

SECONDS_PER_STEP = 1.5e-3  # time for the control of a step [s], on one core
SECONDS_PER_CELL_HOUR = 2.5e-6  # time for the weather of one cell in a simulated hour [s], on one core
SECONDS_PER_OUTPUT_VALUE = 1.5e-7  # time for one value in an output file [s]
SECONDS_PER_RESTART_BYTE = 1.5e-9  # time for a byte of a restart [s]

SECONDS_TO_START = 5.0
"""Time before the first step and after the last one [s]: libraries, input, summary; with compiled code in the cache."""

ASSUMED = "idle cores of a 2.5 GHz Xeon with AVX-512"
STATE_ARRAYS = 3  # state arrays of the model: two time levels and the tendency
FORCING_FIELDS = 24  # fields of the forcing, at two instants and at the current time
STRONG_WIND = 30.0  # assumed maximum wind [m/s]; the actual one is known only from the meteorology


def describe(case: Case) -> Report:
    """Return the estimate for `airshed show`."""
    program = case.program(case.network(looked_at=True))
    rows: list[tuple[Cell, ...]] = [stage.columns for stage in program.stages]
    columns = ("stage", "part of the step", "values", "formula", "runs on")
    table = Table(f"A step: {program.name}, order {program.order}", columns, rows, program.source)
    return Report(case.title, [table], estimate(case))


def estimate(case: Case) -> dict[str, Cell]:
    """Return cells, species, steps, memory and time of a run, as text for display."""
    from airshed.kernels.host import usable_cores

    nz, nlat, nlon = case.make_grid().shape
    network = case.network(looked_at=True)
    cells, species = nz * nlat * nlon, len(network.species)
    step = step_estimate(case)
    if network.reactions and case.time.step == "auto":
        longest = case.time.maximum_step.value
        step = longest if case.chemistry.integrator != "imex" else min(step, longest)
    steps = math.ceil(case.time.whole / step)
    state = cells * STATE_ARRAYS * species * (8 if case.chemistry.precision == "double" else 4)
    workspace = state / STATE_ARRAYS if case.run.device == "cuda" else 0.0  # right-hand sides, and sums of blocks
    memory = state + workspace + cells * 3 * FORCING_FIELDS * 8
    cores = case.run.threads or usable_cores()

    # time: kernels, forcing, output and restarts
    whole = case.time.whole
    each = sum(stage_estimate(case, stage, whole / steps) for stage in case.program(network).stages)
    compiled = cells * species * steps * each * (1.0 if case.chemistry.precision == "double" else SINGLE)
    forcing = steps * SECONDS_PER_STEP + whole / 3600.0 * cells * SECONDS_PER_CELL_HOUR
    values = 0.0
    for output in case.output:
        levels = {"all": nz, "ground": 1}[output.levels] if isinstance(output.levels, str) else len(output.levels)
        fields = species if output.fields == "all" else len(output.fields)
        values += (1.0 + case.time.length.value // output.every.value) * fields * cells * levels / nz
    written = values * SECONDS_PER_OUTPUT_VALUE + whole / case.restart.every.value * state * SECONDS_PER_RESTART_BYTE
    seconds = SECONDS_TO_START + compiled / math.pow(cores, GAIN_BY_CORES) + forcing + written
    notices = "; ".join(case_notices(case, network))
    return {
        "grid": f"{nlon} x {nlat} columns, {nz} layers: {cells} cells",
        "species": species,
        "step": f"about {step:.0f} s, {counted(steps, 'step')}{_assumption(case, step)}",
        "memory": f"about {memory / 1e6:.0f} MB above the libraries",
        "time": f"about {seconds:.0f} s with {counted(cores, 'thread')}, on {ASSUMED}",
        **({"notice": notices} if notices else {}),
    }


def _assumption(case: Case, step: float) -> str:
    """Return the wind that is assumed where it limits the estimated step, as text."""
    limits = case.meteorology.kind != "uniform" and case.time.step == "auto" and step == courant_step(case)
    return f", in winds of {STRONG_WIND:g} m/s" if limits else ""


def stage_estimate(case: Case, stage: Stage, step: float) -> float:
    """Return one core's time for a stage of a time step [s], per cell and species [s]."""
    if stage.kernel == EVERYTHING:
        return SECONDS_PER_CELL_SPECIES + SECONDS_PER_SWEEP * case.chemistry.sweeps
    if stage.kernel == CELLS:
        stages = method(case.chemistry.solver).stages
        return SECONDS_PER_CELLS_STAGE + TRIES * (SECONDS_PER_TRY + stages * SECONDS_PER_STAGE)
    applications = 2.0 * (stage.span[1] - stage.span[0])
    pieces = math.ceil(step / courant_step(case)) if "transport" in stage.operators else 1
    return applications * pieces * (SECONDS_PER_CELL_SPECIES + SECONDS_PER_SWEEP) if stage.operators else 0.0


def step_estimate(case: Case) -> float:
    """Return the time step [s]: that of the case, or the Courant limit, at most an hour or the interval of output."""
    step = case.time.step
    if step != "auto":
        return step.value
    return min([courant_step(case), case.time.whole, SECONDS_PER_HOUR, *(output.every.value for output in case.output)])


def courant_step(case: Case) -> float:
    """Return the maximum step of transport [s]: in the steady wind of a case, or a strong wind in the narrowest cells.

    Without wind it is infinite.
    """
    grid = case.make_grid()
    if case.meteorology.kind == "uniform":
        rate = outflow_rate(case.meteorology, grid)
    else:
        widths = float(grid.x_width.min()), float(grid.y_width.min())
        rate = STRONG_WIND * math.hypot(*(1.0 / width for width in widths))
    return case.time.courant / rate if rate > 0.0 else math.inf


_OF_UNIFORM: Final = (
    "eastward", "northward", "rotation", "temperature", "pressure", "water_vapour", "diffusivity",
    "daytime_diffusivity", "mixed_layer", "precipitation", "cloud_cover", "cloud_water", "cloud_base", "cloud_top",
    "updraught",
)  # fmt: skip

_OF_STRANG: Final = ("solver", "relative_tolerance", "absolute_tolerance")

_ONE_SWEEP: Final = (
    "chemistry.sweeps = 1 does not solve the chemistry: in three dimensions, errors of surface ozone reach 22 ppb, "
    "also with a quarter of the step; take 2 or more"
)


def case_notices(case: Case, network: ReactionNetwork) -> list[str]:
    """Return a line for each setting that has no effect or degrades the results.

    Errors of one sweep for a day of west-europe, relative to 6 sweeps at a Courant number of 0.05, at any step: surface
    O3 0.75 % in the mean and 162 % or 22 ppb at most, NO2 4.6 % (two sweeps: 0.04 %, 3.5 % and 0.2 %).
    """
    alone = case.chemistry.integrator == "imex" and case.chemistry.sweeps == 1 and bool(network.reactions)
    brought = ", ".join(sorted(network.callables))
    code = [f"functions in Python compute {brought}; they run only with --allow-code"] if brought else []
    return [*([_ONE_SWEEP] if alone else []), *code, *idle_settings(case), *_idle_releases(case)]


_WITHOUT_SOURCES = "without emissions.inventory, emissions.gridded or emissions.stacks"


def _has_factors(case: Case) -> bool:
    """Return whether a case has sources on which factors of ``emissions.scale`` act."""
    return bool(case.emissions.inventory or case.emissions.gridded or case.emissions.stacks)


def idle_settings(case: Case) -> list[str]:
    """Return a line for each setting of a case that differs from its default and has no effect."""
    integrator, kind = case.chemistry.integrator, case.meteorology.kind
    apart = [name for name in type(case.assimilation).model_fields if name != "scheme"]
    split, by_integrator = integrator != "imex", f'with chemistry.integrator = "{integrator}"'
    by_kind = f'with meteorology.kind = "{kind}"'
    idle = [
        ("chemistry", ("sweeps",) if split else _OF_STRANG, by_integrator),
        ("parallel", () if split or not case.parallel.balance else ("balance",), by_integrator),
        ("meteorology", () if kind == "uniform" else _OF_UNIFORM, by_kind),
        ("meteorology", () if kind in ("era5", "files", "wrf") else ("files",), by_kind),
        ("emissions", ("year",) if case.emissions.inventory is None else (), "without emissions.inventory"),
        ("emissions", () if _has_factors(case) else ("scale",), _WITHOUT_SOURCES),
        ("assimilation", apart if case.assimilation.scheme == "none" else (), 'with assimilation.scheme = "none"'),
        ("boundary", ("scale",) if case.boundary.profiles == "zero" else (), 'with boundary.profiles = "zero"'),
    ]
    lines = []
    for section, names, why in idle:
        settings = getattr(case, section)
        for name in names:
            value, field = getattr(settings, name), type(settings).model_fields[name]
            if getattr(value, "text", value) != field.get_default(call_default_factory=True):  # defaults are texts
                lines.append(f"{section}.{name} has no effect {why}")
    return lines


def _idle_releases(case: Case) -> list[str]:
    """Return a line for each point source that does not emit during the run."""
    first, last = -case.time.spinup.value, case.time.length.value
    lines = []
    for number, (begin, end) in enumerate(each.ends for each in case.emissions.point):
        late = f"begins at {duration(begin)}, when the run is over" if begin >= last else ""
        early = f"ends at {duration(end)}, before the run begins" if end <= first else ""
        lines += [f"emission: emissions.point.{number} emits nothing: it {why}" for why in (late, early) if why]
    return lines
