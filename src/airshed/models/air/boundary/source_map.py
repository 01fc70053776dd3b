"""Maps of the variables of other models to species: shipped layouts and maps of the user, in TOML.

A species is a sum of factor * variable. A shipped layout gives columns of the profile clean-air, from which the species
map of a mechanism makes its species: one layout serves every mechanism.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final, NamedTuple

from airshed.case.toml import KeyPath, key_lines, read_toml
from airshed.core.constants import MOLAR_MASS_DRY_AIR
from airshed.core.errors import CaseError, DataError
from airshed.core.text import shown, suggestion
from airshed.core.units import quantity
from airshed.models.air.species_map import BoundaryMap

Factors = Mapping[str, float]
"""Factor by variable."""

_SECTIONS: Final = ("name", "prefixes", "suffixes", "recognise", "species", "columns", "molar_mass", "carbon", "units")
_OF_USERS: Final = ("species", "columns", "molar_mass", "carbon", "units")
_ENDINGS: Final = (" dry", "-dryair", " v/v", "-dry")
"""Words that files write after a unit: mol mol-1 dry, ug/kg-dryair, ppb v/v."""
_SPELLED: Final = {
    "v/v": "mol/mol", "vmr": "mol/mol", "m3 m-3": "mol/mol", "m^3/m^3": "mol/mol", "vol/vol": "mol/mol",
    "micrograms/m3": "ug/m3", "microg m-3": "ug/m3", "molec/cm3": "molecules/cm3", "molec cm-3": "molecules/cm3",
    "mole/mole": "mol/mol", "mole mole-1": "mol/mol", "molmol-1": "mol/mol", "kgkg-1": "kg/kg",
}  # fmt: skip
_OF_CARBON: Final = {"ppbC": 1e-9, "ppmC": 1e-6, "pptC": 1e-12}
"""Units of mixing ratios that count atoms of carbon."""


@dataclass(frozen=True)
class SourceMap:
    """Variables of files to species or columns of a profile, and the properties of variables.

    name        of the layout, or the file of the user
    species     of the mechanism: sums of factor * variable
    columns     of the profile: sums of factor * variable
    molar_mass  of variables [kg/mol]
    carbon      atoms of carbon of variables, for units such as ppbC
    units       of variables, in place of those of the file
    prefixes, suffixes  of the names of variables, which the sums leave out
    """

    name: str = ""
    species: Mapping[str, Factors] = field(default_factory=dict)
    columns: Mapping[str, Factors] = field(default_factory=dict)
    molar_mass: Mapping[str, float] = field(default_factory=dict)
    carbon: Mapping[str, float] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    recognise: Mapping[str, Any] = field(default_factory=dict)

    def short(self, name: str) -> str:
        """Return the name of a variable without its prefix and suffix."""
        for prefix in self.prefixes:
            name = name.removeprefix(prefix)
        for suffix in self.suffixes:
            name = name.removesuffix(suffix)
        return name

    def fits(self, names: Collection[str], attributes: Mapping[Any, Any]) -> bool:
        """Return whether variables and attributes of a file are those of this layout."""
        rule = self.recognise
        if rule.get("prefixed"):
            return any(name.startswith(self.prefixes) for name in names)
        written = rule.get("attributes", {}).items()
        has_all = all(key in attributes and text in str(attributes[key]) for key, text in written)
        return has_all and not set(rule.get("variables", ())).isdisjoint(map(self.short, names))


@cache
def layouts() -> tuple[SourceMap, ...]:
    """Return the shipped layouts."""
    with as_file(files("airshed.models.air") / "data" / "boundary" / "layouts") as folder:
        return tuple(_read(path, _SECTIONS) for path in sorted(folder.glob("*.toml"), reverse=True))


def layout_of(names: Collection[str], attributes: Mapping[Any, Any]) -> SourceMap:
    """Return the layout of a file; an empty one, for variables named by species, if there is none."""
    return next((each for each in layouts() if each.fits(names, attributes)), SourceMap())


def read_source_map(path: Path) -> SourceMap:
    """Return the map of a user; raises CaseError with file and line."""
    return _read(path, _OF_USERS)


def _read(path: Path, known: tuple[str, ...]) -> SourceMap:
    data, text = read_toml(path)
    lines = key_lines(text)

    def refuse(key: KeyPath, message: str) -> CaseError:
        return CaseError(f"{path}:{lines.get(key, lines.get(key[:1], 1))}: {message}")

    for key in data:
        if key not in known:
            raise refuse((key,), f"a map of files has no {shown(key)}; {suggestion(key, known)}")
    tables: dict[str, dict[str, Any]] = {}
    for section in _OF_USERS:
        table = data.get(section, {})
        if not isinstance(table, dict):
            raise refuse((section,), f"{section} must be a table")
        tables[section] = table
    for section in ("species", "columns"):
        for name, sum_of in tables[section].items():
            factors = sum_of.values() if isinstance(sum_of, dict) else ()
            if not factors or not all(_is_number(each) and each > 0.0 for each in factors):
                raise refuse((section, name), f"{name} must be a sum of factor * variable, such as {{ o3 = 1 }}")
    for name, mass in tables["molar_mass"].items():
        if not _is_number(mass) or not 1.0 <= mass <= 2000.0:
            raise refuse(("molar_mass", name), f"molar_mass.{name} must be a number in g/mol, such as 47.998")
    for name, atoms in tables["carbon"].items():
        if not _is_number(atoms) or not 1.0 <= atoms <= 100.0:
            raise refuse(("carbon", name), f"carbon.{name} must be a number of atoms, such as 5")
    for name, unit in tables["units"].items():
        if not isinstance(unit, str):
            raise refuse(("units", name), f'units.{name} must be a unit in quotes, such as "ppb"')
        conversion_of(unit, f"{path}: units.{name}", molar_mass=1.0, carbon=1.0)
    return SourceMap(
        str(data.get("name", path.name)), tables["species"], tables["columns"],
        {name: 1e-3 * mass for name, mass in tables["molar_mass"].items()}, tables["carbon"], tables["units"],
        tuple(data.get("prefixes", ())), tuple(data.get("suffixes", ())), data.get("recognise", {}),
    )  # fmt: skip


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class RatioConversion:
    """Conversion of a number to a mixing ratio.

    factor            to [mol/mol], or of a concentration to [mol/m3]
    is_concentration  whether the air density is needed
    """

    factor: float
    is_concentration: bool = False


def conversion_of(
    unit: str, where: str, *, molar_mass: float | None = None, carbon: float | None = None
) -> RatioConversion:
    """Return the conversion of a unit: mol/mol and parts of it, kg/kg, kg/m3, molecules/cm3, ppbC.

    molar_mass  [kg/mol]; None if it is unknown, which the units of mass need
    carbon      atoms of carbon; None if they are unknown, which ppbC needs
    raises      DataError for another unit or none, and for an unknown property that the unit needs
    """
    text = _plain(unit)
    if text in ("", "1", "-", "dimensionless"):
        raise DataError(
            f"{where} has {'the unit ' + repr(text) if text else 'no unit'}, so that a ratio of amounts and one of "
            'masses look alike; give it in the map: units = { NAME = "mol/mol" } or "kg/kg"'
        )
    try:
        if text in _OF_CARBON:
            return RatioConversion(_OF_CARBON[text] / _known(carbon, where, unit, "carbon = { NAME = 5 }"))
        molar = partial(_known, molar_mass, where, unit, "molar_mass = { NAME = 46.0 }")
        if "/kg" in text or "kg-1" in text:
            mass = quantity(f"1 {text.replace('/kg', '').replace('kg-1', '').strip()}", ("kg",), where=where).value
            return RatioConversion(mass * MOLAR_MASS_DRY_AIR / molar())
        found = quantity(f"1 {text}", ("mol/mol", "mol/m3", "kg/m3"), where=where)
    except CaseError:
        raise DataError(
            f"{where} is in {unit[:40]!r}; give a mixing ratio (mol/mol, ppb, kg/kg) or a concentration (ug/m3, "
            "molecules/cm3), or correct its unit in the map"
        ) from None
    if found.unit == "kg/m3":
        return RatioConversion(found.value / molar(), is_concentration=True)
    return RatioConversion(found.value, is_concentration=found.unit == "mol/m3")


def _plain(unit: str) -> str:
    """Return a unit as the unit registry spells it, without words after it."""
    text = " ".join(unit.replace("**", "").replace("^", "").replace("\u00b5", "u").replace("\u03bc", "u").split())
    for ending in _ENDINGS:
        text = text.removesuffix(ending)
    text = text.lower() if text.isupper() or text.lower() in ("ppmv", "ppbv", "pptv") else text
    return _SPELLED.get(text.lower(), text)


def _known(number: float | None, where: str, unit: str, example: str) -> float:
    if number is None:
        raise DataError(f"{where} is in {unit}: give in the map: {example}")
    return number


class Mixture(NamedTuple):
    """Origin of a species: a sum of variables, and the columns of the profile that they leave out.

    variables  factor by variable;  rest  share by column of the profile
    """

    variables: Factors
    rest: Factors


def mixtures(
    available: Mapping[str, str], species: Iterable[str], profile: BoundaryMap, layout: SourceMap, own: SourceMap
) -> dict[str, Mixture]:
    """Return the origin of the species that files give.

    available  variable by its short name
    profile    species as sums of columns of the profile
    layout     of the files;  own  map of the user, which precedes
    raises     CaseError for a map of the user with unknown species, columns or variables
    """
    names = tuple(species)
    _check(available, names, profile, own)
    folded = {each.casefold(): each for each in available}

    def there(factors: Factors) -> Factors:
        return {available[name]: factor for name, factor in factors.items() if name in available}

    found: dict[str, Mixture] = {}
    for name in names:
        direct = there(own.species.get(name, {})) or there(layout.species.get(name, {}))
        if not direct and not layout.name and name.casefold() in folded:  # files of no known layout: by equal names
            direct = {available[folded[name.casefold()]]: 1.0}
        if direct:
            found[name] = Mixture(direct, {})
            continue
        total: dict[str, float] = {}
        rest: dict[str, float] = {}
        for column, share in profile.profile.get(name, {}).items():
            sums = there(own.columns.get(column, {})) or there(layout.columns.get(column, {}))
            if not sums and not layout.name and column in available:
                sums = {available[column]: 1.0}
            for variable, factor in sums.items():
                total[variable] = total.get(variable, 0.0) + share * factor
            rest |= {} if sums else {column: share}
        if not total and name.casefold() in folded:
            total, rest = {available[folded[name.casefold()]]: 1.0}, {}
        if total:
            found[name] = Mixture(total, rest)
    return found


def _check(available: Mapping[str, str], names: tuple[str, ...], profile: BoundaryMap, own: SourceMap) -> None:
    """Raise CaseError for a map of the user with unknown names."""
    columns = {column for parts in profile.profile.values() for column in parts}
    for kind, table, known in (("species", own.species, names), ("columns", own.columns, columns)):
        for name, factors in table.items():
            if name not in known:
                raise CaseError(f"{own.name}: {kind} has {shown(name)}; {suggestion(name, known)}")
            for variable in factors:
                if variable not in available:
                    raise CaseError(
                        f"{own.name}: {kind}.{name} needs {shown(variable)}, which no file has; "
                        f"{suggestion(variable, available)}"
                    )


def described(mixture: Mixture) -> str:
    """Return a sum of variables as text."""
    return " + ".join(name if factor == 1.0 else f"{factor:g} {name}" for name, factor in mixture.variables.items())
