"""The conditions of a box, or of many, as numbers at given times."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.case.failure import INPUTS, with_paths
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import CaseError
from airshed.formula.given import evaluate_named
from airshed.formula.parse import Formula
from airshed.mechanism.expressions import AIR_GASES
from airshed.mechanism.kpp.rate_functions import kpp_sun
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.rate_check import RateCheck
from airshed.models.air.light import declination, equation_of_time
from airshed.models.box.conditions import SECONDS_PER_DEGREE, BoxConditions, Location
from airshed.models.box.names import RANGES, SUN, NamedValues
from airshed.models.box.processes import BoxProcesses, Moment
from airshed.models.box.states import CellStates, set_sums
from airshed.models.box.values import CONCENTRATION, MOST_HUMIDITY, FromCsv, Knots, read_knots

Array = npt.NDArray[np.float64]

UNNEEDED: Final = {"T": 298.15, "p": 101325.0, "M": 2.5e19, "O2": 0.0, "N2": 0.0, "H2O": 0.0} | {
    "SUN": 0.0,
    "sec_zenith": 1.0,
    "daylight": 0.0,
}
"""Values of air and sun where the conditions give none, and nothing depends on them."""

_ROUND_OFF: Final = 1.0 + 1e-9
_PARAMETER: Final = 0.0, 1e60
"""Bounds of what a mechanism leaves open: what the conditions give is not negative."""

_ABOVE_ZERO: Final = ("T", "p", "M", "sec_zenith")


class BoxForcing(NamedValues):
    """Evaluates the conditions of boxes, all times at once; see :class:`airshed.models.box.names.NamedValues`."""

    def __init__(
        self, conditions: BoxConditions, network: ReactionNetwork, states: CellStates | None = None,
        processes: BoxProcesses | None = None,
    ) -> None:  # fmt: skip
        super().__init__(conditions, network, states, processes)
        self._rates = RateCheck(self.network, {each.name: _PARAMETER for each in self.network.parameters})

    def at(self, times: npt.ArrayLike, cells: npt.NDArray[np.intp] | None = None) -> dict[str, Array]:
        """Return every named value at times (time,) [s since local midnight of the first day].

        The shape is (cell, time), with 1 where nothing depends on it; of all cells, or of those chosen by number.
        T [K], p [Pa], M, O2, N2, H2O [molecules cm-3], SUN, sec_zenith, daylight [1], parameters of the mechanism by
        their name, "emission N" [molecules cm-3 s-1] and "deposition N" [s-1] of species N; what the conditions
        neither give nor imply is not there. Raises CaseError where one of them is not finite, or below zero, and
        MechanismError where a rate constant is.
        """
        t = np.asarray(times, np.float64).reshape(-1)
        chosen = slice(None) if cells is None else cells
        values: dict[str, Array] = {}
        for name, each in self._values.items():
            if isinstance(each, Knots):
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
                raise CaseError(f"{self.key(name)} is more than all air at t = {first:g} s; it is a part of M")
        self._check_rates(values, t, (self._first + np.arange(self.cells, dtype=np.float64))[chosen])
        return values

    def _acted(self, values: Mapping[str, Array], times: Array, clock: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """Return the losses and sources that processes have a part in, those of the conditions added."""
        sun = np.asarray(clock["cos_zenith"]) if self._sun_of_location else values.get("SUN")
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

    @property
    def _sun_of_location(self) -> bool:
        """Whether the sun is that of the location: then it is also known how far it is below the horizon."""
        formula = self._values.get("SUN")
        return isinstance(formula, Formula) and "cos_zenith" in formula.names

    def _check_rates(self, values: Mapping[str, Array], times: Array, cells: Array) -> None:
        names = {name: INPUTS.get(name, name) for name in self.needed}
        names |= {each.name: each.name for each in self.network.parameters}
        place = {"t": times[None]} | ({"cell": cells[:, None]} if self.cells > 1 else {})
        self._rates({name: values[own] for name, own in names.items() if own in values}, **place)

    def start(self, time: float, air: Mapping[str, Array]) -> Array:
        """Return the number density (species, cell) [molecules cm-3] at the start.

        It is that of the states, else of [initial], else of the mechanism's file, else 0. Raises CaseError.
        """
        named: dict[str, npt.ArrayLike] = {"t": time, **{name: value for name, value in air.items() if " " not in name}}
        densities = np.zeros((len(self.network.species), self.cells))
        own = {name.casefold(): value for name, value in self.network.initial.items()}
        for name in self.by_mechanism:
            densities[self.network.index(name)] = own[name.casefold()]
        for number, value in self.initial.items():
            key = f"initial.{self.network.names[number]}"
            if self.network.names[number] in self.network.sums:
                raise CaseError(f"{key} is the sum of its species at the start; give those, and leave this line out")
            if isinstance(value, FromCsv):
                knots = read_knots(value, self._conditions.folder, key=key)
                amount, unit = knots.at(time)[None], knots.unit
            elif value.formula is not None:
                formula = replace(value.formula, where=key)
                amount, unit = evaluate_named({key: formula}, named)[key].reshape(-1), CONCENTRATION
            else:
                amount, unit = np.array([value.value]), value.unit
            wrong = ~(np.isfinite(amount) & (amount >= 0.0))
            if wrong.any():
                text = "" if isinstance(value, FromCsv) else f" = {value.text!r}"
                raise CaseError(f"{key}{text} is {amount[wrong][0]:g}; it must be finite and not below 0")
            densities[number] = amount * (air["M"].reshape(-1) if unit == "mol/mol" else 1.0)
        if self._states is not None:
            for number, (amounts, unit) in self._states.species.items():
                with np.errstate(over="ignore"):  # too much is refused below
                    densities[number] = amounts * (air["M"].reshape(-1) if unit == "mol/mol" else 1.0)
        set_sums(self.network, densities)
        if "M" in air:
            self._refuse_more_than_air(densities, air["M"].reshape(-1))
        return densities

    def replay(self, cell: int, state: Array, start: float, end: float) -> dict[str, Any]:
        """Return the conditions of one box in one interval [s] of its time, from its state (species,) at the start."""
        data = with_paths(self._conditions.conditions(), lambda file: str((self._conditions.folder / file).absolute()))
        names, length = self.network.names, f"{end - start!r} s"
        data["time"] |= {"start": f"{start!r} s", "length": length, "output_every": length}
        data["initial"] = {
            name: f"{value!r} {CONCENTRATION}" for name, value in zip(names, state.tolist(), strict=True)
        }

        # Values of this cell take the place of those of all cells; pressure and density give each other.
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
        """Return values in the order of the kernel's inputs: air, sun, the parameters of the mechanism.

        What no rate needs is any number, so that what it does in time need not be followed.
        """
        rows = []
        for name in ("TEMP", "PRESS", *AIR_GASES, *SUN):
            own = INPUTS.get(name, name)
            rows.append(values[own] if name in self.needed else np.full((1, 1), UNNEEDED[own]))
        return [*rows, *(values[each.name] for each in self.network.parameters)]

    def _called(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Return the parameters that functions in Python compute, unless the conditions give them."""
        environment = {name: values[INPUTS.get(name, name)] for name in ("TEMP", "PRESS", *AIR_GASES, *SUN)
                       if INPUTS.get(name, name) in values}  # fmt: skip
        found = {}
        for each in self.network.parameters:
            if each.name in self.network.callables and each.name not in values:
                value = np.asarray(self.network.callables[each.name](environment), np.float64)
                found[each.name] = value.reshape(1, 1) if value.ndim < 2 else value
        return found

    def _check(self, name: str, value: Array, times: Array) -> None:
        """Refuse a value that is not finite, or below zero, with the time at which it is first so."""
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
        wanted = "above 0" + " while daylight is not 0" * (name == "sec_zenith") if above else "not below 0"
        wanted = (
            f"{least:g} to {most:g} {unit}" if unit and 0.0 < value[cell, first] < np.inf else f"finite and {wanted}"
        )
        raise CaseError(f"{self.key(name)}{text} is {value[cell, first]:g}{time}{place}; it must be {wanted}")

    def _refuse_more_than_air(self, densities: Array, air: Array) -> None:
        more = densities > air * _ROUND_OFF
        if more.any():
            number, cell = (int(each[0]) for each in np.nonzero(more))
            name, part = self.network.names[number], densities[number, cell] / air[min(cell, air.size - 1)]
            whose = "the mechanism's initial value" if name in self.by_mechanism else "its value at the start"
            where = f"initial.{name}: {whose}"
            if self._states is not None and number in self._states.species:
                where = f"{self._states.source}: {name} in cell {self._first + cell}"
            raise CaseError(f"{where} is {part:.3g} of all air; it can be 1 at most")

    def _too_humid(self, value: Array, times: Array) -> CaseError:
        """Return the error of a humidity above any, which was probably meant in per cent."""
        cell, first = (int(each[0]) for each in np.nonzero(value > MOST_HUMIDITY))
        given = self._values.get("humidity")
        advice, shown = (
            'write unit = "%" or the head "NAME [%]"',
            f": {given.source}" if isinstance(given, Knots) else "",
        )
        if isinstance(given, Formula):
            advice, shown = f'write "{given.text} %"', f" = {given.text!r}"
        return CaseError(
            f"{self.key('humidity')}{shown} is {value[cell, first]:g} at t = {times[first]:g} s, a fraction and more "
            f"than any air has; if it is in per cent, {advice}"
        )


def cosine_at(location: Location, seconds: npt.ArrayLike) -> Array:
    """Return the cosine of the solar zenith angle, below 0 at night, as smooth in time as double precision allows.

    cos(z) = sin(lat) sin(dec) + cos(lat) cos(dec) cos(h),    h = 2 pi (t + equation of time)/day - pi

    seconds  t [s] since local midnight of the first day, local time being UTC + lon/15 h
    """
    t = np.asarray(seconds, np.float64)
    utc = np.round((t - SECONDS_PER_DEGREE * location.lon) * 1e9).astype("timedelta64[ns]")
    when = np.datetime64(location.date, "ns") + utc
    angle = (t % SECONDS_PER_DAY + equation_of_time(when)) * (2.0 * np.pi / SECONDS_PER_DAY) - np.pi
    phi, delta = np.radians(location.lat), declination(when)
    return np.asarray(np.sin(phi) * np.sin(delta) + np.cos(phi) * np.cos(delta) * np.cos(angle))
