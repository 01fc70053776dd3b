"""Values, formulas and columns that conditions, states and mechanism give by name, and those that follow from them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from math import floor
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.case.failure import INPUTS
from airshed.core.constants import BOLTZMANN, NITROGEN_FRACTION, OXYGEN_FRACTION, SECONDS_PER_DAY
from airshed.core.errors import CaseError
from airshed.core.saturation import SATURATION_FORMULA
from airshed.core.text import suggestion
from airshed.formula.functions import FUNCTIONS
from airshed.formula.parse import CONSTANTS, Formula, parse, unknown_name
from airshed.mechanism.expressions import AIR_GASES, symbols
from airshed.mechanism.file_air import own_density
from airshed.mechanism.kpp.rate_functions import SUNRISE, SUNSET
from airshed.mechanism.network import OpenParameter, ReactionNetwork
from airshed.mechanism.structure import units_of_open
from airshed.models.box.conditions import BoxConditions
from airshed.models.box.processes import BoxProcesses
from airshed.models.box.states import CellStates, refuse_touched
from airshed.models.box.values import CONCENTRATION, RATE_UNITS, FromCsv, Knots, Value, read_knots, spellings, value_of

Array = npt.NDArray[np.float64]
SUN: Final = ("SUN", "sec_zenith", "daylight")
_NUMBER_DENSITY: Final = f"/({BOLTZMANN!r}*T)*1e-6"
_DERIVED: Final = {  # what follows from what is given
    "p": f"M*1e6*{BOLTZMANN!r}*T",
    "M": f"p{_NUMBER_DENSITY}",
    "O2": f"{OXYGEN_FRACTION!r}*M",
    "N2": f"{NITROGEN_FRACTION!r}*M",
    "H2O": f"humidity*{SATURATION_FORMULA}{_NUMBER_DENSITY}",
}

_BY_SECANT: Final = {"daylight": "sec_zenith > 0", "SUN": "where(daylight > 0, 1/sec_zenith, 0)"}
_BY_COSINE: Final = {"SUN": "max(cos_zenith, 0)", "daylight": "SUN > 0", "sec_zenith": "1/max(SUN, 0.001)"}
_CLOCK: Final = ("t", "cos_zenith", "kpp_sun")

RANGES: Final = {
    "T": (100.0, 1000.0, "K"),
    "p": (1e-3, 1e7, "Pa"),
    "M": (1e9, 1e22, CONCENTRATION),
    "emission": (0.0, 1e22, f"{CONCENTRATION}/s"),
    "deposition": (0.0, 1e9, "1/s"),
    "weather": (-np.inf, np.inf, ""),
}
"""What a box can have. Temperature: from below the coldest air, at the summer mesopause in 85 km (some 130 K, Luebken
1999, J. Geophys. Res. 104, 9135), to the exosphere's 1000 K (U.S. Standard Atmosphere 1976), which is also that of flow
reactors. Pressure: from that at 95 km to 100 bar, of laboratories. Density: what these give; and emission not more than
that in a second, loss within a nanosecond. Fields of the weather may be anything, winds below 0."""

_DENSITY: Final = "environment.pressure or fixed.M"
_SUN: Final = "rates.SUN, rates.sec_zenith or environment.location"
_WATER: Final = "environment.humidity or fixed.H2O"

_GIVE: Final = {
    "T": "environment.temperature", **dict.fromkeys(("p", "M", "O2", "N2"), _DENSITY),
    **dict.fromkeys(("H2O", "humidity"), _WATER), **dict.fromkeys(SUN, _SUN),
}  # fmt: skip
"""What a conditions file gives for a name."""


class NamedValues:
    """Values, formulas and columns by their names in formulas, checked against the mechanism.

    network    the mechanism, without the formulas of rates that the conditions give instead
    initial    species number -> its value at the start;  emitted, deposited  numbers of species, rising
    opened     what touches species together with chemistry, in words -> their numbers
    needed     names of air and sun that rate constants need
    corners    times [s] at which conditions are known not to be smooth
    cells      number of boxes

    Raises CaseError with the key, and the nearest name for one that is unknown; one error for all that is missing.
    """

    def __init__(
        self, conditions: BoxConditions, network: ReactionNetwork, states: CellStates | None = None,
        processes: BoxProcesses | None = None,
    ) -> None:  # fmt: skip
        # Rates for which the side file has formulas, but the conditions too, are open again.
        given = {name.casefold() for name in conditions.rates}
        bindings = {name: value for name, value in network.bindings.items() if name.casefold() not in given}
        self.network = network if len(bindings) == len(network.bindings) else replace(network, bindings=bindings)
        self._processes = processes or BoxProcesses(network)
        self.cells = states.cells if states else 1
        self._first = states.first if states else 0
        self._states = states
        self._conditions = conditions
        self._location = conditions.environment.location
        self._keys: dict[str, str] = {}
        self._of_processes: dict[str, str] = {}
        self._values: dict[str, Array | Formula | Knots] = {}
        self._own: dict[str, Array] = {}
        self.initial = _by_species("initial", conditions.initial, network)
        self._add_given()
        self.emitted = self._add_sources("emission", conditions.emission)
        self.deposited = self._add_sources("deposition", conditions.deposition)
        self.opened = {"emission and deposition": {*self.emitted, *self.deposited}}
        self._add_processes()
        refuse_touched(self.network, {*self.emitted, *self.deposited})
        self.needed = {name for constant in self.network.rate_constants for name in symbols(constant)}
        self._add_air()
        self._add_sun()
        self._derive({each.name: repr(each.default) for each in self.network.parameters if each.default is not None})
        self._settle()

    def key(self, name: str) -> str:
        """Return the key of the conditions file that gives a value, or the process, for messages."""
        return ", ".join(each[name] for each in (self._keys, self._of_processes) if name in each) or name

    def number(self, cell: int) -> int | None:
        """Return the number of a cell of this rank among all cells, for messages; None where there is but one."""
        return self._first + cell if self.cells > 1 or self._first else None

    @property
    def air_changes(self) -> bool:
        """Whether the density of air may change in time."""
        return self._moves("M", set())

    @property
    def by_mechanism(self) -> tuple[str, ...]:
        """Species whose value at the start is that of the mechanism's file, above 0."""
        given = {*self.initial, *(self._states.species if self._states else ())}
        own = {name.casefold(): value for name, value in self.network.initial.items()}
        names = enumerate(self.network.names)
        return tuple(name for number, name in names if own.get(name.casefold()) and number not in given)

    def _moves(self, name: str, above: set[str]) -> bool:
        value = self._values.get(name)
        if name in _CLOCK or isinstance(value, Knots):
            return True
        names = value.names if isinstance(value, Formula) else ()
        return any(self._moves(each, above | {name}) for each in names if each not in above)

    def _formulas(self) -> dict[str, Formula]:
        return {name: each for name, each in self._values.items() if isinstance(each, Formula)}

    def _add_given(self) -> None:
        conditions = self._conditions
        environment = conditions.environment
        for name, key in (("T", "temperature"), ("p", "pressure"), ("humidity", "humidity")):
            if (value := getattr(environment, key)) is not None:
                self._add(name, f"environment.{key}", value)
        fixed = {name.casefold(): name for name in (*AIR_GASES, *(each.name for each in self.network.fixed))}
        for name, value in conditions.fixed.items():
            meant = "M" if name.upper() in map(str.upper, self.network.air_names) else name
            known = self._known("fixed", meant, fixed, f"no fixed species of {self.network.name}")
            self._add(known, f"fixed.{name}", value, molar=known != "M")
        open_ = {each.name.casefold(): each for each in self.network.parameters if each.name.casefold() not in fixed}
        names = {name.casefold(): name for name in (*SUN, *(each.name for each in open_.values()))}
        fitting = units_of_open(self.network)
        for name, value in conditions.rates.items():
            known = self._known("rates", name, names, f"{self.network.name} leaves nothing open of this name")
            self._add(known, f"rates.{name}", _in_unit(f"rates.{name}", value, open_.get(name.casefold()), fitting))
        own = dict(self._states.values) if self._states else {}
        if self._states and self._states.last and {"p", "M"} <= own.keys():
            own.pop("p" if "M" in self._keys else "M")  # a run writes both, and one follows from the other
        for name, (numbers, _) in own.items():
            if not self._gives_way(name, numbers):
                self._add_cells(name, numbers)

    def _gives_way(self, name: str, values: Array) -> bool:
        """Return whether a value at the end of a run gives way to the conditions: the same in all boxes, and given."""
        given = {"p": ("p", "M"), "M": ("p", "M"), "humidity": ("humidity", "H2O"), "H2O": ("humidity", "H2O")}
        known = any(each in self._keys for each in given.get(name, (name,)))
        return bool(self._states and self._states.last) and known and bool(np.ptp(values) == 0.0)

    def _add_cells(self, name: str, values: Array) -> None:
        """Replace a value of the conditions by that of each cell; the pressure also replaces M."""
        for other in {"p": ("M",), "M": ("p",), "humidity": ("H2O",)}.get(name, ()):
            self._values.pop(other, None)
            self._keys.pop(other, None)
        self._own[name] = values
        self._keys[name] = f"{self._states.source if self._states else 'states'}: {name}"
        self._values[name] = values[:, None]

    def _known(self, section: str, name: str, names: Mapping[str, str], problem: str) -> str:
        """Return the name as the mechanism has it; raises CaseError for one that is unknown or stands twice."""
        known = names.get(name.casefold())
        if known is None:
            raise CaseError(f"{section}.{name}: {problem}; {suggestion(name, names.values())}")
        if known in self._keys:
            raise CaseError(f"{section}.{name} stands twice: names differ by more than the case of letters")
        return known

    def _add(self, name: str, key: str, value: Value, *, molar: bool = True) -> None:
        unit = self._take(name, key, value)
        if unit == "mol/mol":
            if not molar or isinstance(value, FromCsv):
                raise CaseError(f"{key} must be in {CONCENTRATION}, not a part of air")
            self._values[name] = parse(f"{value.value!r}*M", where=key)

    def _take(self, name: str, key: str, value: Value) -> str | None:
        """Take a value as it is given, and return its unit."""
        self._keys[name] = key
        unit = value.unit
        if isinstance(value, FromCsv):
            knots = read_knots(value, self._conditions.folder, key=key)
            self._values[name], unit = knots, knots.unit
        elif value.formula is not None and value.formula.names:
            self._values[name] = replace(value.formula, where=key)
        else:
            number = value.value if value.formula is None else float(value.formula.evaluate({}))
            self._values[name] = np.full((1, 1), number)
        return unit

    def _add_sources(self, section: str, values: Mapping[str, Value]) -> tuple[int, ...]:
        found = _by_species(section, values, self.network)
        for number, value in found.items():
            self._add(f"{section} {number}", f"{section}.{self.network.names[number]}", value)
        return tuple(sorted(found))

    def _add_processes(self) -> None:
        """Add the weather that processes require, and the species that they change."""
        for name, value in self._processes.weather.items():
            self._take(f"weather {name}", f"weather.{name}", value)
        self.emitted = tuple(sorted({*self.emitted, *self._processes.touched("emission")}))
        self.deposited = tuple(sorted({*self.deposited, *self._processes.touched("deposition")}))
        for each, section in product(self._processes.acting, ("emission", "deposition")):
            touched = each.touched(section)
            self.opened[each.name] = self.opened.get(each.name, set()) | touched
            for species in touched:
                key, whose = f"{section} {species}", f"{each.name}: {section} of {self.network.names[species]}"
                self._of_processes[key] = f"{self._of_processes[key]}, {whose}" if key in self._of_processes else whose

    def _add_air(self) -> None:
        """Add what follows from pressure or density; a mechanism's own air where the conditions give none."""
        own = {
            name.upper(): value for name, value in self.network.initial.items() if name.upper() in AIR_GASES and value
        }
        own |= {"M": density} if (density := own_density(self.network)) is not None else {}
        least, most, _ = RANGES["M"]
        if "M" not in self.needed and not least <= own.get("M", least) <= most:
            own = {}  # of a mechanism without units, whose rates do not use it
        if "p" not in self._keys and "M" not in self._keys:
            self._derive({name: repr(value) for name, value in own.items()})
        air = {"p": ("M",), "M": ("p",), "O2": ("p", "M"), "N2": ("p", "M"), "H2O": ("humidity",)}
        self._derive({name: _DERIVED[name] for name, by in air.items() if any(each in self._keys for each in by)})
        if "H2O" in own:
            self._derive({"H2O": repr(own["H2O"])})

    def _add_sun(self) -> None:
        """Add what follows from the secant, the cosine or the location; else KPP's day for rates that name SUN."""
        if "sec_zenith" in self._keys:
            self._derive(_BY_SECANT)
        elif "SUN" in self._keys or self._location is not None:
            self._derive(_BY_COSINE)
        elif "SUN" in self.needed and "sec_zenith" not in self.needed:
            self._derive({**_BY_COSINE, "SUN": "kpp_sun"})
            self._keys["SUN"] = "kpp_sun"

    def _derive(self, texts: Mapping[str, str]) -> None:
        """Add the formulas of what is not given."""
        for name, text in texts.items():
            if name not in self._keys:
                self._keys[name] = name
                self._values[name] = parse(text, where=name)

    def _settle(self) -> None:
        """Remove formulas that lack a value; raise CaseError for all that is missing."""
        given = {name for name, key in self._keys.items() if key != name}
        clock = {"t"} | ({"cos_zenith"} if self._location is not None else {"kpp_sun"})
        formulas = self._formulas()
        needs = Needs(self.network, formulas, {*(set(self._values) - set(formulas)), *clock})
        called = {each.name for each in self.network.parameters if each.name in self.network.callables}
        if self.air_changes:
            self.needed.add("M")
        roots = {INPUTS.get(name, name) for name in self.needed}
        roots |= {each.name for each in self.network.parameters} - called | {name for name in given if " " not in name}
        sources = {name for name in given if " " in name}
        # Initial values and tolerances that are a part of air need its density.
        units = [value.unit for value in self.initial.values()]
        units += [unit for _, unit in (self._states.species.values() if self._states else ())]
        units.append(self._conditions.solver.absolute_tolerance.unit)
        needs.check([*sorted(roots), *sorted(sources)], ["M"] if "mol/mol" in units else [])
        for each in self._processes.acting:
            needs.check(sorted(each.needs), whose=each.name)
        self._values = {name: each for name, each in self._values.items() if needs.settled(name)}
        start = self._conditions.time.start.value
        end = start + self._conditions.time.length.value
        columns = [each for each in self._values.values() if isinstance(each, Knots)]
        corners = {float(time) for each in columns for time in each.times if start < time < end}
        if self._keys.get("SUN") == "kpp_sun":
            days = range(floor(start / SECONDS_PER_DAY), floor(end / SECONDS_PER_DAY) + 1)
            times = (day * SECONDS_PER_DAY + 3600.0 * hour for day in days for hour in (SUNRISE, SUNSET))
            corners.update(time for time in times if start < time < end)  # the light of KPP's day is not smooth there
        self.corners = sorted(corners)


