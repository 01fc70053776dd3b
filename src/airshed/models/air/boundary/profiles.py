"""Profiles of clean air in the species of a mechanism: the initial state and the boundary concentrations.

q_s(p) = scale_s * sum over columns c of factor_sc * profile_c(p)

``docs/how-to/boundaries.md`` has the sources and the format of the files.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, DataError
from airshed.core.files import read_text
from airshed.core.text import shown, suggestion
from airshed.io.tables import Row
from airshed.models.air.species_map import BoundaryMap

_PPM = 1e-6
_PRESSURE = "pressure [Pa]"
_PRESSURES = (1e-3, 2e5)


@dataclass(frozen=True)
class ProfileTable:
    """Mixing ratios of the columns of a profile file [mol/mol], by ln of pressure [ln Pa] in increasing order."""

    name: str
    log_pressure: Array
    columns: Mapping[str, Array]


def read_profile(choice: str | Path) -> ProfileTable:
    """Return the table of a profile file, by its path or the name of a shipped one.

    The file has comments with #, a header whose first name is "pressure [Pa]", then lines of numbers [ppm].
    Raises DataError if it cannot be read or its values are invalid.
    """
    with as_file(files("airshed.models.air") / "data" / "boundary") as folder:
        shipped = folder / f"{choice}.csv"
        path = shipped if shipped.is_file() else Path(choice)
    if path.is_file() and path.read_bytes()[:3] in (b"CDF", b"\x89HD"):
        raise DataError(
            f"the profile {path} is a netCDF file; a profile is a CSV file for all lateral faces: a header whose first "
            'name is "pressure [Pa]", and lines of numbers [ppm]. Give fields as boundary.files = [...]'
        )
    names, rows = read_columns(path, f"the profile {path}")
    if names[0] != _PRESSURE:
        raise DataError(f"the profile {path} must have {_PRESSURE!r} as its first column, not {names[0][:40]!r}")
    if len(rows) < 2:
        raise DataError(f"the profile {path} needs a header, then two or more lines of numbers")
    numbers = np.array([
        [row.number(_PRESSURE, least=_PRESSURES[0], most=_PRESSURES[1]),
         *(row.number(name, most=1.0 / _PPM) for name in names[1:])]
        for row in rows
    ])  # fmt: skip
    if np.any(np.diff(np.sort(numbers[:, 0])) <= 0.0):
        raise DataError(f"the profile {path} has a pressure more than once; take the double line out")
    numbers = numbers[np.argsort(numbers[:, 0])]
    columns = {name: _PPM * numbers[:, i] for i, name in enumerate(names) if i > 0}
    return ProfileTable(path.name, np.log(numbers[:, 0]), columns)


def read_columns(path: Path, where: str) -> tuple[list[str], list[Row]]:
    """Return the header and the lines of a CSV file with comments with #; raise DataError for a table with gaps."""
    text = enumerate(read_text(path, 'give a file, or a shipped profile such as "clean-air"').splitlines(), start=1)
    lines = [(number, line) for number, line in text if line.strip() and not line.startswith("#")]
    try:
        cells = list(csv.reader((line for _, line in lines), strict=True))
    except csv.Error as error:
        raise DataError(f"{where} is not a table ({error}); it needs a header, then numbers") from None
    if len(cells) != len(lines) or len(cells) < 2:
        raise DataError(f"{where} needs a header, then two or more lines of numbers")
    names = [name.strip() for name in cells[0]]
    twice = [name for index, name in enumerate(names) if name in names[:index]]
    if twice or "" in names:
        raise DataError(f"{where} has a column {(twice or [''])[0]!r} that is a duplicate or has no name")
    places, rows = {name: number for number, name in enumerate(names)}, []
    for (line, _), row in zip(lines[1:], cells[1:], strict=True):
        if len(row) != len(names):
            raise DataError(f"{path}, line {line}: {len(row)} numbers, but {len(names)} columns")
        rows.append(Row(path, line, places, row))
    return names, rows


