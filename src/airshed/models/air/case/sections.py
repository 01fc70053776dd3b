"""The values that settings of an air case hold: quantities in their ranges, factors, places.

A range is what a case can mean at all: its ends lie beyond any weather, and before overflow and endless runs.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from airshed.case import sections as general
from airshed.case.values import YEARS, Interval, Length, PathText, Text, some
from airshed.core.errors import CaseError
from airshed.core.settings import KEY, KeywordUnion, Number, Section, Switch, Whole, quantity_range, refuse, setting
from airshed.core.units import Quantity
from airshed.grid.grid import check_layer_tops, default_layers
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
"""A place has the same longitude a turn further; areas that cross 180 or 360 are 175 to 190 or 350 to 370."""

Latitude = Annotated[Number, Field(ge=-90.0, le=90.0)]
Layer = Annotated[Whole, Field(ge=0, le=999)]
Ranks = Annotated[Whole, Field(ge=0, le=1_000_000)]
Tiles = Annotated[Whole, Field(ge=1, le=1_000_000)]
MOST_CELLS: Final = 1e9  # cells of a grid: of 66 species they are half a terabyte, more than any machine holds


def _range(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] >= value[1]:
        raise refuse(f"{KEY} = {list(value)} must run from the smaller to the larger: [west, east] or [south, north]")
    return value


Longitudes = Annotated[tuple[Longitude, Longitude], AfterValidator(_range)]
Latitudes = Annotated[tuple[Latitude, Latitude], AfterValidator(_range)]
Levels = Annotated[tuple[Layer, ...], AfterValidator(some)]
SPLITTINGS = tuple(_SPLITTINGS)  # integrators with chemistry in stages of its own


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
        "that two groups of ranks can work at once. docs/explanation/integrators.md shows their stages.",
    )
    sweeps: Whole = setting(
        2,
        "Gauss-Seidel sweeps over the species in a step; one leaves up to 22 ppb in ozone at the ground.",
        unit="1", ge=1, le=1000, only_for="imex",
    )  # fmt: skip
    solver: Literal["ros2", "ros3", "rodas3", "rodas4"] = setting("ros3", "the Rosenbrock method.", only_for=SPLITTINGS)
    relative_tolerance: Number = setting(
        1e-2, "error of a step of chemistry, as part of each concentration.", unit="1", ge=1e-14, lt=1.0,
        only_for=SPLITTINGS,
    )  # fmt: skip
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
        "by level. docs/how-to/parallel.md tells what it costs.",
        only_for=SPLITTINGS,
    )


class MeteorologySection(Section):
    """Where wind, temperature and cloud come from."""

    kind: Literal["era5", "uniform", "given"] = setting(
        "given",
        "`era5` reads files; `uniform` takes the values below everywhere; `given` waits for "
        "`Simulation(case, meteorology=...)` in Python.",
    )
    every: Annotated[Quantity | Literal["auto"], KeywordUnion(("auto",), Interval)] = setting(
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
    daytime_diffusivity: Diffusivity = setting(
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
    updraught: MassFlux = setting(
        "0 kg/m2/s",
        "air that convection carries up through that cloud; it enters below the base and leaves at the top.",
        only_for="uniform",
    )

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
    climatology: Switch = setting(False, "Whether the twelve months of each gridded file hold for every year.")
    point: tuple[PointSource, ...] = setting((), "Point sources.")
    area: tuple[AreaSource, ...] = setting((), "Area sources; where they overlap they add up.")


class DepositionSection(Section):
    """What the ground takes up."""

    scheme: Literal["resistance", "constant", "none"] = setting(
        "resistance",
        "`resistance` follows turbulence and surface; `constant` takes `velocities` everywhere; `none` is none.",
    )
    velocities: Mapping[str, DepositionVelocity] = setting(
        {},
        'Deposition velocities by species, such as `{ O3 = "0.5 cm/s" }`; they replace those of the scheme.',
        keys="species",
    )


class BoundarySection(Section):
    """What the wind brings in."""

    profiles: PathText = setting(
        "zero",
        "Profiles at the edges: `clean-air`, `europe-summer`, `europe-winter` (shipped), `zero`, or the path of a CSV "
        "file relative to the case.",
    )
    scale: Mapping[str, Factor] = setting({}, "Factors on the profiles by species.", unit="1", keys="species")
    values: Mapping[str, MixingRatio] = setting(
        {}, "Mixing ratios by species, at every height; they replace the profiles.", keys="species"
    )
    budget: Literal["total", "faces"] = setting(
        "total", "Inflow and outflow in budgets: `total`; `faces`, also through each face of the area's boundary."
    )


class InitialSection(Section):
    """What is in the air at the start: the boundary's profiles, unless said otherwise here."""

    values: Mapping[str, MixingRatio] = setting({}, "Mixing ratios by species, everywhere.", keys="species")
    file: PathText | None = setting(None, "netCDF file of species on the grid of the case, relative to the case.")


