"""The sections of an air-quality case: every setting with its unit, default and text.

This is the registry from which the case file is validated, shown and documented, with :mod:`space_and_time` beside it.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from airshed.case import sections as general
from airshed.case.values import YEARS, Interval, Length, PathText, Text
from airshed.core.settings import KEY, Number, OrWords, Section, Switch, Whole, refuse, setting
from airshed.core.units import Quantity
from airshed.models.air.case.values import (
    CloudWater,
    DepositionVelocity,
    Diffusivity,
    Disk,
    EmissionFlux,
    EmissionRate,
    Factor,
    Height,
    Latitude,
    Latitudes,
    Levels,
    Longitude,
    Longitudes,
    Memory,
    MixingRatio,
    Moment,
    Pause,
    Pressure,
    Rain,
    Ranks,
    Release,
    Speed,
    Temperature,
    Tiles,
    Tolerance,
    Turn,
    Vapour,
)
from airshed.program.integrators import SPLITTINGS as _SPLITTINGS

SPLITTINGS = tuple(_SPLITTINGS)
"""Integrators with chemistry in stages of its own."""


class ChemistrySection(Section):
    """The mechanism and its solver."""

    mechanism: PathText = setting(
        ...,
        "Name of a shipped mechanism (`emep`), or a reaction file relative to the case; one that `--set` names may be "
        "relative to the present folder.",
    )
    species_map: PathText = setting(
        "auto",
        "What emission, the air outside and the ground are in the mechanism's species: the name of a shipped map, or a "
        "file relative to the case; `auto` takes `NAME.species.toml` beside the mechanism's file, or the shipped map "
        "of its name.",
    )
    integrator: Literal["imex", "strang", "lie", "symmetric", "concurrent"] = setting(
        "imex",
        "`imex`: transport, column and chemistry in one implicit-explicit step, by Gauss-Seidel sweeps; the others "
        "split chemistry from transport and column, by a Rosenbrock method with its own steps in every cell: `strang` "
        "in two halves around them, `lie` after them, `symmetric` in both orders, `concurrent` from the same state, so "
        "that two groups of ranks can work at once. docs/integrators.md shows their stages.",
    )
    sweeps: Whole = setting(
        2,
        "Gauss-Seidel sweeps over the species in a step; one leaves up to 22 ppb in ozone at the ground.",
        unit="1", ge=1, le=1000, only_for="imex",
    )  # fmt: skip
    solver: Literal["ros2", "ros3", "rodas3", "rodas4"] = setting("ros3", "the Rosenbrock method.", only_for=SPLITTINGS)
    relative_tolerance: Number = setting(
        1e-2,
        "error of a step of chemistry, as part of each concentration.",
        unit="1",
        ge=1e-14,
        lt=1.0,
        only_for=SPLITTINGS,
    )
    absolute_tolerance: Tolerance = setting(
        "1e4 molecules/cm3", "error of a step of chemistry that never matters.", only_for=SPLITTINGS
    )
    precision: Literal["double", "single"] = setting("double", "Floating-point precision of the kernels.")


class TransportSection(Section):
    """Movement of the air."""

    advection: Switch = setting(True, "Whether the wind carries the species.")
    diffusion: Switch = setting(True, "Whether turbulence mixes them vertically.")
    vertical: Literal["with horizontal", "with chemistry"] = setting(
        "with horizontal",
        "whether vertical transport, mixing, emission and deposition are one step with horizontal "
        "transport, or split from it, in halves next to those of chemistry; horizontal transport is then apart, level "
        "by level. docs/parallel.md tells what it costs.",
        only_for=SPLITTINGS,
    )


class MeteorologySection(Section):
    """Where wind, temperature and cloud come from."""

    kind: Literal["era5", "uniform", "given"] = setting(
        "given",
        "`era5` reads files; `uniform` takes the values below everywhere; `given` waits for "
        "`Simulation(case, meteorology=...)` in Python.",
    )
    every: Annotated[Quantity | Literal["auto"], OrWords(("auto",), Interval)] = setting(
        "auto",
        "For a function given in Python: time between its calls, linear in between; `auto` is an hour, or a 24th of a "
        "case that is shorter than a day.",
    )
    files: tuple[PathText, ...] = setting(
        (), "netCDF files, relative to the case; `*` stands for any name.", only_for="era5"
    )
    eastward: Speed = setting("0 m/s", "wind towards the east.", only_for="uniform")
    northward: Speed = setting("0 m/s", "wind towards the north.", only_for="uniform")
    rotation: Turn | None = setting(
        None,
        "time of one turn around the middle of the area, added to the wind; negative is clockwise.",
        only_for="uniform",
    )
    temperature: Temperature = setting("288.15 K", "air temperature, at every height.", only_for="uniform")
    pressure: Pressure = setting("1013.25 hPa", "pressure at the ground.", only_for="uniform")
    water_vapour: Vapour = setting("0 mol/mol", "water vapour in the air.", only_for="uniform")
    diffusivity: Diffusivity = setting("0 m2/s", "vertical turbulent diffusivity.", only_for="uniform")
    daily_mixing: Diffusivity = setting(
        "0 m2/s",
        "largest diffusivity that the sun adds in a layer over the ground, when it stands overhead; "
        "both go with the cosine of its zenith angle.",
        only_for="uniform",
    )
    mixed_layer: Height = setting(
        "1500 m", "depth of that layer when the sun stands overhead.", validate_default=True, only_for="uniform"
    )
    cloud_cover: Number = setting(0.0, "fraction of the sky under cloud.", unit="1", ge=0.0, le=1.0, only_for="uniform")
    precipitation: Rain = setting(
        "0 mm/h", "precipitation that reaches the ground, as depth of water.", only_for="uniform"
    )
    cloud_water: CloudWater = setting("0 kg/kg", "liquid water of the cloud, for wet deposition.", only_for="uniform")
    cloud_base: Release = setting(
        "1000 m", "height of the base of that cloud.", validate_default=True, only_for="uniform"
    )
    cloud_top: Release = setting("3000 m", "height of its top.", validate_default=True, only_for="uniform")

    @model_validator(mode="after")
    def _sources(self) -> Self:
        if self.kind == "era5" and not self.files:
            raise refuse(f'{KEY}.kind = "era5" needs {KEY}.files, such as files = ["meteorology/*.nc"]')
        if self.cloud_top.value <= self.cloud_base.value:
            raise refuse(f"{KEY}.cloud_top = {self.cloud_top.text!r} must lie above {KEY}.cloud_base")
        return self


class PointSource(Section):
    """One chimney, or one release of a tracer."""

    species: Text = setting(..., "Species of the mechanism that is emitted.")
    lon: Longitude = setting(..., "Longitude.", unit="deg")
    lat: Latitude = setting(..., "Latitude.", unit="deg")
    height: Release = setting("0 m", "Height of the release above ground.")
    rate: EmissionRate = setting(..., "Emission, as mass or as amount per time.")
    begin: Moment | None = setting(None, "When it begins, since the start; without it, it always was.")
    duration: Length | None = setting(None, "How long it lasts; without it, it does not end.")

    @property
    def ends(self) -> tuple[float, float]:
        """When it begins and when it ends [s since the start]."""
        first = 0.0 if self.begin is None else self.begin.value
        return -inf if self.begin is None else first, inf if self.duration is None else first + self.duration.value


class AreaSource(Section):
    """A steady flux from the ground of a box: a town, a country, or all of the area."""

    lon: Longitudes = setting(..., "Western and eastern edge.", unit="deg")
    lat: Latitudes = setting(..., "Southern and northern edge.", unit="deg")
    rates: Mapping[str, EmissionFlux] = setting(
        ..., 'Emission by species, as mass or as amount per area and time, such as `{ NO = "1e11 molecules/cm2/s" }`.'
    )


class EmissionsSection(Section):
    """What enters the air at the ground and from chimneys."""

    inventory: PathText | None = setting(
        None, "Folder of the inventory, relative to the case; without it none is read."
    )
    year: Whole | None = setting(
        None, "Year of the national totals; without it the year of `time.start`.", ge=YEARS[0], le=YEARS[1]
    )
    biogenic: Switch = setting(False, "Whether vegetation emits isoprene, by temperature and light.")
    scale: Mapping[str, Factor] = setting(
        {},
        "Factors on pollutants, sectors and countries of the inventory, alone or joined by a slash, such as "
        '`{ NOx = 0.7, "DE/F_RoadTransport" = 0.5 }`.',
        unit="1",
    )
    gridded: tuple[PathText, ...] = setting((), "netCDF files of gridded emissions, relative to the case.")
    any_year: Switch = setting(False, "Whether the twelve months of each gridded file hold for every year.")
    point: tuple[PointSource, ...] = setting((), "Point sources.")
    area: tuple[AreaSource, ...] = setting((), "Area sources; where they overlap they add up.")


class DepositionSection(Section):
    """What the ground takes up."""

    scheme: Literal["resistance", "constant", "none"] = setting(
        "resistance",
        "`resistance` follows turbulence and surface; `constant` takes `velocities` everywhere; `none` is none.",
    )
    velocities: Mapping[str, DepositionVelocity] = setting(
        {}, 'Deposition velocities by species, such as `{ O3 = "0.5 cm/s" }`; they replace those of the scheme.'
    )


class BoundarySection(Section):
    """What the wind brings in."""

    profiles: PathText = setting(
        "zero",
        "Profiles at the edges: `clean-air`, `europe-summer`, `europe-winter` (shipped), `zero`, or the path of a CSV "
        "file relative to the case.",
    )
    scale: Mapping[str, Factor] = setting({}, "Factors on the profiles by species.", unit="1")
    values: Mapping[str, MixingRatio] = setting(
        {}, "Mixing ratios by species, at every height; they replace the profiles."
    )
    budget: Literal["total", "faces"] = setting(
        "total", "Inflow and outflow in budgets: `total`; `faces`, also through each face of the area's boundary."
    )


class InitialSection(Section):
    """What is in the air at the start: the boundary's profiles, unless said otherwise here."""

    values: Mapping[str, MixingRatio] = setting({}, "Mixing ratios by species, everywhere.")
    file: PathText | None = setting(None, "netCDF file of species on the grid of the case, relative to the case.")