ZERO = "zero"  # profile without a file: the mixing ratio of every species without a value is 0
_NOTHING = ProfileTable(ZERO, np.log([1e4, 1e5]), {})


class BoundaryProfiles:
    """Mixing ratios of the model's species by pressure: initial state, and inflow at the sides and the top.

    Interpolation is linear in ln p; beyond the pressures of the profile the outermost values are used.

    provenance  source of the profile of each species
    """

    def __init__(
        self, species: Sequence[str], species_map: BoundaryMap, *, profile: str | Path = "clean-air",
        scale: Mapping[str, float] | None = None, values: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        """Prepare the profiles of ``species``.

        species_map  species as sums of columns of the profile; not used for the profile "zero"
        profile      "clean-air", "zero", or the path of a profile file
        scale        {species: factor} [1]
        values       {species: mixing ratio} [mol/mol], uniform, in place of the profile
        raises       CaseError for undefined species (all of them in one message), and for more than 1 mol/mol;
                     DataError for a file that cannot be read
        """
        scale, values = scale or {}, values or {}
        wanted = [name for name in species if name not in values]
        if profile == ZERO or not wanted:
            table, made = _NOTHING, BoundaryMap(ZERO, frozenset(wanted))
        else:
            try:
                table, made = read_profile(profile), species_map
            except DataError as error:
                raise DataError(f"boundary.profiles: {error}") from None
        missing = [name for name in wanted if name not in made]
        if missing:
            raise CaseError(
                f"no initial and boundary value for {', '.join(missing)}, not in the species map {made.name}; give "
                f'values in boundary.values, such as {missing[0]} = "0 ppb", a species map with these species, or '
                'boundary.profiles = "zero"'
            )
        self._log_pressure = table.log_pressure
        self._ratios = np.zeros((len(species), table.log_pressure.size))
        self.provenance: dict[str, str] = {}
        for row, name in enumerate(species):
            ratios, origin = _one_species(name, values, made, table)
            self._ratios[row] = ratios * scale.get(name, 1.0)
            if not self._ratios[row].max(initial=0.0) <= 1.0 + 1e-6:  # with a margin for round-off
                by = f", by {made.name}" if name in made.profile else ""
                raise CaseError(
                    f"the boundary's {name} is {self._ratios[row].max():g} mol/mol, more than all air; check "
                    f"boundary.scale and its source: {origin}{by}"
                )
            self.provenance[name] = origin + (f", times {scale[name]:g}" if name in scale else "")

    def at(self, pressure: Array) -> Array:
        """Return mixing ratios [mol/mol] at pressures [Pa] of any shape: (species, *shape of pressure)."""
        log_pressure = np.log(np.asarray(pressure, dtype=np.float64))
        nodes = self._log_pressure
        upper = np.clip(np.searchsorted(nodes, log_pressure), 1, nodes.size - 1)
        weight = np.clip((log_pressure - nodes[upper - 1]) / (nodes[upper] - nodes[upper - 1]), 0.0, 1.0)
        return np.asarray(self._ratios[:, upper - 1] * (1.0 - weight) + self._ratios[:, upper] * weight)


def _one_species(
    name: str, given: Mapping[str, float], made: BoundaryMap, table: ProfileTable
) -> tuple[Array | float, str]:
    """Return the mixing ratios of a species at the table's pressures, or one number, and their source."""
    if name in given:
        return given[name], f"given: {given[name]:g} mol/mol"
    if name in made.uniform:
        return made.uniform[name], f"{made.uniform[name]:g} mol/mol ({made.name})"
    if name not in made.profile:
        return 0.0, f"0 ({made.name})"
    parts = made.profile[name]
    for column in parts:
        if column not in table.columns:
            raise CaseError(
                f"{made.name} computes {name} from {shown(column)}, which {table.name} lacks: "
                f"{suggestion(column, table.columns)}. A file with a few species belongs in boundary.files"
            )
    total: Array = sum((share * table.columns[column] for column, share in parts.items()), np.zeros(()))
    return total, f"{table.name}: " + " + ".join(f"{share:g} {column}" for column, share in parts.items())
