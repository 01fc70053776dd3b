"""Fields of files of gridded emission: the pollutant, sector and unit of each variable."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from airshed.core.data import is_dataset
from airshed.core.errors import CaseError, DataError
from airshed.core.text import listed, suggestion
from airshed.grid import Grid
from airshed.io.netcdf import open_netcdf, reading
from airshed.models.air.emissions.file_times import FileTimes, read_times
from airshed.models.air.emissions.names import FileLayout, is_total, layout_of, parse, pollutants, rest_of, sector_of
from airshed.models.air.emissions.source_grid import SourceGrid, read_source_grid, text, zero_based
from airshed.models.air.emissions.targets import Target, Targets
from airshed.models.air.emissions.units import EmissionUnit, emission_unit

if TYPE_CHECKING:
    import xarray as xr

_SECTOR_DIMS: Final = ("sector", "sectors", "category", "emis_cat", "cat", "gnfr", "snap", "source_category")

_NONE: Final = "none"
Choice = Literal["refuse", "zero"]


@dataclass(frozen=True)
class FieldSettings:
    """Settings of the files of one source of gridded emission.

    variables       patterns of the variables to read;  species  pattern of variables -> their emission
    sectors         pattern of variables, or sector of the file -> GNFR sector, or any other name
    per             time over which an amount without time is emitted: "year", "month"
    basis           pollutant -> molecule or atom that its mass stands for
    levels          tops of the levels of the file [m]
    year, repeat    year of the fields to use; whether they are repeated each "year" or "day"
    scale           factor on all fields;  countries  that emit, all if there are none
    overlap         whether the fields are added to those of earlier sources, or replace them
    missing, missing_values  treatment of missing values, and further marks of them
    negative        treatment of negative values;  partial  whether the file may cover a part of the area
    profiles        whether the time and height profiles of the sectors are used
    """

    variables: Sequence[str] = ("*",)
    species: Mapping[str, str] = field(default_factory=dict)
    sectors: Mapping[str, str] = field(default_factory=dict)
    per: str = ""
    basis: Mapping[str, str] = field(default_factory=dict)
    levels: Sequence[float] = ()
    year: int | None = None
    repeat: str = ""
    scale: float = 1.0
    countries: Sequence[str] = ()
    overlap: str = "add"
    missing: Choice = "refuse"
    missing_values: Sequence[float] = ()
    negative: str = "refuse"
    partial: bool = False
    profiles: bool = True


@dataclass(frozen=True, eq=False)
class Field:
    """Field of a file: a variable, or the part of a variable that belongs to one sector.

    index  position along the dimension of sectors;  chosen  sources of a list that belong to the sector
    """

    variable: str
    target: Target
    sector: str
    unit: EmissionUnit
    own_mass: float = 0.0
    basis: str = ""
    index: tuple[str, int] | None = None
    chosen: NDArray[np.bool_] | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifier of a field among files: variable, name of the target, sector."""
        return self.variable, self.target.name, self.sector


