"""Forcing of box models: conditions from values, formulas and columns of files, evaluated at given times."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from math import floor
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.case.failure import INPUTS, with_paths
from airshed.core.arrays import Array
from airshed.core.constants import BOLTZMANN, NITROGEN_FRACTION, OXYGEN_FRACTION, SECONDS_PER_DAY
from airshed.core.errors import CaseError
from airshed.core.saturation import SATURATION_FORMULA
from airshed.core.text import suggestion
from airshed.formula.parse import Formula, parse
from airshed.formula.quantity import evaluate_named
from airshed.mechanism.expressions import AIR_GASES, symbols
from airshed.mechanism.file_air import own_density
from airshed.mechanism.kpp.rate_functions import SUNRISE, SUNSET, kpp_sun
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.rate_check import RateCheck
from airshed.mechanism.structure import units_of_open
from airshed.models.air.light import declination, equation_of_time
from airshed.models.box.conditions import SECONDS_PER_DEGREE, BoxConditions, Location
from airshed.models.box.needs import SUN, RequiredValues, by_species, in_unit
from airshed.models.box.processes import BoxProcesses, Moment
from airshed.models.box.states import CellStates, refuse_touched, set_sums
from airshed.models.box.values import CONCENTRATION, MOST_HUMIDITY, CsvColumn, PiecewiseLinear, Value, read_column

_NUMBER_DENSITY: Final = f"/({BOLTZMANN!r}*T)*1e-6"
_DERIVED: Final = {
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
"""Valid ranges of conditions.

