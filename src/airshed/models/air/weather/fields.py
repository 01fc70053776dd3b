"""Table of weather fields: meaning, names in input data, and diagnosis of missing fields.

To add a field, add a row to :data:`FIELDS`. The table defines the state of the air, the input variables and their
ranges, and the fields that processes and output may request. docs/how-to/meteorology.md contains it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final, Literal, Self

from airshed.core.errors import DataError
from airshed.core.fields import FieldSpec, Written
from airshed.core.report import markdown_table
from airshed.grid import Grid

if TYPE_CHECKING:
    import xarray as xr

Place = Literal["cells", "layer_faces", "east_faces", "north_faces", "surface"]
Range = tuple[float, float, str]
"""Minimum and maximum of a variable, and its unit in the model."""

SHAPES: Final[Mapping[Place, tuple[int, ...]]] = {
    "cells": (0, 0, 0), "layer_faces": (1, 0, 0), "east_faces": (0, 0, 1), "north_faces": (0, 1, 0), "surface": (0, 0),
}  # fmt: skip
"""Number of values in addition to the cells along (level,) lat, lon."""


@dataclass(frozen=True)
class WeatherField:
    """Field of the weather.

    name      name in the state of the air, by which processes request it
    cf_name   name of the variable of a Dataset; empty if a Dataset cannot contain it
    unit      in the model;  low, high  range of its values
    place     location of its values on the grid
    text      description, for documents and output
    era5      names in ERA5 files
    use       "state": in every state of the air; "optional": in a state if the data has it and a process or an output
              requests it; "derived": computed for output from the state; "input": read only by diagnoses
    output    name in output; empty if it is not in output
    standard_name  CF standard name; None: `cf_name`
    variable  range and unit of the variable of a Dataset, if they differ from those of the field
    missing   diagnosis of a missing field, for the provenance
    """

    name: str
    cf_name: str
    unit: str
    low: float = -inf
    high: float = inf
    place: Place = "cells"
    text: str = ""
    era5: tuple[str, ...] = ()
    use: Literal["state", "optional", "derived", "input"] = "optional"
    output: str = ""
    standard_name: str | None = None
    variable: Range | None = None
    missing: str = ""
    written: Written = "named"

    @property
    def range(self) -> Range:
        """Range and unit of the variable of a Dataset."""
        return self.variable or (self.low, self.high, self.unit)

    def shape(self, grid: Grid) -> tuple[int, ...]:
        """Return its shape on a grid."""
        more = SHAPES[self.place]
        return tuple(size + each for size, each in zip(grid.shape[-len(more) :], more, strict=True))

    def spec(self) -> FieldSpec:
        """Return it as a field of output."""
        standard = self.cf_name if self.standard_name is None else self.standard_name
        dims = ("level", "lat", "lon")[-len(SHAPES[self.place]) :]
        return FieldSpec(
            self.output, dims, self.unit, self.text, standard or None, valid=(self.low, self.high), written=self.written
        )


FIELDS: Final = (
    WeatherField(
        "temperature", "air_temperature", "K", 150.0, 500.0, text="Temperature of the air", era5=("t",), use="state",
        output="air_temperature", written="always",
    ),
    WeatherField(
        "pressure", "air_pressure", "Pa", 1.0, 150e3, text="Pressure of the air", use="state", output="air_pressure",
        written="always",  # with these two, mixing ratios become mass concentrations
    ),
    WeatherField("air_density", "", "mol m-3", 0.0, text="Amount of air per volume", use="state", output="air_density"),
    WeatherField(
        "water_vapour", "specific_humidity", "mol mol-1", 0.0, 1.0, text="Mixing ratio of water vapour",
        era5=("q", "r"), use="state", output="water_vapour", standard_name="mole_fraction_of_water_vapor_in_air",
        variable=(-1e-3, 0.1, "kg kg-1"), missing="diagnosed: relative humidity of Manabe & Wetherald 1967",
    ),
    WeatherField(
        "eastward_wind", "", "m s-1", -1e3, 1e3, text="Wind towards the east", use="derived", output="eastward_wind",
        standard_name="eastward_wind",
    ),
    WeatherField(
        "northward_wind", "", "m s-1", -1e3, 1e3, text="Wind towards the north", use="derived", output="northward_wind",
        standard_name="northward_wind",
    ),
    WeatherField(
        "eastward_air_flux", "eastward_wind", "mol s-1", place="east_faces", era5=("u",), use="state",
        text="Air through the west and east faces, positive to the east", variable=(-1e3, 1e3, "m s-1"),
    ),
    WeatherField(
        "northward_air_flux", "northward_wind", "mol s-1", place="north_faces", era5=("v",), use="state",
        text="Air through the south and north faces, positive to the north", variable=(-1e3, 1e3, "m s-1"),
    ),
    WeatherField(
        "diffusivity", "atmosphere_heat_diffusivity", "m2 s-1", 0.0, 1e5, "layer_faces", use="state",
        text="Vertical turbulent diffusivity, 0 at the ground and the top",
        missing="diagnosed: K-profile (Troen & Mahrt 1986), above it Holtslag & Boville 1993",
    ),
    WeatherField(
        "surface_temperature", "surface_temperature", "K", 150.0, 500.0, "surface",
        "Temperature of the air at the ground", ("t2m",), "state", "surface_temperature",
        missing="diagnosed: temperature of the lowest layer",
    ),
    WeatherField(
        "surface_pressure", "surface_air_pressure", "Pa", 20e3, 150e3, "surface", "Pressure of the air at the ground",
        ("sp", "lnsp"), "state", "surface_pressure",
    ),
    WeatherField(
        "cloud_cover", "cloud_area_fraction", "1", 0.0, 1.0, "surface", "Fraction of the sky under cloud", ("tcc",),
        "state", "cloud_cover", variable=(-0.01, 1.01, "1"),
        missing="diagnosed: from relative humidity (Sundqvist et al. 1989), maximum-random overlap",
    ),
    WeatherField(
        "precipitation", "precipitation_flux", "kg m-2 s-1", 0.0, 1.0, "surface", "Precipitation reaching the ground",
        ("tp",), "state", "precipitation",
    ),
    WeatherField(
        "boundary_layer_height", "atmosphere_boundary_layer_thickness", "m", 0.0, 2e4, "surface",
        "Height of the mixed layer", ("blh",), "state", "boundary_layer_height",
    ),
    WeatherField(
        "friction_velocity", "friction_velocity", "m s-1", 0.0, 10.0, "surface", "Friction velocity at the ground",
        ("zust",), "state", "friction_velocity", standard_name="",
        missing="diagnosed: log law with Businger-Dyer stability by day, Venkatram 1980 by night",
    ),
    WeatherField(
        "obukhov_length", "obukhov_length", "m", -1e6, 1e6, "surface", "Obukhov length, positive in stable air", (),
        "state", "obukhov_length", standard_name="", variable=(-1e12, 1e12, "m"),
        missing="diagnosed: from friction velocity and heat flux",
    ),
    WeatherField(
        "sensible heat flux", "surface_upward_sensible_heat_flux", "W m-2", -2e3, 2e3, "surface",
        "Sensible heat flux at the ground, positive upwards", ("sshf",), "input",
        missing="diagnosed: energy of the ground (Holtslag & van Ulden 1983), by night theta* of "
        "van Ulden & Holtslag 1985; 0 over sea",
    ),
    WeatherField(
        "solar radiation", "surface_downwelling_shortwave_flux_in_air", "W m-2", 0.0, 2e3, "surface",
        "Solar radiation at the ground", ("ssrd",), "input",
        missing="diagnosed: solar elevation and cloud (Holtslag & van Ulden 1983)",
    ),
    WeatherField("evaporation", "", "kg m-2 s-1", place="surface", text="Evaporation", era5=("e",), use="input"),
    WeatherField(
        "eastward wind at 10 m", "", "m s-1", place="surface", text="Wind at 10 m", era5=("u10",), use="input"
    ),
    WeatherField(
        "northward wind at 10 m", "", "m s-1", place="surface", text="Wind at 10 m", era5=("v10",), use="input"
    ),
    WeatherField(
        "dew point at 2 m", "", "K", place="surface", text="Humidity near the ground, on pressure levels",
        era5=("d2m",), use="input",
    ),
    WeatherField("cloud of levels", "", "1", text="Cloud cover of each level", era5=("cc",), use="input"),
    WeatherField(
        "heights of the levels", "", "m", text="Height or geopotential of levels", era5=("z", "gh"), use="input"
    ),
    WeatherField(
        "height of the ground", "", "m", place="surface", text="Height or geopotential of the ground",
        era5=("zs", "orog"), use="input",
    ),
    WeatherField("land and sea", "", "1", place="surface", text="Land fraction", era5=("lsm",), use="input"),
    WeatherField(
        "cloud_water", "mass_fraction_of_cloud_liquid_water_in_air", "kg kg-1", -1e-6, 0.05,
        text="Liquid water of clouds, mean over the cell", era5=("clwc",), output="cloud_water",
    ),
    WeatherField(
        "updraught_mass_flux", "atmosphere_updraft_convective_mass_flux", "kg m-2 s-1", -1e-6, 10.0, "layer_faces",
        "Convective updraught mass flux through a face, per area of the cell",
    ),
    WeatherField(
        "downdraught_mass_flux", "atmosphere_downdraft_convective_mass_flux", "kg m-2 s-1", -1e-6, 10.0, "layer_faces",
        "Convective downdraught mass flux through a face, positive downwards",
    ),
    WeatherField(
        "updraught_detrainment", "updraft_detrainment_rate", "kg m-3 s-1", -1e-9, 1.0, standard_name="",
        text="Detrainment of updraughts in a layer, per volume", output="updraught_detrainment",
    ),
    WeatherField(
        "downdraught_detrainment", "downdraft_detrainment_rate", "kg m-3 s-1", -1e-9, 1.0, standard_name="",
        text="Detrainment of downdraughts in a layer, per volume", output="downdraught_detrainment",
    ),
)  # fmt: skip
"""All weather fields of the model; processes of users may declare additional ones."""


def by_name() -> dict[str, WeatherField]:
    """Return the rows of the table by their names."""
    return {each.name: each for each in FIELDS}


def of_use(*uses: str) -> tuple[WeatherField, ...]:
    """Return the rows with given uses, in the order of the table."""
    return tuple(each for each in FIELDS if each.use in uses)


def era5_names() -> dict[str, str]:
    """Return the names in ERA5 files of all fields that are not optional, each with the name of its field."""
    return {name: each.name for each in of_use("state", "input") for name in each.era5}


@dataclass(frozen=True)
class WeatherNeeds:
    """Weather that processes and output require in addition to the fields of every state.

    fields  fields that are read if the data has them
    margin  number of additional columns on each side of the columns of a rank
    """

    fields: tuple[WeatherField, ...] = ()
    margin: int = 0

    @classmethod
    def together(cls, several: Iterable["WeatherNeeds"]) -> Self:
        """Return the union of needs; raises DataError for two different fields with the same name."""
        fields: dict[str, WeatherField] = {}
        margin = 0
        for needs in several:
            margin = max(margin, needs.margin)
            for field in needs.fields:
                if fields.setdefault(field.name, field) != field:
                    raise DataError(f"two processes declare the weather field {field.name} differently; rename one")
        return cls(tuple(fields.values()), margin)


def fields_table() -> str:
    """Return the table of docs/how-to/meteorology.md."""
    places = {"layer_faces": "layer faces", "east_faces": "west and east faces", "north_faces": "south and north faces"}
    when = {"state": "always", "optional": "on request", "derived": "for output", "input": "for diagnosis"}
    rows = []
    for each in FIELDS:
        low, high, unit = each.range
        bounds = f"{low:g} to {high:g} {unit}" if each.cf_name else "-"
        era5 = ", ".join(f"`{name}`" for name in each.era5) or "-"
        variable = f"`{each.cf_name}`" if each.cf_name else "-"
        where = places.get(each.place, each.place)
        rows.append((f"`{each.name}`", each.unit, where, when[each.use], variable, bounds, era5, each.text))
    return markdown_table(
        ("field", "unit", "where", "when", "in a Dataset", "range there", "in ERA5 files", "meaning"), rows
    )


NONE_GIVEN: Final = "none given"
_STANDARD: Final = "diagnosed: standard atmosphere (ISO 2533)"
_PROFILE: Final = (
    "diagnosed: date and latitude (Collins & Langley 1999), humidity (77 %, Manabe & Wetherald 1967), hour; 6.5 K/km"
)
_RICHARDSON: Final = "diagnosed: bulk Richardson number 0.25 (Seidel et al. 2012), at least 100 m"
_ENCROACHMENT: Final = (
    "diagnosed: heat since the morning (Tennekes 1973), friction (Zilitinkevich et al. 2007), at least 100 m"
)


def _diagnosed(rules: Mapping[str, str], extra: Sequence[WeatherField], *, temperature_is_read: bool) -> dict[str, str]:
    """Return the diagnosis of each missing field; `rules` are for a kind of data."""
    return {
        **rules,
        "boundary_layer_height": _RICHARDSON if temperature_is_read else _ENCROACHMENT,
        **{each.name: each.missing for each in FIELDS if each.missing},
        "vertical air flux": "diagnosed: continuity of air in the model",
        **{each.name: NONE_GIVEN for each in extra},
    }


def dataset_provenance(
    used: Iterable[str], present: Iterable[str], extra: Sequence[WeatherField] = ()
) -> dict[str, str]:
    """Return the provenance of each quantity for a Dataset with CF names; `extra` are fields that processes request."""
    names, rows = set(used), of_use("state", "input")
    given = {each.name: f"given: {each.cf_name}" for each in (*rows, *extra) if each.cf_name in names}
    hydrostatic = "diagnosed: hydrostatic, 1013.25 hPa at the ground" if "temperature" in given else _STANDARD
    rules = {
        "temperature": _STANDARD, "pressure": hydrostatic, "precipitation": "none given: 0",
        "surface_pressure": "diagnosed: hydrostatic, from the lowest layer", "air_density": "diagnosed: p / (R T)",
    }  # fmt: skip
    unused = sorted(set(present) - {each.cf_name for each in rows} - names)
    result = {**_diagnosed(rules, extra, temperature_is_read="temperature" in given), **given}
    return {**result, **dict.fromkeys(unused, "given, not used")}


def wrf_provenance(names: Iterable[str], extra: Sequence[WeatherField] = ()) -> dict[str, str]:
    """Return the provenance of each quantity for output of WRF with some variables."""
    held = set(names)
    read = {
        "temperature": "T, P, PB", "pressure": "P, PB, PSFC", "water_vapour": "QVAPOR", "eastward_air_flux": "U, V",
        "northward_air_flux": "U, V", "surface_pressure": "PSFC", "surface_temperature": "T2", "cloud_cover": "CLDFRA",
        "precipitation": "RAINC, RAINNC", "boundary_layer_height": "PBLH", "friction_velocity": "UST",
        "sensible heat flux": "HFX", "solar radiation": "SWDOWN", "evaporation": "LH", "cloud_water": "QCLOUD",
    }  # fmt: skip
    rules = {"air_density": "diagnosed: p / (R T)", "precipitation": "not in the files: 0"}
    requested = {each.name for each in (*of_use("state", "input"), *extra)}
    found = {
        name: f"read: {variables}"
        for name, variables in read.items()
        if name in requested and held & set(variables.split(", "))
    }
    return {**_diagnosed(rules, extra, temperature_is_read=True), **found}


def era5_provenance(
    dataset: "xr.Dataset", held: bool, extra: Sequence[WeatherField] = (),
    of_sums: Callable[[str], str] = lambda name: "",
) -> dict[str, str]:  # fmt: skip
    """Return the provenance of each quantity for fields of ERA5.

    extra    fields that processes request
    of_sums  returns the accumulation period of a field
    """
    names = set(map(str, dataset.data_vars))
    meanings = era5_names() | {name: each.name for each in extra for name in each.era5}
    level = "the ground's geopotential" if names & {"zs", "orog"} else "sea level, from geopotential"
    hypsometric = "diagnosed: from the geopotential between levels (hypsometric)"
    rules = {
        "temperature": hypsometric if names & {"z", "gh"} else _PROFILE,
        "surface_pressure": f"diagnosed: pressure at {level}", "precipitation": "not in the files: 0",
        "pressure": "diagnosed: hydrostatic (hypsometric heights of the levels)",
        "air_density": "diagnosed: hydrostatic, from pressure, temperature and humidity",
    }  # fmt: skip
    result = _diagnosed(rules, extra, temperature_is_read=bool(names & {"t", "z", "gh"}))
    for name in sorted(names & set(meanings)):
        about = [text for text in (dataset[name].attrs.get("converted"), of_sums(name)) if text]
        told = f" ({'; '.join(about)})" if about else ""
        result[meanings[name]] = f"read: {name} from {dataset[name].attrs['file']}{told}"
    if dataset.attrs.get("steady"):
        result["time"] = "none in the files: steady"
    if held:
        result["last interval"] = f"held: the data ends at {str(dataset['time'].values[-1])[:16]}"
    for name in sorted({*dataset.attrs.get("unused", ()), *(names - set(meanings))}):
        result[name] = "in the files, not used"
    return result