class PhotolysisSection(Section):
    """Light for the chemistry."""

    cloud: Switch = setting(True, "Whether clouds dim it.")


class OutputSection(general.OutputSection):
    """One file of results."""

    levels: Annotated[tuple[Whole, ...] | Literal["all", "ground"], KeywordUnion(("all", "ground"), Levels)] = setting(
        "all", "Layers to write; 0 is the one at the ground."
    )

    def selection(self) -> Mapping[str, Sequence[int]]:
        """Return the layers to write, where they are not all."""
        if self.levels == "all":
            return {}
        return {"level": [0] if self.levels == "ground" else self.levels}


class GroupsSection(Section):
    """Separate groups of ranks for transport and chemistry, not with `imex`; see docs/how-to/parallel.md."""

    transport: Annotated[Whole | Literal["same"], KeywordUnion(("same",), Ranks)] = setting(
        0, "Ranks that run transport; `same` for all, which then run chemistry too; 0 for no groups.", unit="1"
    )
    chemistry: Ranks = setting(0, "Ranks that run chemistry and have tiles and files.", unit="1")
    strategy: Literal["auto", "direct", "funnel", "parallel funnel"] = setting(
        "auto", "How values travel between them; `auto` takes the fastest by prediction."
    )


class ParallelSection(Section):
    """How ranks share the work; nothing here changes a result."""

    tiles: Annotated[tuple[Whole, Whole] | Literal["auto"], KeywordUnion(("auto",), tuple[Tiles, Tiles])] = setting(
        "auto", "Ranks from south to north and from west to east, such as `[2, 3]`; `auto` takes what costs least."
    )
    input: Literal["parallel", "root"] = setting(
        "parallel", "Who reads the meteorology: `parallel`, each rank its part; `root`, the first one for all."
    )
    balance: Annotated[Switch | Literal["auto"], KeywordUnion(("auto",), Switch)] = setting(
        "auto",
        "Whether ranks with costly cells let others integrate some, except with `imex`: `auto`, where it pays; `true`, "
        "whatever messages cost.",
    )
    groups: GroupsSection = Field(default_factory=GroupsSection)

    @model_validator(mode="before")
    @classmethod
    def _without_halo(cls, data: Any) -> Any:
        if isinstance(data, dict) and "halo" in data:
            raise refuse(f"{KEY}.halo is gone, as ranks always exchange their edges by messages; leave it out")
        return data