class PhotolysisSection(Section):
    """Light for the chemistry."""

    cloud: Switch = setting(True, "Whether clouds dim it.")


class OutputSection(general.OutputSection):
    """One file of results."""

    levels: Annotated[tuple[Whole, ...] | Literal["all", "ground"], OrWords(("all", "ground"), Levels)] = setting(
        "all", "Layers to write; 0 is the one at the ground."
    )

    def kept(self) -> Mapping[str, Sequence[int]]:
        """Return the layers to write, where they are not all."""
        if self.levels == "all":
            return {}
        return {"level": [0] if self.levels == "ground" else self.levels}


class GroupsSection(Section):
    """Transport and chemistry on groups of ranks of their own, for all integrators but `imex`; see docs/parallel.md."""

    transport: Annotated[Whole | Literal["same"], OrWords(("same",), Ranks)] = setting(
        0, "Ranks that run transport; `same` for all, which then run chemistry too; 0 for no groups.", unit="1"
    )
    chemistry: Ranks = setting(0, "Ranks that run chemistry and have tiles and files.", unit="1")
    strategy: Literal["auto", "direct", "funnel", "parallel funnel"] = setting(
        "auto", "How values travel between them; `auto` takes the fastest by prediction."
    )


class ParallelSection(Section):
    """How ranks share the work; nothing here changes a result."""

    tiles: Annotated[tuple[Whole, Whole] | Literal["auto"], OrWords(("auto",), tuple[Tiles, Tiles])] = setting(
        "auto", "Ranks from south to north and from west to east, such as `[2, 3]`; `auto` takes what costs least."
    )
    input: Literal["parallel", "root"] = setting(
        "parallel", "Who reads the meteorology: `parallel`, each rank its part; `root`, the first one for all."
    )
    halo: Literal["auto", "messages"] = setting(
        "auto",
        "How ranks get their neighbours' cells: `auto`, in memory that ranks of one machine share, and by messages "
        "from others; `messages`, from all.",
    )
    balance: Annotated[Switch | Literal["auto"], OrWords(("auto",), Switch)] = setting(
        "auto",
        "Whether ranks with costly cells let others integrate some, except with `imex`: `auto`, where it pays; `true`, "
        "whatever messages cost.",
    )
    groups: GroupsSection = Field(default_factory=GroupsSection)