def _in_unit(key: str, value: Value, parameter: OpenParameter | None, fitting: Mapping[str, tuple[str, ...]]) -> Value:
    """Return a value of [rates] in a unit of what it stands for: 1 for the sun, anything where nothing is known.

    A bare number is in the unit that the rate needs, unless the mechanism's file has one.
    """
    units = ("1",) if parameter is None else spellings(fitting.get(parameter.name, RATE_UNITS))
    if isinstance(value, FromCsv):
        return replace(value, units=units)
    bare = value.formula is None and value.unit == "1" and not value.text.rstrip().endswith(("%", "percent"))
    if bare and (parameter is None or not parameter.unit):
        return value
    return value_of(value, units, where=key)


def _by_species(section: str, values: Mapping[str, Value], network: ReactionNetwork) -> dict[int, Value]:
    """Return values by species number; raises CaseError for a name that is no species, or one that stands twice."""
    numbers = {name.casefold(): number for number, name in enumerate(network.names)}
    found: dict[int, Value] = {}
    for name, value in values.items():
        number = numbers.get(name.casefold())
        if number is None:
            raise CaseError(f"{section}.{name}: no species of {network.name}; {suggestion(name, network.names)}")
        if number in found:
            raise CaseError(f"{section}.{name} stands twice: names differ by more than the case of letters")
        found[number] = value
    return found


