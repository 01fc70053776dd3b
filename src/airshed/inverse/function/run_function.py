"""A run of a case as a differentiable function of NumPy arrays, which adapters to other frameworks wrap.

    fields = f(inputs),    f.vjp(inputs, cotangents) = (d fields / d inputs)^T cotangents

    outputs = {"O3": ["6 h", "12 h"], "NO2": "12 h"}        mixing ratios of species at times since the start
    inputs = {
        "factors": {"road": {"species": ["NO", "NO2"], "sectors": ["F_RoadTransport"], "regions": ["DE", "FR"]}},
        "initial": ["O3"],        mixing ratios at the beginning of the spin-up (level, lat, lon) [mol/mol]
        "boundary": ["O3"],       at the lateral boundary (level,) [mol/mol]
        "top": ["O3"],            above the area () [mol/mol]
        "rates": ["R1"],          factors on rate constants, by the labels of reactions ()
    }

A factor multiplies the emission of `species` from all sources, or from `sectors` and `regions` of an inventory. By
default there is one factor for the domain, (); with `resolution = "region"` one for each region, (region,); with
`resolution = "cell"` one for each column, (lat, lon). With `parts_of_day` = n there are n factors, one for each of n
equal parts of the day (UTC), in a leading axis. A list of species is short for a table with this list only.
"""

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from numbers import Real
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from pydantic import ValidationError

from airshed.case.messages import explain
from airshed.case.renamed import present_key
from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.text import duration, suggestion
from airshed.core.units import to
from airshed.inverse.function.inputs import EmissionFactors, Inputs, MixingRatios, ReactionRates
from airshed.inverse.function.repeated import RepeatedRun
from airshed.inverse.reverse.derivatives import create_derivatives
from airshed.models.air.case import Case
from airshed.models.air.case.inverse import ControlSection
from airshed.models.air.model import AirModel
from airshed.models.air.rates import RateFactors
from airshed.runtime.registry import load_case
from airshed.runtime.simulation import Simulation

Outputs = dict[str, tuple[float, ...]]
"""Times [s] since the start of the case, by species."""

KINDS: Final = ("factors", "initial", "boundary", "top", "rates")
_OF_FACTORS: Final = ("species", "sectors", "regions", "resolution", "parts_of_day")


def requested_outputs(outputs: Mapping[str, Any], end: float) -> Outputs:
    """Return the requested times of each species, in a case that ends at a time [s]; raises CaseError."""
    if not isinstance(outputs, Mapping) or not outputs:
        raise CaseError('outputs: give species with their times, such as {"O3": ["6 h", "12 h"]}')
    found = {}
    for name, given in outputs.items():
        listed = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
        where = f"outputs {name}"
        times = tuple(float(each) if isinstance(each, Real) else to(each, "s", where=where) for each in listed)
        if not times or list(times) != sorted(set(times)) or not 0.0 <= times[0] <= times[-1] <= end:
            raise CaseError(f"{where} = {given!r}: give ascending times within the case, 0 to {duration(end)}")
        found[name] = times
    if not any(times[-1] > 0.0 for times in found.values()):
        raise CaseError("outputs: all times are the start of the case; give a later time")
    return found


def requested_inputs(
    inputs: Mapping[str, Any],
) -> tuple[tuple[ControlSection, ...], dict[str, tuple[str, ...]]]:
    """Return the factors on emission, and the names of other inputs by kind; raises CaseError for invalid ones."""
    for kind in inputs:
        if kind not in KINDS:
            raise CaseError(f"inputs: {kind!r} is not a kind of input; {suggestion(kind, KINDS)}")
    table = inputs.get("factors", {})
    if not isinstance(table, Mapping):
        raise CaseError(f"inputs factors = {table!r}: give a table of factors by their names")
    factors = tuple(_factor(name, given) for name, given in table.items())
    names = {}
    for kind in KINDS[1:]:
        given = inputs.get(kind, ())
        names[kind] = some = (given,) if isinstance(given, str) else tuple(given)
        if len(set(some)) < len(some) or not all(isinstance(name, str) for name in some):
            raise CaseError(f"inputs {kind} = {given!r}: give names, each of them once")
    if not factors and not any(names.values()):
        raise CaseError(f"inputs: no input is given; choose from {', '.join(KINDS)}")
    return factors, names