class EmissionFile:
    """Open file of gridded emission.

    Parameters
    ----------
    data : Dataset or Path
        The file.
    grid : Grid
        Grid of the case.
    targets : Targets
        Species, compounds and pollutants of the case.
    settings : FieldSettings
        Settings of the file.

    Raises
    ------
    DataError
        For a file without readable times, places or units.
    CaseError
        For variables that are not known as species or pollutants.
    """

    def __init__(self, data: "xr.Dataset | Path", grid: Grid, targets: Targets, settings: FieldSettings) -> None:
        self.place = "the emission dataset" if is_dataset(data) else str(data)
        self.path = None if is_dataset(data) else Path(str(data))
        self.settings, self.grid = settings, grid
        self.dataset: xr.Dataset = data if is_dataset(data) else open_netcdf(Path(str(data)), decode_times=False)
        if self.path is not None:
            self._load_small()
        self.layout = self._layout()
        self.cells: SourceGrid = read_source_grid(self.dataset, grid, self.place)
        self.times: FileTimes = read_times(self.dataset, self.place, settings.year or self.year)
        self.left_out: list[str] = []
        self.skipped: list[str] = []
        self.sectors: set[str] = set()
        self.fields = self._fields(targets)

    def close(self) -> None:
        """Close the file."""
        if self.path is not None:
            self.dataset.close()

    def _load_small(self) -> None:
        """Load the coordinates, and other variables of one dimension."""
        for name, variable in self.dataset.variables.items():
            if variable.ndim < 2 or (variable.dtype.kind in "SU") or name in self.dataset.coords:
                with reading(self.path or Path(), f"variable {name}".format):
                    variable.load()

    def _layout(self) -> FileLayout:
        texts = [f"{key} {value}" for key, value in self.dataset.attrs.items() if isinstance(value, str)]
        texts += [str(each.attrs.get("long_name", "")) for each in self.dataset.variables.values()]
        name = self.path.name if self.path is not None else ""
        return layout_of([str(each) for each in self.dataset.variables], self.dataset.attrs, " ".join([name, *texts]))

    @property
    def year(self) -> int | None:
        """Year of fields without times, in the attributes or the name of the file; None if neither has one."""
        stated = [self.dataset.attrs.get("year"), *(each.attrs.get("year") for each in self.dataset.variables.values())]
        found = next((str(each) for each in stated if each is not None), "")
        if not found and self.path is not None and self.layout.file_name:
            found = " ".join(re.findall(r"(?<![0-9.T])(?:19|20)[0-9]{2}(?![0-9])", self.path.stem)[:1])
        match = re.search(r"[12][0-9]{3}", found)
        return int(match[0]) if match else None

    # Variables

    def _fields(self, targets: Targets) -> list[Field]:
        """Return the fields of all selected variables; totals are omitted where the sectors are in the file."""
        names = self._variables(targets)
        if not names:
            chosen = tuple(self.settings.variables)
            fitting = "" if chosen == ("*",) else f" and fits {listed(chosen)}"
            raise DataError(
                f"{self.place} has no variable with the dimensions {' and '.join(self.cells.dims)} that is emission"
                f"{fitting}"
            )
        parts = [(name, found) for name in names for found in self._meanings(name, targets)]
        by_sector = {found.name for name, found in parts if found.sector and not is_total(name)}
        fields, unknown = [], []
        for name, found in parts:
            if found.name == _NONE:
                continue
            is_sum = is_total(name) and not found.given
            if is_sum and by_sector and (not found.name or found.name in by_sector):
                self.skipped.append(name)
                continue
            target = targets.of(found.name) if found.name else None
            if target is None and found.given:
                known = {each.name for each in pollutants().values()} | set(targets.species or ())
                raise CaseError(
                    f"emissions.gridded: species of {name} = {found.name!r} is neither a pollutant nor a species of "
                    f"the mechanism; {suggestion(found.name, known)}"
                )
            if target is None:
                unknown.append(name)
            elif not target.parts:
                self.left_out.append(found.name)
            else:
                if not found.sector and found.name in by_sector and not is_sum:
                    found = replace(found, sector=rest_of(name))
                fields.append(self._field(name, found, target))
        if unknown:
            self._refuse(unknown, targets)
        self.left_out = list(dict.fromkeys(self.left_out))
        return fields

    def _variables(self, targets: Targets) -> list[str]:
        """Return the variables of emission, by name or unit, and the variables that the settings name."""
        dims, chosen, species = set(self.cells.dims), self.settings.variables, targets.species
        found = []
        for key, variable in self.dataset.items():
            name = str(key)
            if not dims <= set(variable.dims) or not any(fnmatchcase(name, each) for each in chosen):
                continue
            named = name in chosen or any(fnmatchcase(name, each) for each in self.settings.species)
            of_species = species is not None and name in species
            if named or of_species or (not _is_area(variable) and self._is_emission(name, variable, targets)):
                found.append(name)
        return found

    def _is_emission(self, name: str, variable: "xr.DataArray", targets: Targets) -> bool:
        """Return whether a variable has a unit of emission, or the name of a pollutant and no unit of anything else."""
        units = str(variable.attrs.get("units", ""))
        try:
            emission_unit(units, name)
        except DataError:
            is_other = variable.dtype.kind not in "fiu" and targets.species is not None
            return not is_other and (targets.species is None or bool(self._meaning(name, targets).name))
        return True

    def _meanings(self, name: str, targets: Targets) -> "Iterator[_Meaning]":
        """Yield the emission of a variable for each of its sectors."""
        found = self._meaning(name, targets)
        dim = next((str(each) for each in self.dataset[name].dims if str(each).casefold() in _SECTOR_DIMS), "")
        if dim:
            for index, label in enumerate(self._labels(dim)):
                yield _Meaning(found.name, self._sector(name, label) or label, (dim, index), given=found.given)
        elif "emission_category_index" in self.dataset.variables and self.dataset[name].dims == self.cells.dims:
            codes = self._labels("emis_cat")
            position = zero_based(self.dataset["emission_category_index"].values, len(codes), self.place)
            by_sector: dict[str, NDArray[np.bool_]] = {}
            for number, code in enumerate(codes):
                sector = self._sector(name, code) or code
                by_sector[sector] = by_sector.get(sector, np.zeros(position.size, bool)) | (position == number)
            for sector, chosen in by_sector.items():
                if chosen.any():
                    yield _Meaning(found.name, sector, chosen=chosen)
        else:
            yield found

    def _meaning(self, name: str, targets: Targets) -> "_Meaning":
        """Return the emission of a variable and its sector: from the settings, its name, its attributes or the file."""
        given = next((what for pattern, what in self.settings.species.items() if fnmatchcase(name, pattern)), "")
        species = targets.species or ()
        if not given and (targets.species is None or name in species):
            return _Meaning(name, self._sector(name, ""))
        plain = re.sub(self.layout.strip, "", name) if self.layout.strip else name
        exact = next((each for each in species if each.casefold() == plain.casefold()), "")
        emits, sector = (exact, "") if exact else parse(plain, ())
        if not emits and not sector and not is_total(plain):
            emits, sector = parse(plain, [*species, *targets.emissions.becomes])
        attributes = self.dataset[name].attrs
        texts = [str(attributes.get(key, "")) for key in ("substance", "species", "long_name", "standard_name")]
        if self.layout.file_name and self.path is not None:
            of_file = parse(self.path.stem)
            emits = emits or next((found for each in texts[:2] if (found := parse(each)[0])), "") or of_file[0]
            sector = sector or (of_file[1] if not is_total(plain) else "")
        of_long = parse(texts[2]) if not emits or not sector else ("", "")
        emits = emits or next((found for each in texts if (found := parse(each)[0])), "")
        sector = sector or (of_long[1] if self.layout.name and not is_total(plain) else "")
        return _Meaning(given or emits, self._sector(name, sector or self.layout.sector), given=bool(given))

    def _sector(self, name: str, found: str) -> str:
        """Return the sector of a variable by the settings, or the GNFR sector of a sector of the file."""
        self.sectors.add(found.casefold())
        for pattern, sector in self.settings.sectors.items():
            if fnmatchcase(name, pattern) or pattern.casefold() == found.casefold():
                return sector_of(sector) or sector
        return sector_of(found) or found

    def _labels(self, dim: str) -> list[str]:
        """Return the names along a dimension of sectors: its coordinate, its attribute ``ids``, or numbers."""
        names = [dim, f"{dim}_code", f"{dim}_name", "emis_cat_code"]
        for name in names:
            if name in self.dataset.variables:
                variable = self.dataset[name]
                names_in_text = str(variable.attrs.get("ids", variable.attrs.get("flag_meanings", "")))
                if names_in_text:
                    parts = re.split(r";\s*", names_in_text)
                    return [part.split(":", 1)[-1].strip() for part in parts if part.strip()]
                if variable.dtype.kind in "SUO" and variable.ndim == 1:
                    return [text(each) for each in variable.values]
        return [f"{dim} {number}" for number in range(self.dataset.sizes[dim])]

    def _field(self, name: str, found: "_Meaning", target: Target) -> Field:
        attributes = self.dataset[name].attrs
        where = f"{self.place}: {name}"
        unit = emission_unit(str(attributes.get("units", "")), where)
        standard = pollutants().get(target.name.casefold())
        told = self.settings.basis.get(target.name) or self.settings.basis.get(found.name) or unit.basis
        basis = told or self.layout.basis.get(standard.name if standard else target.name, "")
        own_mass = _molar_mass(attributes, where)  # kgC of isoprene has a mass of its own, which is not that of C
        return Field(
            name, target, found.sector, unit, 0.0 if told else own_mass, basis, found.index, found.chosen
        )  # fmt: skip

    def _refuse(self, unknown: Sequence[str], targets: Targets) -> None:
        """Raise CaseError for variables that are not known."""
        name = unknown[0]
        known = targets.species or ()
        what = f"{name!r} is not a species" if len(unknown) == 1 else f"{listed(unknown, 8)} are not species"
        raise CaseError(
            f"{self.place}: {what} of the mechanism; {suggestion(name, known)}. "
            f'In [[emissions.gridded]], map it: species = {{ "{name}" = "NOx" }}, or to "none" to omit it'
        )