class AdjointSection(Section):
    """Checkpoints of a run for its adjoint, on each rank; a run without an adjoint stores none."""

    memory: Memory = setting("1.4 GiB", "Memory for checkpoints.", validate_default=True)
    disk: Disk = setting("0 B", "Disk for checkpoints: restarts, and levels where `plan` or `store` say so.")
    plan: Literal["auto", "all", "two-level"] = setting(
        "auto",
        "Which checkpoints are stored, and which steps are run again: `auto` runs the step that is run most often as "
        "rarely as can be; `all` stores every level of one run; `two-level` stores restarts, and every level of one "
        "stretch between them.",
    )
    store: Literal["memory", "files", "mpiio", "zarr"] = setting(
        "memory",
        "Where levels are stored: `memory`, or with the restarts on disk, `files` of each rank, one file of all ranks "
        "by `mpiio`, or compressed in `zarr` without loss. Files lie in the system's temporary folder, which ranks "
        "share for `mpiio` and `zarr`.",
    )
    rounding: Literal["none", "single"] = setting(
        "none",
        "Of levels that are stored: `single` takes half the memory, and gives the gradient of a run that is known to "
        "seven digits; in even air limiters choose by such digits, and the gradient is good to 1 %.",
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
        return self

    @model_validator(mode="before")
    @classmethod
    def _without_what_is_gone(cls, data: Any) -> Any:
        plan, store = (data.get(name) if isinstance(data, dict) else None for name in ("plan", "store"))
        if plan in ("revolve", "multistage", "disk-revolve", "mixed"):
            raise refuse(f'{KEY}.plan = "{plan}" is gone, as "auto" runs fewer steps; take "auto"')
        if isinstance(store, str) and store.endswith(":async"):
            sync = store.removesuffix(":async")
            raise refuse(f'{KEY}.store = "{store}" is gone, as it was no faster than "{sync}"; take "{sync}"')
        return data


def _spacing(value: Any) -> Any:
    return {"lon": value, "lat": value} if isinstance(value, str | int | float | Quantity) else value


class Area(Section):
    """The box of the case, on the sphere."""

    lon: Longitudes = setting(..., "Western and eastern edge.", unit="deg")
    lat: Latitudes = setting(..., "Southern and northern edge.", unit="deg")

    @model_validator(mode="after")
    def _on_the_sphere(self) -> Self:
        if self.lon[1] - self.lon[0] > 360.0:
            raise refuse(f"{KEY}.lon = {list(self.lon)} goes more than once around the sphere")
        return self


class Spacing(Section):
    """The size of a cell."""

    lon: Angle = setting(..., "West to east size of a cell; `spacing` itself may be one angle for both.")
    lat: Angle = setting(..., "South to north size of a cell.")


def _default_layers() -> tuple[str, ...]:
    return tuple(f"{top:g} m" for top in default_layers())


class GridSection(Section):
    """Where: the box and its cells."""

    area: Area
    spacing: Annotated[Spacing, BeforeValidator(_spacing)]
    layers: tuple[Height, ...] = setting(_default_layers, "Tops of the layers, above ground, lowest first.")

    @model_validator(mode="after")
    def _cells(self) -> Self:
        try:
            check_layer_tops(tuple(top.value for top in self.layers))
        except CaseError as error:
            raise refuse(f"{KEY}.layers: {error}") from error
        count = float(len(self.layers))
        for axis in ("lon", "lat"):
            edges, size = getattr(self.area, axis), getattr(self.spacing, axis)
            cells = (edges[1] - edges[0]) / size.value
            count *= cells
            if cells < 0.5 or abs(cells - round(cells)) > 1e-6 * cells:
                extent = f"{edges[1] - edges[0]:g} degrees of {KEY}.area.{axis}"
                raise refuse(f"{KEY}.spacing.{axis} = {size.text!r} does not divide the {extent} into whole cells")
        if count > MOST_CELLS:
            raise refuse(f"{KEY} has {count:.3g} cells, more than {MOST_CELLS:.0e}; take a larger {KEY}.spacing")
        return self


class TimeSection(general.TimeSection):
    """When, and in what steps."""

    step: Annotated[Quantity | Literal["auto"], KeywordUnion(("auto",), Step)] = setting(
        "auto",
        "Time step; `auto` takes the longest that `courant` and, with chemistry or deposition, `maximum_step` allow.",
    )
    maximum_step: Step = setting(
        "5 min",
        'Longest step for `step = "auto"` with chemistry or deposition, however weak the wind.',
        validate_default=True,
    )
    spinup: SpinUp = setting(
        "0 h",
        "Time simulated before `start` to settle the chemistry, with the forcing of the first day.",
        validate_default=True,
    )
    courant: Number = setting(
        0.4,
        'Largest sum of the Courant numbers over the three directions, for `step = "auto"`; with splittings '
        "that of the pieces into which transport is divided, for any step.",
        unit="1",
        ge=0.001,
        le=0.5,
    )

    @property
    def whole(self) -> float:
        """How long is simulated in all [s], with the spin-up."""
        return self.length.value + self.spinup.value

    @property
    def parts(self) -> str:
        """The settings that :attr:`whole` is the sum of, in words."""
        return "time.length and time.spinup"