class AdjointSection(Section):
    """Checkpoints of a run for its adjoint, on each rank; a run without an adjoint stores none."""

    memory: Memory = setting("1.4 GiB", "Memory for what is kept.", validate_default=True)
    disk: Disk = setting("0 B", "Disk for what is kept: restarts, and levels where `plan` or `store` say so.")
    plan: Literal["auto", "all", "two-level", "revolve", "multistage", "disk-revolve", "mixed"] = setting(
        "auto",
        "What is kept, and what is run again: `auto`, whatever runs the step that is run most often as rarely as can "
        "be; `all`, every level of one run; `two-level`, restarts, and every level of one stretch between them; the "
        "others need the package checkpoint_schedules and a number of steps that is known before.",
    )
    store: Literal["memory", "files", "files:async", "mpiio", "mpiio:async", "zarr", "zarr:async"] = setting(
        "memory",
        "Where levels are kept: `memory`, or with the restarts on disk, `files` of each rank, one file of all ranks "
        "by `mpiio`, or compressed in `zarr` without loss; with `:async` written and read ahead behind the run. Files "
        "lie in the system's temporary folder, which ranks share for `mpiio` and `zarr`.",
    )
    rounding: Literal["none", "single"] = setting(
        "none",
        "Of levels that are kept: `single` takes half the room, and gives the gradient of a run that is known to seven "
        "digits; in even air limiters choose by such digits, and the gradient is good to 1 %.",
    )
    commit: Pause = setting(
        "1 min",
        "Wall time between commits, from which a gradient goes on that was killed; it is longer where commits would "
        "take more than 2 % of the time. `0 s` commits as often as can be.",
    )

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.store != "memory" and self.disk.value == 0.0:
            raise refuse(f'{KEY}.store = "{self.store}" needs room: give {KEY}.disk, such as "20 GB", or take "memory"')
        if self.plan == "disk-revolve" and self.disk.value == 0.0:
            raise refuse(f'{KEY}.plan = "disk-revolve" needs room on disk: give {KEY}.disk, or take "revolve"')
        return self