The temperature ranges from below the summer mesopause at 85 km (about 130 K, Luebken 1999, J. Geophys. Res. 104, 9135)
to 1000 K, which occurs in the exosphere (U.S. Standard Atmosphere 1976) and in flow reactors. The pressure ranges from
that at 95 km to 100 bar in laboratories. The range of the density follows from both. Emission is at most this density
per second, and losses take at least a nanosecond. Weather fields have no limits, since winds may be negative.
"""

UNNEEDED: Final = {
    "T": 298.15, "p": 101325.0, "M": 2.5e19, "O2": 0.0, "N2": 0.0, "H2O": 0.0,
    "SUN": 0.0, "sec_zenith": 1.0, "daylight": 0.0,
}  # fmt: skip
"""Placeholders for values of air and sun that are neither given nor needed."""

_ROUND_OFF: Final = 1.0 + 1e-9
_PARAMETER: Final = 0.0, 1e60
"""Bounds of open parameters of a mechanism, which are not negative."""

_ABOVE_ZERO: Final = ("T", "p", "M", "sec_zenith")


class BoxForcing:
    """Conditions of boxes by their names in formulas, evaluated at several times together.

    network    mechanism, without the formulas of rates that the conditions replace
    initial    species number -> initial value
    emitted    numbers of emitted species, ascending
    deposited  numbers of deposited species, ascending
    opened     description of a process other than chemistry -> numbers of the species that it changes
    needed     names of air and sun that rate constants need
    corners    times [s] at which conditions are not smooth
    cells      number of boxes

    Raises CaseError with the key, and the nearest name for an unknown name. All missing values are in one error.
    """

    def __init__(
        self, conditions: BoxConditions, network: ReactionNetwork, states: CellStates | None = None,
        processes: BoxProcesses | None = None,
    ) -> None:  # fmt: skip
        # Conditions replace the formulas of rates in the companion file of the mechanism.
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
        self._values: dict[str, Array | Formula | PiecewiseLinear] = {}
        self._own: dict[str, Array] = {}
        self.initial = by_species("initial", conditions.initial, network)
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
        self._rates = RateCheck(self.network, {each.name: _PARAMETER for each in self.network.parameters})

    def key(self, name: str) -> str:
        """Return the key of a value in the conditions file, or the process that sets it, for messages."""
        return ", ".join(each[name] for each in (self._keys, self._of_processes) if name in each) or name

    def number(self, cell: int) -> int | None:
        """Return the global number of a cell of this rank, for messages; None for a single cell."""
        return self._first + cell if self.cells > 1 or self._first else None

    @property
    def air_changes(self) -> bool:
        """True if the density of air may change over time."""
        return self._moves("M", set())

    @property
    def by_mechanism(self) -> tuple[str, ...]:
        """Species with a positive initial value from the mechanism file."""
        given = {*self.initial, *(self._states.species if self._states else ())}
        own = {name.casefold(): value for name, value in self.network.initial.items()}
        names = enumerate(self.network.names)
        return tuple(name for number, name in names if own.get(name.casefold()) and number not in given)

    def _moves(self, name: str, above: set[str]) -> bool:
        value = self._values.get(name)
        if name in _CLOCK or isinstance(value, PiecewiseLinear):
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
            species = "M" if name.upper() in map(str.upper, self.network.air_names) else name
            known = self._known("fixed", species, fixed, f"not a fixed species of {self.network.name}")
            self._add(known, f"fixed.{name}", value, molar=known != "M")
        open_ = {each.name.casefold(): each for each in self.network.parameters if each.name.casefold() not in fixed}
        names = {name.casefold(): name for name in (*SUN, *(each.name for each in open_.values()))}
        fitting = units_of_open(self.network)
        for name, value in conditions.rates.items():
            known = self._known("rates", name, names, f"{self.network.name} has no open parameter with this name")
            self._add(known, f"rates.{name}", in_unit(f"rates.{name}", value, open_.get(name.casefold()), fitting))
        if self._states is not None:
            self._add_states(self._states)

    def _add_states(self, states: CellStates) -> None:
        """Replace values of the conditions by those of each cell; a pressure also replaces M."""
        own = dict(states.values)
        if states.last and {"p", "M"} <= own.keys():
            own.pop("p" if "M" in self._keys else "M")  # output has both, and one follows from the other
        same = {"p": ("p", "M"), "M": ("p", "M"), "humidity": ("humidity", "H2O"), "H2O": ("humidity", "H2O")}
        for name, (values, _) in own.items():
            # Conditions take precedence over a value at the end of a run that is the same in all boxes.
            given = any(each in self._keys for each in same.get(name, (name,)))
            if states.last and given and np.ptp(values) == 0.0:
                continue
            for other in {"p": ("M",), "M": ("p",), "humidity": ("H2O",)}.get(name, ()):
                self._values.pop(other, None)
                self._keys.pop(other, None)
            self._own[name], self._keys[name] = values, f"{states.source}: {name}"
            self._values[name] = values[:, None]

    def _known(self, section: str, name: str, names: Mapping[str, str], problem: str) -> str:
        """Return the spelling of a name in the mechanism; raises CaseError for an unknown or duplicate name."""
        known = names.get(name.casefold())
        if known is None:
            raise CaseError(f"{section}.{name}: {problem}; {suggestion(name, names.values())}")
        if known in self._keys:
            raise CaseError(f"{section}.{name} is given twice: upper and lower case are not distinguished")
        return known

    def _add(self, name: str, key: str, value: Value, *, molar: bool = True) -> None:
        unit = self._take(name, key, value)
        if unit == "mol/mol":
            if not molar or isinstance(value, CsvColumn):
                raise CaseError(f"{key} must be in {CONCENTRATION}, not a mixing ratio")
            self._values[name] = parse(f"{value.value!r}*M", where=key)

    def _take(self, name: str, key: str, value: Value) -> str | None:
        """Store a value in its given unit, and return the unit."""
        self._keys[name] = key
        unit = value.unit
        if isinstance(value, CsvColumn):
            column = read_column(value, self._conditions.folder, key=key)
            self._values[name], unit = column, column.unit
        elif value.formula is not None and value.formula.names:
            self._values[name] = replace(value.formula, where=key)
        else:
            number = value.value if value.formula is None else float(value.formula.evaluate({}))
            self._values[name] = np.full((1, 1), number)
        return unit

    def _add_sources(self, section: str, values: Mapping[str, Value]) -> tuple[int, ...]:
        found = by_species(section, values, self.network)
        for number, value in found.items():
            self._add(f"{section} {number}", f"{section}.{self.network.names[number]}", value)
        return tuple(sorted(found))

    def _add_processes(self) -> None:
        """Add the weather for processes, and the species that processes change."""
        for name, value in self._processes.weather.items():
            self._take(f"weather {name}", f"weather.{name}", value)
        changed: dict[str, set[int]] = {"emission": {*self.emitted}, "deposition": {*self.deposited}}
        for each, section in product(self._processes.acting, changed):
            touched = each.touched(section)
            changed[section] |= touched
            self.opened[each.name] = self.opened.get(each.name, set()) | touched
            for species in touched:
                key, whose = f"{section} {species}", f"{each.name}: {section} of {self.network.names[species]}"
                self._of_processes[key] = f"{self._of_processes[key]}, {whose}" if key in self._of_processes else whose
        self.emitted, self.deposited = (tuple(sorted(each)) for each in changed.values())

    def _add_air(self) -> None:
        """Add values that follow from pressure or density; without these, use the air of the mechanism."""
        own = {
            name.upper(): value for name, value in self.network.initial.items() if name.upper() in AIR_GASES and value
        }
        own |= {"M": density} if (density := own_density(self.network)) is not None else {}
        least, most, _ = RANGES["M"]
        if "M" not in self.needed and not least <= own.get("M", least) <= most:
            own = {}  # a mechanism without units, whose rates do not use M
        if "p" not in self._keys and "M" not in self._keys:
            self._derive({name: repr(value) for name, value in own.items()})
        air = {"p": ("M",), "M": ("p",), "O2": ("p", "M"), "N2": ("p", "M"), "H2O": ("humidity",)}
        self._derive({name: _DERIVED[name] for name, by in air.items() if any(each in self._keys for each in by)})
        if "H2O" in own:
            self._derive({"H2O": repr(own["H2O"])})

    def _add_sun(self) -> None:
        """Add values that follow from secant, cosine or location; otherwise the day of KPP for rates with SUN."""
        if "sec_zenith" in self._keys:
            self._derive(_BY_SECANT)
        elif "SUN" in self._keys or self._location is not None:
            self._derive(_BY_COSINE)
        elif "SUN" in self.needed and "sec_zenith" not in self.needed:
            self._derive({**_BY_COSINE, "SUN": "kpp_sun"})
            self._keys["SUN"] = "kpp_sun"

    def _derive(self, texts: Mapping[str, str]) -> None:
        """Add formulas for values that are not given."""
        for name, text in texts.items():
            if name not in self._keys:
                self._keys[name] = name
                self._values[name] = parse(text, where=name)

    def _settle(self) -> None:
        """Remove formulas without all their inputs; raise CaseError with all missing values."""
        given = {name for name, key in self._keys.items() if key != name}
        clock = {"t"} | ({"cos_zenith"} if self._location is not None else {"kpp_sun"})
        formulas = self._formulas()
        required = RequiredValues(self.network, formulas, {*(set(self._values) - set(formulas)), *clock})
        called = {each.name for each in self.network.parameters if each.name in self.network.callables}
        if self.air_changes:
            self.needed.add("M")
        roots = {INPUTS.get(name, name) for name in self.needed}
        roots |= {each.name for each in self.network.parameters} - called | {name for name in given if " " not in name}
        sources = {name for name in given if " " in name}
        # Initial values and tolerances in mol/mol need the density of air.
        units = [value.unit for value in self.initial.values()]
        units += [unit for _, unit in (self._states.species.values() if self._states else ())]
        units.append(self._conditions.solver.absolute_tolerance.unit)
        required.check([*sorted(roots), *sorted(sources)], ["M"] if "mol/mol" in units else [])
        for each in self._processes.acting:
            required.check(sorted(each.needs), whose=each.name)
        self._values = {name: each for name, each in self._values.items() if required.settled(name)}
        start = self._conditions.time.start.value
        end = start + self._conditions.time.length.value
        columns = [each for each in self._values.values() if isinstance(each, PiecewiseLinear)]
        corners = {float(time) for each in columns for time in each.times if start < time < end}
        if self._keys.get("SUN") == "kpp_sun":
            days = range(floor(start / SECONDS_PER_DAY), floor(end / SECONDS_PER_DAY) + 1)
            times = (day * SECONDS_PER_DAY + 3600.0 * hour for day in days for hour in (SUNRISE, SUNSET))
            corners.update(
                time for time in times if start < time < end
            )  # the photolysis factor of KPP is not smooth there
        self.corners = sorted(corners)

    def at(self, times: npt.ArrayLike, cells: npt.NDArray[np.intp] | None = None) -> dict[str, Array]:
        """Return all named values at times (time,) [s since local midnight of the first day].

        The shape is (cell, time), with size 1 for an axis without variation; `cells` selects cells by number.
        Values of air and sun are T [K], p [Pa], M, O2, N2, H2O [molecules cm-3], SUN, sec_zenith and daylight [1]. The
        parameters of the mechanism have their own names. Rates of species N are "emission N" [molecules cm-3 s-1] and
        "deposition N" [s-1]. Values that the conditions neither give nor imply are missing. Raises CaseError for a
        value that is negative or not finite, and MechanismError for such a rate constant.
        """
        t = np.asarray(times, np.float64).reshape(-1)
        chosen = slice(None) if cells is None else cells
        values: dict[str, Array] = {}
        for name, each in self._values.items():
            if isinstance(each, PiecewiseLinear):
                values[name] = each.at(t)[None]
            elif not isinstance(each, Formula):
                values[name] = each[chosen] if len(each) > 1 else each
        clock: dict[str, npt.ArrayLike] = {"t": t[None]}
        if self._location is not None:
            clock["cos_zenith"] = cosine_at(self._location, t)[None]
        if self._keys.get("SUN") == "kpp_sun":
            clock["kpp_sun"] = kpp_sun(t)[None]
        values |= {
            name: value.reshape(1, 1) if value.ndim < 2 else value
            for name, value in evaluate_named(self._formulas(), {**clock, **values}).items()
        }
        values |= self._called(values)
        if "daylight" in values and "sec_zenith" in values:
            values["sec_zenith"] = np.where(values["daylight"] == 0.0, 1.0, values["sec_zenith"])
        for name, value in values.items():
            self._check(name, value, t)
        if self._processes.acting:
            values |= self._acted(values, t, clock)
        for name in (each for each in AIR_GASES if each in values and "M" in values):
            if (more := values[name] > values["M"] * _ROUND_OFF).any():
                first = t[int(np.nonzero(more)[1][0])] if more.shape[1] > 1 else t[0]
                raise CaseError(f"{self.key(name)} exceeds the density of air M at t = {first:g} s")
        names = {name: INPUTS.get(name, name) for name in self.needed}
        names |= {each.name: each.name for each in self.network.parameters}
        numbers = (self._first + np.arange(self.cells, dtype=np.float64))[chosen]
        place = {"t": t[None]} | ({"cell": numbers[:, None]} if self.cells > 1 else {})
        self._rates({name: values[own] for name, own in names.items() if own in values}, **place)
        return values

    def _acted(self, values: Mapping[str, Array], times: Array, clock: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """Return the losses and sources that processes contribute to, including those of the conditions."""
        # Only the cosine from a location includes angles below the horizon.
        formula = self._values.get("SUN")
        of_location = isinstance(formula, Formula) and "cos_zenith" in formula.names
        sun = np.asarray(clock["cos_zenith"]) if of_location else values.get("SUN")
        weather = {name: values[f"weather {name}"] for name in self._processes.weather}
        found: dict[str, Array] = {}
        moment = Moment(times, values, weather, sun)
        rates = [rate for process in self._processes.acting for rate in process.rates(moment)]
        for section, species, rate in rates:
            name = f"{section} {species}"
            before = found.get(name, values.get(name))
            found[name] = rate if before is None else before + rate
        for name, value in found.items():
            self._check(name, value, times)
        return found

    def start(self, time: float, air: Mapping[str, Array]) -> Array:
        """Return the initial density (species, cell) [molecules cm-3]: from states, [initial], mechanism file, or 0."""
        named: dict[str, npt.ArrayLike] = {"t": time, **{name: value for name, value in air.items() if " " not in name}}
        densities = np.zeros((len(self.network.species), self.cells))
        own = {name.casefold(): value for name, value in self.network.initial.items()}
        for name in self.by_mechanism:
            densities[self.network.index(name)] = own[name.casefold()]
        for number, value in self.initial.items():
            key = f"initial.{self.network.names[number]}"
            if self.network.names[number] in self.network.sums:
                raise CaseError(f"{key} is the sum of its species at the start; give these, and remove this line")
            if isinstance(value, CsvColumn):
                column = read_column(value, self._conditions.folder, key=key)
                amount, unit = column.at(time)[None], column.unit
            elif value.formula is not None:
                formula = replace(value.formula, where=key)
                amount, unit = evaluate_named({key: formula}, named)[key].reshape(-1), CONCENTRATION
            else:
                amount, unit = np.array([value.value]), value.unit
            wrong = ~(np.isfinite(amount) & (amount >= 0.0))
            if wrong.any():
                text = "" if isinstance(value, CsvColumn) else f" = {value.text!r}"
                raise CaseError(f"{key}{text} is {amount[wrong][0]:g}; it must be finite and not below 0")
            densities[number] = amount * (air["M"].reshape(-1) if unit == "mol/mol" else 1.0)
        if self._states is not None:
            for number, (amounts, unit) in self._states.species.items():
                with np.errstate(over="ignore"):  # larger values are refused below
                    densities[number] = amounts * (air["M"].reshape(-1) if unit == "mol/mol" else 1.0)
        set_sums(self.network, densities)
        if "M" in air and (more := densities > air["M"].reshape(-1) * _ROUND_OFF).any():
            number, cell = (int(each[0]) for each in np.nonzero(more))
            density = air["M"].reshape(-1)
            name, part = self.network.names[number], densities[number, cell] / density[min(cell, density.size - 1)]
            whose = "the initial value of the mechanism" if name in self.by_mechanism else "its initial value"
            where = f"initial.{name}: {whose}"
            if self._states is not None and number in self._states.species:
                where = f"{self._states.source}: {name} in cell {self._first + cell}"
            raise CaseError(f"{where} is {part:.3g} of the air; the maximum is 1")
        return densities

    def replay(self, cell: int, state: Array, start: float, end: float) -> dict[str, Any]:
        """Return the conditions of one box over an interval [s], from its state (species,) at the start."""
        data = with_paths(self._conditions.conditions(), lambda file: str((self._conditions.folder / file).absolute()))
        names, length = self.network.names, f"{end - start!r} s"
        data["time"] |= {"start": f"{start!r} s", "length": length, "output_every": length}
        data["initial"] = {
            name: f"{value!r} {CONCENTRATION}" for name, value in zip(names, state.tolist(), strict=True)
        }

        # Values of this cell replace those of all cells; pressure and density imply each other.
        environment = {"T": ("temperature", "K"), "p": ("pressure", "Pa"), "humidity": ("humidity", "1")}
        units = {each.name: each.unit for each in self.network.parameters}
        fixed = {each.name for each in self.network.fixed} | set(AIR_GASES)
        for name, values in self._own.items():
            value = float(values[cell])
            if name in environment:
                key, unit = environment[name]
                data.setdefault("environment", {})[key] = f"{value!r} {unit}"
            elif name in fixed:
                data["fixed"][name] = f"{value!r} {CONCENTRATION}"
            else:
                data["rates"][name] = f"{value!r} {units.get(name, '')}".strip()
        for here, section, key in (("p", "fixed", "M"), ("M", "environment", "pressure")):
            if here in self._own:
                data[section].pop(key, None)
        return data

    def inputs(self, values: Mapping[str, Array]) -> list[Array]:
        """Return values in the order of the inputs of the kernel; values without effect are constant placeholders."""
        rows = []
        for name in ("TEMP", "PRESS", *AIR_GASES, *SUN):
            own = INPUTS.get(name, name)
            rows.append(values[own] if name in self.needed else np.full((1, 1), UNNEEDED[own]))
        return [*rows, *(values[each.name] for each in self.network.parameters)]

    def _called(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Return the parameters from Python functions, except for those in the conditions."""
        environment = {name: values[INPUTS.get(name, name)] for name in ("TEMP", "PRESS", *AIR_GASES, *SUN)
                       if INPUTS.get(name, name) in values}  # fmt: skip
        found = {}
        for each in self.network.parameters:
            if each.name in self.network.callables and each.name not in values:
                value = np.asarray(self.network.callables[each.name](environment), np.float64)
                found[each.name] = value.reshape(1, 1) if value.ndim < 2 else value
        return found

    def _check(self, name: str, value: Array, times: Array) -> None:
        """Raise CaseError for an invalid value, with the first time at which it is invalid."""
        if name == "humidity" and value.max(initial=0.0) > MOST_HUMIDITY:
            raise self._too_humid(value, times)
        above = name in _ABOVE_ZERO
        least, most, unit = RANGES.get(name.partition(" ")[0], (0.0, np.inf, ""))
        wrong = ~(np.isfinite(value) & ((value > 0.0) | (not above)) & (value >= least) & (value <= most))
        if not wrong.any():
            return
        cell, first = (int(each[0]) for each in np.nonzero(wrong))
        given = self._values.get(name)
        text = f" = {given.text!r}" if isinstance(given, Formula) else ""
        time = f" at t = {times[first]:g} s" if wrong.shape[1] > 1 or text else ""
        place = f" in cell {self._first + cell}" if self.cells > 1 and len(value) > 1 else ""
        valid = "above 0" + " while daylight is not 0" * (name == "sec_zenith") if above else "not below 0"
        valid = f"{least:g} to {most:g} {unit}" if unit and 0.0 < value[cell, first] < np.inf else f"finite and {valid}"
        raise CaseError(f"{self.key(name)}{text} is {value[cell, first]:g}{time}{place}; it must be {valid}")

    def _too_humid(self, value: Array, times: Array) -> CaseError:
        """Return the error for an impossible humidity, which is probably in per cent."""
        cell, first = (int(each[0]) for each in np.nonzero(value > MOST_HUMIDITY))
        given = self._values.get("humidity")
        advice, shown = (
            'write unit = "%" or the column heading "NAME [%]"',
            f": {given.source}" if isinstance(given, PiecewiseLinear) else "",
        )
        if isinstance(given, Formula):
            advice, shown = f'write "{given.text} %"', f" = {given.text!r}"
        return CaseError(
            f"{self.key('humidity')}{shown} is {value[cell, first]:g} at t = {times[first]:g} s, which is not a "
            f"possible fraction; if it is in per cent, {advice}"
        )


def cosine_at(location: Location, seconds: npt.ArrayLike) -> Array:
    """Return the cosine of the solar zenith angle, negative at night, smooth in time to double precision.

    cos(z) = sin(lat) sin(dec) + cos(lat) cos(dec) cos(h),    h = 2 pi (t + equation of time)/day - pi

    seconds  time t [s] since local midnight of the first day; local time is UTC + lon/15 h
    """
    t = np.asarray(seconds, np.float64)
    utc = np.round((t - SECONDS_PER_DEGREE * location.lon) * 1e9).astype("timedelta64[ns]")
    when = np.datetime64(location.date, "ns") + utc
    angle = (t % SECONDS_PER_DAY + equation_of_time(when)) * (2.0 * np.pi / SECONDS_PER_DAY) - np.pi
    phi, delta = np.radians(location.lat), declination(when)
    return np.asarray(np.sin(phi) * np.sin(delta) + np.cos(phi) * np.cos(delta) * np.cos(angle))
