"""Section of gridded emission in an air case."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from airshed.case.values import YEARS, PathText, Text
from airshed.core.settings import Number, Section, Switch, Whole, quantity_range, setting
from airshed.core.units import Quantity

Factor = Annotated[Number, Field(ge=0.0, le=1e6)]
MissingMark = Annotated[Number, Field(ge=-1e40, le=1e40)]
LevelTop = Annotated[Quantity, quantity_range("m", least="0.1 m", most="100 km")]


class GriddedSection(Section):
    """Files of gridded emission that belong together: one inventory, with its pollutants, sectors and times."""

    files: tuple[PathText, ...] = setting(..., "netCDF files, relative to the case, such as `edgar/*.nc`.")
    variables: tuple[Text, ...] = setting(
        ("*",), "Variables to read, by name or pattern; by default all variables of emission."
    )
    species: Mapping[str, Text] = setting(
        {},
        "Emission of variables, by name or pattern: a pollutant of inventories, which the species map splits, a "
        'species, or `none`: `{ "emi_nox" = "NOx" }`; by default from the names in the file.',
    )
    sectors: Mapping[str, Text] = setting(
        {},
        "Sectors of variables, by name or pattern, or of sectors of the file: "
        '`{ "*" = "F_RoadTransport" }`; by default from the names in the file.',
    )
    per: Literal["file", "year", "month"] = setting(
        "file", "Time over which amounts without time, such as Tonnes, are emitted; `file`: as in known layouts."
    )
    basis: Mapping[str, Text] = setting(
        {}, 'Molecule or atom that the mass of a pollutant stands for, such as `{ NOx = "NO" }` or `{ NMVOC = "C" }`.'
    )
    levels: tuple[LevelTop, ...] = setting((), "Tops of the levels of the files above ground, where these have levels.")
    year: Whole | None = setting(
        None, "Year of the fields to use, for every year of the run.", ge=YEARS[0], le=YEARS[1]
    )
    repeat: Literal["none", "year", "day"] = setting(
        "none", "`year`: the fields of one year are used for every year; `day`: those of one day for every day."
    )
    scale: Factor = setting(1.0, "Factor on all fields.", unit="1")
    countries: tuple[Text, ...] = setting(
        (), "Countries that emit, such as `DE`, by the land in each cell; by default all."
    )
    overlap: Literal["add", "replace"] = setting(
        "add", "`replace`: the emission replaces that of the files above of the same species, where it covers the area."
    )
    partial: Switch = setting(False, "Whether the files may cover only a part of the area.")
    missing: Literal["refuse", "zero"] = setting(
        "refuse", "Treatment of missing values in the area: `zero` takes them as no emission."
    )
    missing_values: tuple[MissingMark, ...] = setting(
        (), "Numbers that mark missing values, which the files do not declare."
    )
    negative: Literal["refuse", "zero"] = setting(
        "refuse", "Treatment of negative values, such as an uptake: `zero` omits them."
    )
    profiles: Switch = setting(
        True, "Whether emission of a GNFR sector follows the time and height profiles of the inventory."
    )


@dataclass(frozen=True)
class _TextsAsFiles:
    """Annotation of a list of sections in which a text is one file with all defaults."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Wrap the schema of the sections."""
        return core_schema.no_info_before_validator_function(_as_sections, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe each element as a text or a section."""
        schema = handler.resolve_ref_schema(handler(core))
        schema["items"] = {"anyOf": [schema["items"], {"type": "string"}]}
        return schema


def _as_sections(value: object) -> object:
    if isinstance(value, list | tuple):
        return tuple({"files": (each,)} if isinstance(each, str) else each for each in value)
    return value


GriddedSections = Annotated[tuple[GriddedSection, ...], _TextsAsFiles()]
"""Blocks of gridded emission."""