def with_separate_countries(case: Case, factors: Sequence[ControlSection]) -> Case:
    """Return a case whose inventory has separate countries if a factor acts on regions, as for 4D-Var."""
    if not any(each.regions for each in factors) or case.assimilation.separates_countries:
        return case
    section = case.assimilation.model_copy(update={"scheme": "4dvar", "control": tuple(factors)})
    return case.model_copy(update={"assimilation": section})


def _factor(name: str, given: Any) -> ControlSection:
    where = f"inputs factors {name}"
    settings = {"species": given} if not isinstance(given, Mapping) else dict(given)
    for key in settings:
        if key not in _OF_FACTORS:
            if present := present_key((key,), _OF_FACTORS):
                raise CaseError(f"{where}: {key} was renamed to {present[-1]}")
            raise CaseError(f"{where}: {key!r} is not a setting; {suggestion(key, _OF_FACTORS)}")
    settings = {key: list(value) if isinstance(value, tuple) else value for key, value in settings.items()}
    data = {"name": name, "target": "emission", "resolution": "domain", **settings}
    try:
        return ControlSection.model_validate(data)
    except ValidationError as error:
        raise CaseError(explain(error, ControlSection, data, lambda key: where, None, where)) from error


Key = tuple[str, str]
"""Kind and name of an input."""


class RunFunction:
    """Run of a case as a function; see :mod:`airshed.inverse.function.run_function` for the parameters.

    own     inputs of the case, by kind and name
    shapes  shapes of the fields of each species, (time, level, lat, lon)

    A call is one forward run that stores checkpoints (`adjoint.memory`). The vjp of that run is one backward pass for
    all inputs, linear in the cotangents. It takes about four times as long as a run, including the steps that the
    checkpoint plan repeats. A vjp of an earlier run, or a second vjp of the same run, repeats the forward run.

    With several ranks all of them make the same calls with the same arrays of the whole area, and return the same.
    Raises AirshedError for an invalid case, and for a case that has no adjoint.
    """

    def __init__(
        self, case: Case | str | Path, outputs: Mapping[str, Any], inputs: Mapping[str, Any], **given: Any
    ) -> None:
        loaded: Any = load_case(case) if isinstance(case, str | Path) else case
        if not isinstance(loaded, Case):
            raise CaseError(f"only the model air can be run as a function; this case is of the model {loaded.model}")
        factors, names = requested_inputs(inputs)
        self._times_of = requested_outputs(outputs, loaded.time.length.value)
        self._times = sorted({time for times in self._times_of.values() for time in times})
        rates = RateFactors(names["rates"])
        loaded = with_separate_countries(loaded, factors).without_groups()
        with ExitStack() as stack:
            simulation = stack.enter_context(
                Simulation(loaded, rate_factors=rates if names["rates"] else None, **given)
            )
            self._model: AirModel = simulation.model
            create_derivatives(self._model)
            kinds: dict[str, Inputs] = {"factors": EmissionFactors(self._model, factors)} if factors else {}
            of_species = [kind for kind in ("initial", "boundary", "top") if names[kind]]
            kinds |= {kind: MixingRatios(self._model, kind, names[kind]) for kind in of_species}
            kinds |= {"rates": ReactionRates(self._model, rates)} if names["rates"] else {}
            for name in self._times_of:
                if name not in self._model.network.names:
                    known = self._model.network.names
                    raise CaseError(f"outputs: {name!r} is not a species; {suggestion(name, known)}")
            self._runs = RepeatedRun(simulation, self._times, list(self._times_of), kinds)
            stack.callback(self._runs.close)
            self._end = weakref.finalize(self, stack.pop_all().close)
            self._end.atexit = False  # at exit the system releases everything
        self.own: dict[Key, Array] = {(kind, name): v for kind, each in kinds.items() for name, v in each.own.items()}
        self.shapes = {name: (len(times), *self._model.whole.shape) for name, times in self._times_of.items()}
        self._use = threading.Lock()

    def __call__(self, inputs: Mapping[Key, Array]) -> dict[str, Array]:
        """Run with these inputs, and those of the case for the rest; return the fields of each species [mol/mol].

        Raises NumericalError for a run with values that are not finite, CaseError for invalid inputs.
        """
        found = {name: np.zeros(shape) for name, shape in self.shapes.items()}

        def on_fields(k: int, fields: Array) -> None:
            for field, (name, times) in zip(fields, self._times_of.items(), strict=True):
                if self._times[k] in times:
                    found[name][times.index(self._times[k])] = field

        values = self._filled(inputs)
        with self._use:
            self._check_open()
            self._runs.forward(values, on_fields)
        return found

    def vjp(self, inputs: Mapping[Key, Array], cotangents: Mapping[str, Array]) -> dict[Key, Array]:
        """Return the vector-Jacobian product: adjoints of all inputs from cotangents of the fields."""
        values = self._filled(inputs)

        def force(k: int) -> Array:
            time, nothing = self._times[k], np.zeros(self._model.whole.shape)
            return np.stack([
                cotangents[name][times.index(time)] if time in times else nothing
                for name, times in self._times_of.items()
            ])  # fmt: skip

        with self._use:
            self._check_open()
            adjoints = self._runs.reverse(values, force)
        return {(kind, name): np.asarray(each) for kind, some in adjoints.items() for name, each in some.items()}

    def _check_open(self) -> None:
        if not self._end.alive:
            raise CaseError("this run is closed; create a new one")

    def _filled(self, inputs: Mapping[Key, Array]) -> dict[str, dict[str, Array]]:
        """Return copies of the values of all inputs; raises CaseError for wrong shapes and infinite or NaN values."""
        found: dict[str, dict[str, Array]] = {}
        for (kind, name), value in (self.own | dict(inputs)).items():
            self.check((kind, name), np.shape(value))
            found.setdefault(kind, {})[name] = copy = np.array(value, dtype=np.float64)
            if not np.isfinite(copy).all():
                raise CaseError(f"input {kind} {name} has values that are not finite")
        return found

    def check(self, key: Key, shape: tuple[int, ...]) -> None:
        """Raise CaseError for an input that this run does not have, or for a wrong shape."""
        if key not in self.own:
            known = [name for kind, name in self.own if kind == key[0]]
            raise CaseError(f"{key[1]!r} is not an input {key[0]} of this run; {suggestion(key[1], known)}")
        if shape != self.own[key].shape:
            raise CaseError(f"input {' '.join(key)} has the shape {shape}; it must be {self.own[key].shape}")

    def close(self) -> None:
        """Release threads, files and checkpoints."""
        with self._use:
            self._end()


