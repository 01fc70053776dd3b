"""Sections of an air case, with the type and range of each value.

The ranges are wider than any weather, and narrow enough to exclude overflow and endless runs.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    model_validator,
)

from airshed.case import sections as general
from airshed.case.values import YEARS, Interval, Length, PathText, Text, some
from airshed.core.settings import KEY, KeywordUnion, Number, Section, Switch, Whole, quantity_range, refuse, setting
from airshed.core.units import Quantity
from airshed.models.air.case.gridded import GriddedSections
from airshed.program.integrators import SPLITTINGS as _SPLITTINGS

Pause = Annotated[Quantity, quantity_range("s", least="1 s", most="10 year", or_zero=True)]
Moment = Annotated[Quantity, quantity_range("s", least="-1000 year", most="1000 year")]
SpinUp = Annotated[Quantity, quantity_range("s", least="1 s", most="10 year", or_zero=True)]
Step = Annotated[Quantity, quantity_range("s", least="1 ms", most="1 day")]
Turn = Annotated[Quantity, quantity_range("s", least="1 min", most="1000 year", or_negative=True)]
Height = Annotated[Quantity, quantity_range("m", least="0.1 m", most="100 km")]
Release = Annotated[Quantity, quantity_range("m", least=0.0, most="100 km")]
Angle = Annotated[Quantity, quantity_range("deg", least="1e-5 deg", most="360 deg")]
Speed = Annotated[Quantity, quantity_range("m/s", least="-1000 m/s", most="1000 m/s")]
Temperature = Annotated[Quantity, quantity_range("K", least="150 K", most="500 K")]
Pressure = Annotated[Quantity, quantity_range("Pa", least="200 hPa", most="1500 hPa")]
Diffusivity = Annotated[Quantity, quantity_range("m2/s", least=0.0, most="5e4 m2/s")]
DepositionVelocity = Annotated[Quantity, quantity_range("m/s", least=0.0, most="10 m/s")]
MixingRatio = Annotated[Quantity, quantity_range("mol/mol", least=0.0, most=1.0)]
Vapour = Annotated[Quantity, quantity_range("mol/mol", least=0.0, most="0.1 mol/mol")]
Rain = Annotated[Quantity, quantity_range("m/s", least=0.0, most="1 m/h")]
MassFlux = Annotated[Quantity, quantity_range("kg/m2/s", least=0.0, most="10 kg/m2/s")]
CloudWater = Annotated[Quantity, quantity_range("kg/kg", least=0.0, most="0.05 kg/kg")]
EmissionRate = Annotated[Quantity, quantity_range("kg/s", "mol/s", least=0.0, most=("1e8 kg/s", "1e10 mol/s"))]
EmissionFlux = Annotated[Quantity, quantity_range("kg/m2/s", "mol/m2/s", least=0.0, most=("1 kg/m2/s", "100 mol/m2/s"))]
Tolerance = Annotated[Quantity, quantity_range("molecules/cm3", least="1e-30 molecules/cm3", most="1e20 molecules/cm3")]
Memory = Annotated[Quantity, quantity_range("B", least="1 MiB", most="1e6 TiB")]
Disk = Annotated[Quantity, quantity_range("B", least=0.0, most="1e6 TiB")]
Factor = Annotated[Number, Field(ge=0.0, le=1e6)]

Longitude = Annotated[Number, Field(ge=-180.0, le=540.0)]
"""Longitudes may exceed 180 or 360: an area that crosses these meridians is 175 to 190 or 350 to 370."""

Latitude = Annotated[Number, Field(ge=-90.0, le=90.0)]
Layer = Annotated[Whole, Field(ge=0, le=999)]
Ranks = Annotated[Whole, Field(ge=0, le=1_000_000)]
Tiles = Annotated[Whole, Field(ge=1, le=1_000_000)]


def _range(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] >= value[1]:
        turned = f"; across the date line write [{value[0]:g}, {value[1] + 360.0:g}]"
        across = turned if value[0] > 90.0 and value[1] < -90.0 else ""
        ends = "[west, east] or [south, north]"
        raise refuse(f"{KEY} = {list(value)} must run from the smaller to the larger: {ends}{across}")
    return value


Longitudes = Annotated[tuple[Longitude, Longitude], AfterValidator(_range)]
Latitudes = Annotated[tuple[Latitude, Latitude], AfterValidator(_range)]
Levels = Annotated[tuple[Layer, ...], AfterValidator(some)]
SPLITTINGS = tuple(_SPLITTINGS)  # integrators with chemistry in stages of its own


class ChemistrySection(Section):
    """The mechanism and its solver."""

    mechanism: PathText = setting(
        ...,
        "Name of a shipped mechanism (`emep`), or a reaction file relative to the case; with `--set` also a file "
        "relative to the working directory.",
    )
    species_map: PathText = setting(
        "auto",
        "Species map, which translates emission, boundary concentrations and deposition to the species of the "
        "mechanism: name of a shipped map, or a file relative to the case; `auto` is `NAME.species.toml` in the folder "
        "of the reaction file, or the shipped map of that name.",
    )
    integrator: Literal["imex", "strang", "lie", "symmetric", "concurrent"] = setting(
        "imex",
        "`imex`: transport, column and chemistry in one implicit-explicit step, solved by Gauss-Seidel sweeps. The "
        "other integrators split chemistry from transport and column, and solve it by a Rosenbrock method with "
        "adaptive steps in each cell: `strang` in two half steps around transport, `lie` after transport, `symmetric` "
        "as the mean of both orders, `concurrent` from the same state as transport. With the latter, two groups of "
        "ranks can run simultaneously. See docs/explanation/integrators.md.",
    )
    sweeps: Whole = setting(
        2,
        "Gauss-Seidel sweeps over the species in a step; with one sweep, errors of surface ozone reach 22 ppb.",
        unit="1", ge=1, le=1000, only_for="imex",
    )  # fmt: skip
    solver: Literal["ros2", "ros3", "rodas3", "rodas4"] = setting("ros3", "the Rosenbrock method.", only_for=SPLITTINGS)
    relative_tolerance: Number = setting(
        1e-2, "relative error tolerance of a step of chemistry.", unit="1", ge=1e-14, lt=1.0,
        only_for=SPLITTINGS,
    )  # fmt: skip
    absolute_tolerance: Tolerance = setting(
        "1e4 molecules/cm3", "absolute error tolerance of a step of chemistry.", only_for=SPLITTINGS
    )
    precision: Literal["double", "single"] = setting("double", "Floating-point precision of the kernels.")


class TransportSection(Section):
    """Transport by wind and turbulence."""

    advection: Switch = setting(True, "Whether the wind transports the species.")
    diffusion: Switch = setting(True, "Whether turbulence mixes the species vertically.")
    vertical: Literal["with horizontal", "with chemistry"] = setting(
        "with horizontal",
        "coupling of vertical transport, mixing, emission and deposition: in one step with horizontal transport, or in "
        "half steps next to those of chemistry; horizontal transport then treats each level separately. "
        "docs/how-to/parallel.md gives the cost.",
        only_for=SPLITTINGS,
    )


class MeteorologySection(Section):
    """Meteorological input: wind, temperature, clouds and precipitation."""

    kind: Literal["era5", "files", "wrf", "uniform", "given"] = setting(
        "given",
        "`files` reads netCDF or GRIB files on pressure levels or ERA5's model levels, such as those of ECMWF and "
        "NCEP; `era5` does the same and adds the notice of ERA5's licence to results. `wrf` reads output of WRF; "
        "`uniform` uses the values below in all cells; `given` is for data or functions in Python, "
        "`Simulation(case, meteorology=...)`.",
    )
    every: Annotated[Quantity | Literal["auto"], KeywordUnion(("auto",), Interval)] = setting(
        "auto",
        "For a function in Python: interval between its calls, with linear interpolation in between; `auto` is an "
        "hour, or 1/24 of the length of a case shorter than a day.",
    )
    files: tuple[PathText, ...] = setting(
        (), "netCDF or GRIB files, relative to the case; `*` matches any text.", only_for=("era5", "files", "wrf")
    )
    eastward: Speed = setting("0 m/s", "wind towards the east.", only_for="uniform")
    northward: Speed = setting("0 m/s", "wind towards the north.", only_for="uniform")
    rotation: Turn | None = setting(
        None,
        "period of a solid-body rotation about the middle of the area, added to the wind; negative is clockwise.",
        only_for="uniform",
    )
    temperature: Temperature = setting("288.15 K", "air temperature, at every height.", only_for="uniform")
    pressure: Pressure = setting("1013.25 hPa", "pressure at the ground.", only_for="uniform")
    water_vapour: Vapour = setting("0 mol/mol", "mixing ratio of water vapour.", only_for="uniform")
    diffusivity: Diffusivity = setting("0 m2/s", "vertical turbulent diffusivity.", only_for="uniform")
    daytime_diffusivity: Diffusivity = setting(
        "0 m2/s",
        "diffusivity added in the mixed layer with the sun overhead; it and the depth of the layer are proportional to "
        "the cosine of the solar zenith angle.",
        only_for="uniform",
    )
    mixed_layer: Height = setting(
        "1500 m", "depth of the mixed layer with the sun overhead.", validate_default=True, only_for="uniform"
    )
    cloud_cover: Number = setting(0.0, "fraction of the sky under cloud.", unit="1", ge=0.0, le=1.0, only_for="uniform")
    precipitation: Rain = setting("0 mm/h", "precipitation at the ground, as depth of water.", only_for="uniform")
    cloud_water: CloudWater = setting("0 kg/kg", "liquid water of the cloud, for wet deposition.", only_for="uniform")
    cloud_base: Release = setting(
        "1000 m", "height of the cloud base above ground.", validate_default=True, only_for="uniform"
    )
    cloud_top: Release = setting(
        "3000 m", "height of the cloud top above ground.", validate_default=True, only_for="uniform"
    )
    updraught: MassFlux = setting(
        "0 kg/m2/s",
        "convective updraught mass flux through the cloud; air enters below the base and leaves at the top.",
        only_for="uniform",
    )

    @model_validator(mode="after")
    def _sources(self) -> Self:
        if self.kind in ("era5", "files", "wrf") and not self.files:
            raise refuse(f'{KEY}.kind = "{self.kind}" needs {KEY}.files, such as files = ["meteorology/*.nc"]')
        if self.cloud_top.value <= self.cloud_base.value:
            raise refuse(f"{KEY}.cloud_top = {self.cloud_top.text!r} must lie above {KEY}.cloud_base")
        return self


class PointSource(Section):
    """Point source: a chimney, or a release of a tracer."""

    species: Text = setting(..., "Species of the mechanism that is emitted.")
    lon: Longitude = setting(..., "Longitude.", unit="deg")
    lat: Latitude = setting(..., "Latitude.", unit="deg")
    height: Release = setting("0 m", "Height of the release above ground.")
    rate: EmissionRate = setting(..., "Emission, as mass or as amount per time.")
    begin: Moment | None = setting(
        None, "Begin of the release, as time since the start; without it the source emits from the beginning."
    )
    duration: Length | None = setting(
        None, "Duration of the release; without it the source emits until the end of the run."
    )

    @property
    def ends(self) -> tuple[float, float]:
        """Begin and end of the release [s since the start]."""
        first = 0.0 if self.begin is None else self.begin.value
        return -inf if self.begin is None else first, inf if self.duration is None else first + self.duration.value


class AreaSource(Section):
    """Area source: a constant flux from the ground of a rectangle, such as a town or the whole area."""

    lon: Longitudes = setting(..., "Western and eastern edge.", unit="deg")
    lat: Latitudes = setting(..., "Southern and northern edge.", unit="deg")
    rates: Mapping[str, EmissionFlux] = setting(
        ..., 'Emission by species, as mass or amount per area and time, such as `{ NO = "1e11 molecules/cm2/s" }`.'
    )


class StackTable(Section):
    """Table of point sources whose plumes rise in the weather of each hour."""

    file: PathText = setting(
        ...,
        "CSV file relative to the case with a line per stack: `lon`, `lat`, `height [m]`, `diameter [m]`, "
        "`velocity [m/s]` or `flow [m3/s]`, `temperature [K]`, optional `sector` and `time_zone`, and emission by "
        "species or pollutant with its unit, such as `NOx [t/yr]`.",
    )


class EmissionsSection(Section):
    """Emission from the ground and from chimneys."""

    inventory: PathText | None = setting(
        None, "Folder of the emission inventory, relative to the case; by default there is none."
    )
    year: Whole | None = setting(
        None,
        "Year of the national totals; by default that of `time.start`, or the nearest one with totals.",
        ge=YEARS[0],
        le=YEARS[1],
    )
    biogenic: Switch = setting(False, "Whether vegetation emits isoprene, by temperature, radiation and season.")
    scale: Mapping[str, Factor] = setting(
        {},
        "Factors on pollutants, sectors and countries of the inventory, of stacks and of gridded files, or on "
        'combinations joined by a slash: `{ NOx = 0.7, "DE/F_RoadTransport" = 0.5 }`.',
        unit="1",
    )
    gridded: GriddedSections = setting(
        (), "Gridded emission: files, or tables `[[emissions.gridded]]` with their settings."
    )
    point: tuple[PointSource, ...] = setting((), "Point sources.")
    stacks: tuple[StackTable, ...] = setting((), "Tables of stacks.")
    area: tuple[AreaSource, ...] = setting((), "Area sources; the fluxes of overlapping ones are added.")


class DepositionSection(Section):
    """Dry deposition to the ground."""

    scheme: Literal["resistance", "constant", "none"] = setting(
        "resistance",
        "`resistance`: velocities from turbulence and surface; `constant`: `velocities` in all cells; `none`: no dry "
        "deposition.",
    )
    velocities: Mapping[str, DepositionVelocity] = setting(
        {},
        'Deposition velocities by species, such as `{ O3 = "0.5 cm/s" }`, in place of the velocities of the scheme.',
        keys="species",
    )


class BoundarySection(Section):
    """Lateral boundary concentrations."""

    profiles: PathText = setting(
        "zero",
        "Vertical profiles at the lateral boundary: `clean-air`, `europe-summer`, `europe-winter` (shipped), `zero`, "
        "or a CSV file relative to the case.",
    )
    run: PathText | None = setting(
        None,
        "Folder of an outer run that covers the area and the period, relative to the case: its output gives the "
        "concentrations along the lateral faces, and the profiles those of the species that it lacks. For `airshed "
        "run` with both cases: the folder of the outer case.",
    )
    files: tuple[PathText, ...] = setting(
        (),
        "Files of another model (CAMS, GEOS-Chem, WRF-Chem, CMAQ, any CF file) or CSV files, relative to the case; `*` "
        "matches any text. They give the concentrations along the lateral faces, and the profiles those of the species "
        "that they lack.",
    )
    map: PathText | None = setting(
        None, "TOML file with the variables of `files` for each species, and their molar masses and units."
    )
    repeat: Literal["none", "year"] = setting(
        "none", "Whether the year of `files`, such as a climatology of months, stands for every `year`."
    )
    scale: Mapping[str, Factor] = setting({}, "Factors on the profiles by species.", unit="1", keys="species")
    values: Mapping[str, MixingRatio] = setting(
        {}, "Mixing ratios by species, at all heights, in place of the profiles.", keys="species"
    )
    budget: Literal["total", "faces"] = setting(
        "total", "Inflow and outflow in budgets: `total`, or also through each lateral face of the area (`faces`)."
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.files and self.run is not None:
            raise refuse(f"{KEY}.files and {KEY}.run exclude each other: give the files or the outer run")
        return self


class InitialSection(Section):
    """Initial concentrations: by default the profiles of the boundary."""

    values: Mapping[str, MixingRatio] = setting({}, "Mixing ratios by species, in all cells.", keys="species")
    file: PathText | None = setting(
        None, "netCDF file with mixing ratios on the grid of the case, relative to the case."
    )
    files: tuple[PathText, ...] = setting(
        (),
        "Files of another model, as `boundary.files`, with `boundary.map` and `boundary.repeat`; species that they "
        "lack have the profiles of the boundary.",
    )
    run: PathText | None = setting(
        None,
        "Folder of a run on any grid, relative to the case: its output at the start, interpolated to the cells. For "
        "`airshed run` with both cases: the folder of the outer case.",
    )


class PhotolysisSection(Section):
    """Photolysis rates."""

    cloud: Switch = setting(True, "Whether clouds reduce photolysis rates.")


class OutputSection(general.OutputSection):
    """File of results."""

    levels: Annotated[tuple[Whole, ...] | Literal["all", "ground"], KeywordUnion(("all", "ground"), Levels)] = setting(
        "all", "Layers to write; 0 is the lowest one."
    )

    def selection(self) -> Mapping[str, Sequence[int]]:
        """Return the indices of the layers to write; nothing for all layers."""
        if self.levels == "all":
            return {}
        return {"level": [0] if self.levels == "ground" else self.levels}


class GroupsSection(Section):
    """Separate groups of ranks for transport and chemistry, not with `imex`; see docs/how-to/parallel.md."""

    transport: Annotated[Whole | Literal["same"], KeywordUnion(("same",), Ranks)] = setting(
        0, "Ranks that run transport; `same` for all ranks, which also run chemistry; 0 for no groups.", unit="1"
    )
    chemistry: Ranks = setting(0, "Ranks that run chemistry; they own the tiles and write the files.", unit="1")
    strategy: Literal["auto", "direct", "funnel", "parallel funnel"] = setting(
        "auto", "Transfer of values between the groups; `auto` selects the one that is predicted to be fastest."
    )
    transport_device: Literal["auto", "cpu", "cuda"] | None = setting(
        None, "Device of transport, by default `run.device`; `auto`: a GPU if there is one."
    )
    chemistry_device: Literal["auto", "cpu", "cuda"] | None = setting(
        None, "Device of chemistry, by default `run.device`; `auto`: a GPU if there is one."
    )

    @model_validator(mode="after")
    def _devices_of_groups(self) -> Self:
        without = (self.transport, self.chemistry) == (0, 0)
        for name in ("transport_device", "chemistry_device"):
            if without and getattr(self, name) is not None:
                raise refuse(
                    f"{KEY}.{name} needs groups of ranks: set {KEY}.transport, or set run.device for all stages"
                )
        return self


class ParallelSection(Section):
    """Domain decomposition; no setting here changes results."""

    tiles: Annotated[tuple[Whole, Whole] | Literal["auto"], KeywordUnion(("auto",), tuple[Tiles, Tiles])] = setting(
        "auto", "Ranks from south to north and from west to east, such as `[2, 3]`; `auto` minimises the cost."
    )
    input: Literal["parallel", "root"] = setting(
        "parallel",
        "Reading of meteorology: `parallel`, each rank reads its part; `root`, the first rank reads for all ranks.",
    )
    balance: Annotated[Switch | Literal["auto"], KeywordUnion(("auto",), Switch)] = setting(
        "auto",
        "Load balancing of chemistry between ranks, except with `imex`: `auto`, where the time saved exceeds the cost "
        "of messages; `true`, always.",
    )
    groups: GroupsSection = Field(default_factory=GroupsSection)

    @model_validator(mode="before")
    @classmethod
    def _without_halo(cls, data: Any) -> Any:
        if isinstance(data, dict) and "halo" in data:
            raise refuse(f"{KEY}.halo was removed: ranks always exchange halos by messages; leave it out")
        return data


class AdjointSection(Section):
    """Checkpoints for the adjoint, per rank; a run without an adjoint stores none."""

    memory: Memory = setting("1.4 GiB", "Memory for checkpoints.", validate_default=True)
    disk: Disk = setting(
        "0 B", "Disk space for checkpoints: saved states, and time levels as `plan` and `store` require."
    )
    plan: Literal["auto", "all", "two-level"] = setting(
        "auto",
        "Checkpoint plan: `auto` minimises the repetitions of the most repeated step; `all` stores every time level "
        "of one run; `two-level` stores saved states, and every time level of one segment between them.",
    )
    store: Literal["memory", "files", "mpiio", "zarr"] = setting(
        "memory",
        "Store of time levels: `memory`, or on disk as `files` of each rank, as one file of all ranks (`mpiio`), or "
        "with lossless compression (`zarr`). The files are in the temporary folder of the system, which all ranks must "
        "share for `mpiio` and `zarr`.",
    )
    rounding: Literal["none", "single"] = setting(
        "none",
        "Rounding of stored time levels: `single` halves the memory and keeps seven digits of the state. In nearly "
        "uniform air these digits decide the branch of limiters: the gradient is accurate to 1 %.",
    )
    commit: Pause = setting(
        "1 min",
        "Wall time between commits, from which an interrupted gradient resumes; longer where commits would take more "
        "than 2 % of the run time. `0 s` commits as often as possible.",
    )

    @model_validator(mode="after")
    def _has_disk(self) -> Self:
        if self.store != "memory" and self.disk.value == 0.0:
            raise refuse(
                f'{KEY}.store = "{self.store}" needs disk space: give {KEY}.disk, such as "20 GB", or take "memory"'
            )
        return self

    @model_validator(mode="before")
    @classmethod
    def _without_removed_words(cls, data: Any) -> Any:
        plan, store = (data.get(name) if isinstance(data, dict) else None for name in ("plan", "store"))
        if plan in ("revolve", "multistage", "disk-revolve", "mixed"):
            raise refuse(f'{KEY}.plan = "{plan}" was removed: "auto" repeats fewer steps; take "auto"')
        if isinstance(store, str) and store.endswith(":async"):
            sync = store.removesuffix(":async")
            raise refuse(f'{KEY}.store = "{store}" was removed: it was no faster than "{sync}"; take "{sync}"')
        return data


class TimeSection(general.TimeSection):
    """Period and time steps."""

    step: Annotated[Quantity | Literal["auto"], KeywordUnion(("auto",), Step)] = setting(
        "auto",
        "Time step; `auto` is the longest step allowed by `courant` and, with chemistry or deposition, `maximum_step`.",
    )
    maximum_step: Step = setting(
        "5 min",
        'Maximum time step for `step = "auto"` with chemistry or deposition.',
        validate_default=True,
    )
    spinup: SpinUp = setting(
        "0 h",
        "Spin-up before `start`, with the forcing of the first day.",
        validate_default=True,
    )
    courant: Number = setting(
        0.4,
        'Maximum sum of the Courant numbers of the three directions, for `step = "auto"`; with splittings, for the '
        "substeps of transport with any `step`.",
        unit="1",
        ge=0.001,
        le=0.5,
    )

    @property
    def whole(self) -> float:
        """Simulated time including the spin-up [s]."""
        return self.length.value + self.spinup.value

    @property
    def parts(self) -> str:
        """Names of the settings whose sum is :attr:`whole`, for messages."""
        return "time.length and time.spinup"
