"""A run of a case as a differentiable function, NumPy in and NumPy out: what adapters to other frameworks wrap.

    fields = f(inputs),    f.vjp(inputs, cotangents) = (d fields / d inputs)^T cotangents

    outputs = {"O3": ["6 h", "12 h"], "NO2": "12 h"}        mixing ratios of species at times since the start
    inputs = {
        "factors": {"road": {"species": ["NO", "NO2"], "sectors": ["F_RoadTransport"], "regions": ["DE", "FR"]}},
        "initial": ["O3"],        mixing ratios at the beginning, that of the spin-up (level, lat, lon) [mol/mol]
        "boundary": ["O3"],       at the sides of the area (level,) [mol/mol]
        "top": ["O3"],            above it () [mol/mol]
        "rates": ["R1"],          factors on rate constants, by the labels of reactions ()
    }

A factor multiplies the emission of `species`, by default of all sources, or that of an inventory's `sectors` and
`regions`. There is one for the domain, () by default; one for each region with `resolution = "region"`, (region,); one
for each column with `resolution = "cell"`, (lat, lon). With `parts_of_day` = n there are n, of equal parts of the day
(UTC), in front. A list of species alone stands for a table with nothing else.
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
from airshed.core.text import suggestion
from airshed.core.units import to
from airshed.inverse.function.inputs import EmissionFactors, Inputs, MixingRatios, ReactionRates
from airshed.inverse.function.repeated import RepeatedRun
from airshed.inverse.reverse.derivatives import derivatives_of
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
            raise CaseError(f"{where} = {given!r}: give times that rise, within the case, 0 to {end:g} s")
        found[name] = times
    if not any(times[-1] > 0.0 for times in found.values()):
        raise CaseError("outputs: all are of the start of the case; ask for a later time")
    return found


def requested_inputs(
    inputs: Mapping[str, Any],
) -> tuple[tuple[ControlSection, ...], dict[str, tuple[str, ...]]]:
    """Return factors on emission, and names by the other kinds; raises CaseError for unknown names, and for none."""
    for kind in inputs:
        if kind not in KINDS:
            raise CaseError(f"inputs: {kind!r} is no kind of them; {suggestion(kind, KINDS)}")
    table = inputs.get("factors", {})
    if not isinstance(table, Mapping):
        raise CaseError(f"inputs factors = {table!r}: give a table of factors by their names")
    factors = tuple(_factor(name, given) for name, given in table.items())
    names = {}
    for kind in KINDS[1:]:
        given = inputs.get(kind, ())
        names[kind] = some = (given,) if isinstance(given, str) else tuple(given)
        if len(set(some)) < len(some) or not all(isinstance(name, str) for name in some):
            raise CaseError(f"inputs {kind} = {given!r}: give names, each once")
    if not factors and not any(names.values()):
        raise CaseError(f"inputs: give something that the run depends on: {', '.join(KINDS)}")
    return factors, names


def with_countries_apart(case: Case, factors: Sequence[ControlSection]) -> Case:
    """Return a case whose inventory keeps countries apart, where a factor acts on some: as it does for 4D-Var."""
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
"""The kind of an input, and its name."""


class RunFunction:
    """A case that runs again and again; see :mod:`airshed.inverse.function.run_function` for the parameters.

    own     the inputs as the case has them, by kind and name
    shapes  of the fields of each species, (time, level, lat, lon)

    Cost: a call is one run forward that stores checkpoints (`adjoint.memory`). A vjp of that very run is one way back,
    about four times a run, with the second run forward of the checkpoint plan in it; it gives all inputs at once, and
    is linear in the cotangents. A vjp of another run than the last, or a second one of the same, runs forward before.

    With several ranks all of them call everything together, with the same whole fields, and get the same.

    Raises AirshedError for what is wrong with the case, and for a case that has no adjoint.
    """

    def __init__(
        self, case: Case | str | Path, outputs: Mapping[str, Any], inputs: Mapping[str, Any], **given: Any
    ) -> None:
        loaded: Any = load_case(case) if isinstance(case, str | Path) else case
        if not isinstance(loaded, Case):
            raise CaseError(f"a run as a function is one of the model air; this case is of the model {loaded.model}")
        factors, names = requested_inputs(inputs)
        self._times_of = requested_outputs(outputs, loaded.time.length.value)
        self._times = sorted({time for times in self._times_of.values() for time in times})
        rates = RateFactors(names["rates"])
        loaded = with_countries_apart(loaded, factors).without_groups()
        with ExitStack() as stack:
            simulation = stack.enter_context(
                Simulation(loaded, rate_factors=rates if names["rates"] else None, **given)
            )
            self._model: AirModel = simulation.model
            derivatives_of(self._model)
            kinds: dict[str, Inputs] = {"factors": EmissionFactors(self._model, factors)} if factors else {}
            of_species = [kind for kind in ("initial", "boundary", "top") if names[kind]]
            kinds |= {kind: MixingRatios(self._model, kind, names[kind]) for kind in of_species}
            kinds |= {"rates": ReactionRates(self._model, rates)} if names["rates"] else {}
            for name in self._times_of:
                if name not in self._model.network.names:
                    raise CaseError(f"outputs: {name!r} is no species; {suggestion(name, self._model.network.names)}")
            self._runs = RepeatedRun(simulation, self._times, list(self._times_of), kinds)
            stack.callback(self._runs.close)
            self._end = weakref.finalize(self, stack.pop_all().close)
            self._end.atexit = False  # the system frees all then
        self.own: dict[Key, Array] = {(kind, name): v for kind, each in kinds.items() for name, v in each.own.items()}
        self.shapes = {name: (len(times), *self._model.whole.shape) for name, times in self._times_of.items()}
        self._use = threading.Lock()

    def __call__(self, inputs: Mapping[Key, Array]) -> dict[str, Array]:
        """Run with these inputs, the others as the case has them; return the fields of each species [mol/mol].

        Raises NumericalError for a run that leaves the finite numbers, CaseError for inputs that cannot be.
        """
        found = {name: np.zeros(shape) for name, shape in self.shapes.items()}

        def see(k: int, fields: Array) -> None:
            for field, (name, times) in zip(fields, self._times_of.items(), strict=True):
                if self._times[k] in times:
                    found[name][times.index(self._times[k])] = field

        values = self._filled(inputs)
        with self._use:
            self._check_open()
            self._runs.forward(values, see)
        return found

    def vjp(self, inputs: Mapping[Key, Array], cotangents: Mapping[str, Array]) -> dict[Key, Array]:
        """Return the adjoints of all inputs of the run with these inputs, given those of its fields."""
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
            raise CaseError("this run was closed; make a new one")

    def _filled(self, inputs: Mapping[Key, Array]) -> dict[str, dict[str, Array]]:
        """Return the values of all inputs, copies; raises CaseError for other shapes, and what is not finite."""
        found: dict[str, dict[str, Array]] = {}
        for (kind, name), value in (self.own | dict(inputs)).items():
            self.check((kind, name), np.shape(value))
            found.setdefault(kind, {})[name] = copy = np.array(value, dtype=np.float64)
            if not np.isfinite(copy).all():
                raise CaseError(f"input {kind} {name} holds values that are not finite")
        return found

    def check(self, key: Key, shape: tuple[int, ...]) -> None:
        """Raise CaseError for an input that this run does not have, or of another shape."""
        if key not in self.own:
            known = [name for kind, name in self.own if kind == key[0]]
            raise CaseError(f"{key[1]!r} is no input {key[0]} of this run; {suggestion(key[1], known)}")
        if shape != self.own[key].shape:
            raise CaseError(f"input {' '.join(key)} has the shape {shape}; this run takes {self.own[key].shape}")

    def close(self) -> None:
        """Release threads, files and checkpoints."""
        with self._use:
            self._end()


Table = Mapping[str, Any]


class Adapter(ABC):
    """A run of a case as a differentiable function; see :mod:`airshed.inverse.function.run_function` for its inputs."""

    def __init__(self, function: RunFunction) -> None:
        self._function = function

    @property
    def inputs(self) -> dict[str, dict[str, Array]]:
        """The inputs as the case has them, NumPy arrays by kind and name: where an optimiser may begin."""
        found: dict[str, dict[str, Array]] = {}
        for (kind, name), value in self._function.own.items():
            found.setdefault(kind, {})[name] = value.copy()
        return found

    def __call__(
        self, *, factors: Table | None = None, initial: Table | None = None, boundary: Table | None = None,
        top: Table | None = None, rates: Table | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Run, with the inputs that are given and the others as the case has them; return fields by species.

        returns  mixing ratios (time, level, lat, lon) [mol/mol] of each species of the outputs
        raises   CaseError for an input that the run does not have, or of another shape or with values that cannot be;
                 NumericalError for a run that leaves the finite numbers
        """
        tables = {"factors": factors, "initial": initial, "boundary": boundary, "top": top, "rates": rates}
        given = {(kind, name): value for kind, table in tables.items() for name, value in (table or {}).items()}
        for key, value in given.items():
            self._function.check(key, tuple(np.shape(value) if not hasattr(value, "shape") else value.shape))
        return self._run(given)

    @abstractmethod
    def _run(self, given: Mapping[Key, Any]) -> dict[str, Any]: ...

    def close(self) -> None:
        """Release threads, files and checkpoints; `with differentiable(...) as run:` does it for you."""
        self._function.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