Table = Mapping[str, Any]


class Adapter(ABC):
    """Run of a case as a function of arrays of a framework; see :mod:`airshed.inverse.function.run_function`."""

    def __init__(self, function: RunFunction) -> None:
        self._function = function

    @property
    def inputs(self) -> dict[str, dict[str, Array]]:
        """Inputs of the case, NumPy arrays by kind and name: the starting point of an optimiser."""
        found: dict[str, dict[str, Array]] = {}
        for (kind, name), value in self._function.own.items():
            found.setdefault(kind, {})[name] = value.copy()
        return found

    def __call__(
        self, *, factors: Table | None = None, initial: Table | None = None, boundary: Table | None = None,
        top: Table | None = None, rates: Table | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Run with these inputs, and those of the case for the rest.

        Parameters
        ----------
        factors, initial, boundary, top, rates : mapping, optional
            Values by name, see :mod:`airshed.inverse.function.run_function`.

        Returns
        -------
        dict
            Mixing ratios (time, level, lat, lon) [mol/mol] of each output species.

        Raises
        ------
        CaseError
            For an input that the run does not have, a wrong shape, or values out of range.
        NumericalError
            For a run with values that are not finite.
        """
        tables = {"factors": factors, "initial": initial, "boundary": boundary, "top": top, "rates": rates}
        given = {(kind, name): value for kind, table in tables.items() for name, value in (table or {}).items()}
        for key, value in given.items():
            self._function.check(key, tuple(np.shape(value) if not hasattr(value, "shape") else value.shape))
        return self._run(given)

    @abstractmethod
    def _run(self, given: Mapping[Key, Any]) -> dict[str, Any]: ...

    def close(self) -> None:
        """Release threads, files and checkpoints, as `with differentiable(...) as run:` does at its end."""
        self._function.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
