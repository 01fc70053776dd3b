"""What a case will take, before it runs: cells, memory, time."""

import math

from airshed.air.case import Case
from airshed.core.constants import EARTH_RADIUS
from airshed.core.report import Cell, Report, Table

SECONDS_PER_CELL_SPECIES = 5.5e-9
"""One core's time for a step of one cell and species with one sweep [s]."""

SECONDS_PER_SWEEP = 3.5e-9
"""One core's time for each further sweep [s]: with two, a cell of 66 species takes 0.6 us."""

SECONDS_TO_START = 3.0
"""Time before the first step [s]: libraries, input, and the compiled mechanism from the cache."""

STATE_ARRAYS = 3
"""State arrays that the model holds: two time levels and the tendency."""

FORCING_FIELDS = 24
"""Fields of the forcing, at two instants and at the present one."""

STRONG_WIND = 30.0
"""Wind that the longest step must allow for [m/s], where only the meteorology will tell."""


def case_report(case: Case) -> Report:
    """Return all settings with the origin of each, and the estimate."""
    return Report(case.title, [Table("Settings", ("setting", "value", "from"), case.rows())], estimate(case))


def estimate(case: Case) -> dict[str, Cell]:
    """Return cells, species, steps, memory and time of a run, as text to show."""
    from airshed.kernels.host import usable_cores
    from airshed.mechanism import load_mechanism

    nz, nlat, nlon = case.make_grid().shape
    network = load_mechanism(case.mechanism)
    cells, species = nz * nlat * nlon, len(network.species)
    step = step_estimate(case)
    if network.reactions and case.time.step == "auto":
        step = min(step, case.time.longest.value)
    steps = math.ceil((case.time.length.value + case.time.spinup.value) / step)
    width = 8 if case.chemistry.precision == "double" else 4
    memory = cells * (STATE_ARRAYS * species * width + 3 * FORCING_FIELDS * 8)
    cores = case.run.threads or usable_cores()
    each = SECONDS_PER_CELL_SPECIES + SECONDS_PER_SWEEP * (case.chemistry.sweeps - 1)
    seconds = SECONDS_TO_START + cells * species * steps * each * width / 8 / cores
    return {
        "grid": f"{nlon} x {nlat} columns, {nz} layers: {cells} cells",
        "species": species,
        "step": f"about {step:.0f} s, {steps} steps",
        "memory": f"about {memory / 1e6:.0f} MB above the libraries",
        "time": f"about {seconds:.0f} s on {cores} {'core' if cores == 1 else 'cores'}; a rough estimate",
    }


def step_estimate(case: Case) -> float:
    """Return the step [s]: as given, or from the Courant number of a strong wind in the narrowest cells."""
    step = case.time.step
    if step != "auto":
        return step.value
    spacing, (south, north) = case.grid.spacing, case.grid.area.lat
    narrowing = math.cos(math.radians(max(abs(south), abs(north)) - 0.5 * spacing.lat.value))
    widths = [math.radians(spacing.lon.value) * narrowing, math.radians(spacing.lat.value)]
    return case.time.courant * EARTH_RADIUS / STRONG_WIND / math.hypot(*(1.0 / width for width in widths))