def unused_keys(files: Sequence[EmissionFile], settings: FieldSettings) -> list[str]:
    """Return notices of keys of ``species`` and ``sectors`` that fit no variable and no sector of the files."""
    names = {str(name) for file in files for name in file.dataset}
    sectors = {sector for file in files for sector in file.sectors}
    return [
        f"{files[0].place}: {setting} has {key!r}, which fits nothing in the files: it has no effect"
        for setting in ("species", "sectors")
        for key in getattr(settings, setting)
        if not any(fnmatchcase(name, key) for name in names)
        and not (setting == "sectors" and key.casefold() in sectors)
    ]


@dataclass(frozen=True, eq=False)
class _Meaning:
    """Emission of a variable, its sector, and whether it is from the settings."""

    name: str
    sector: str = ""
    index: tuple[str, int] | None = None
    chosen: NDArray[np.bool_] | None = None
    given: bool = False


def _is_area(variable: "xr.DataArray") -> bool:
    """Return whether a variable is the area of cells, which many inventories contain."""
    units = str(variable.attrs.get("units", ""))
    return variable.attrs.get("standard_name") == "cell_area" or units in ("m2", "m**2", "m^2", "km2", "m+2")


def _molar_mass(attributes: Mapping[Any, Any], where: str) -> float:
    """Return the mass of a mole that a variable gives [kg/mol], 0 if it gives none."""
    in_grams = attributes.get("molecular_weight", attributes.get("molar_weight"))
    given = attributes.get("molar_mass")
    if given is None and in_grams is not None:
        found = re.match(r"\s*([0-9.]+)", str(np.ravel(in_grams)[0]))
        return 1e-3 * float(found[1]) if found else 0.0
    if given is None:
        return 0.0
    mass = np.asarray(given)
    if mass.size != 1 or mass.dtype.kind not in "fiu" or not 1e-3 <= float(mass.item()) <= 1.0:
        raise DataError(
            f"{where} is a mass: its attribute molar_mass must be in kg/mol, such as 0.046, not {given!r:.40}"
        )
    return float(mass.item())


@contextmanager
def emission_files(
    data: "Sequence[xr.Dataset | Path]", grid: Grid, targets: Targets, settings: FieldSettings
) -> Iterator[list[EmissionFile]]:
    """Give open files of gridded emission in the block."""
    files: list[EmissionFile] = []
    try:
        files.extend(EmissionFile(each, grid, targets, settings) for each in data)
        yield files
    finally:
        for file in files:
            file.close()