class Needs:
    """Follows names through formulas down to what is known."""

    def __init__(self, network: ReactionNetwork, formulas: Mapping[str, Formula], known: Iterable[str]) -> None:
        self._network, self._formulas, self._known = network, formulas, frozenset(known)
        self._open = {each.name: each for each in network.parameters}
        self._units = units_of_open(network)

    def settled(self, name: str) -> bool:
        """Return whether a name follows from what is known."""
        return not any(True for _ in self._missing(name, None, set()))

    def check(self, *groups: Iterable[str], whose: str = "") -> None:
        """Raise CaseError for the first name that means nothing, else one for all names that lack a value.

        whose  need it is, by default the mechanism's
        """
        missing: list[tuple[str, str]] = []
        for name in (name for group in groups for name in group):
            for lacking, formula in self._missing(name, None, set()):
                text = self._give(lacking)
                if text is None and formula is not None:
                    names = [name for name in (*self._known, *_GIVE, *self._open) if name.isidentifier()]
                    raise unknown_name(formula, lacking, [*names, *FUNCTIONS, *CONSTANTS])
                missing.append(text or ("", lacking))
        if missing:
            whose = whose or f"mechanism {self._network.name!r}"
            heading = f"{whose} needs what the conditions do not give:"

            # What to give, a line each; names below one heading share a line.
            missing = list(dict.fromkeys(missing))
            heads = [head for head in dict.fromkeys(head for head, _ in missing) if head]
            grouped = [f"{each}: {', '.join(name for head, name in missing if head == each)}" for each in heads]
            lines = sorted(name for head, name in missing if not head) + grouped
            listed = f"{heading} {lines[0]}" if len(lines) == 1 else "\n  ".join([heading, *lines])

            # Initial values 0 of the air do not count.
            initial = self._network.initial.items()
            zero = ", ".join(name for name, value in initial if name.upper() in AIR_GASES and not value)
            listed += f"\n(the initial value 0 of {zero} in the mechanism's file counts as none)" if zero else ""
            raise CaseError(listed)

    def _missing(self, name: str, formula: Formula | None, above: set[str]) -> Iterable[tuple[str, Formula | None]]:
        """Yield names without a value, and the formula that has them; circles are errors of the evaluation."""
        if name in self._known or name in above:
            return
        if name not in self._formulas:
            yield name, formula
            return
        for needed in self._formulas[name].names:
            yield from self._missing(needed, self._formulas[name], above | {name})

    def _give(self, name: str) -> tuple[str, str] | None:
        """Return what to give, below which heading; None for a name that means nothing."""
        if name in _GIVE:
            return "", _GIVE[name]
        if name not in self._open:
            return None
        fixed = any(each.name == name for each in self._network.fixed)
        unit = self._units.get(name, ("",))[0]
        quoted = name if name.replace("_", "").isalnum() else f'"{name}"'
        return f"{'fixed' if fixed else 'rates'}{f' in {unit}' if unit else ''}", quoted
