"""A run of a case as a differentiable function, NumPy in and NumPy out: what adapters to other frameworks wrap.

fields = f(inputs),    f.vjp(inputs, cotangents) = (d fields / d inputs)^T cotangents
"""

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.inverse.programs.derivatives import derivatives_of
from airshed.inverse.repeated import RepeatedRun, ReversibleRun, See
from airshed.inverse.run_inputs import BoundaryAir, EmissionFactors, InitialAir, Inputs, ReactionRates, TopAir
from airshed.inverse.run_options import Outputs, asked_inputs, asked_outputs, with_countries_apart
from airshed.models.air.case import Case
from airshed.models.air.case.inverse import ControlSection
from airshed.models.air.model import AirModel
from airshed.models.air.rates import RateFactors
from airshed.runtime.registry import load_case
from airshed.runtime.simulation import Simulation

Array = npt.NDArray[np.float64]
Value = TypeVar("Value")

Key = tuple[str, str]
"""The kind of an input, and its name."""

_OF_SPECIES: Final[Mapping[str, Callable[[AirModel, tuple[str, ...]], Inputs]]] = {
    "initial": InitialAir, "boundary": BoundaryAir, "top": TopAir,
}  # fmt: skip


class RunFunction:
    """A case that runs again and again; see :mod:`airshed.inverse.run_options` for the parameters.

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
        asked, self._times_of = asked_inputs(inputs), asked_outputs(outputs, loaded.time.length.value)
        rates = RateFactors(asked.rates)
        loaded = with_countries_apart(loaded, asked.factors).without_groups()
        self._simulation = Simulation(loaded, rate_factors=rates if asked.rates else None, **given)
        try:
            model: AirModel = self._simulation.model
            self._kinds = _kinds(model, asked.factors, asked.species, rates)
            _check(model, self._times_of)
        except BaseException:
            self._simulation.close()
            raise
        self._model = model
        self.own: dict[Key, Array] = {(k, name): v for k, each in self._kinds.items() for name, v in each.own.items()}
        self.shapes = {name: (len(times), *model.whole.shape) for name, times in self._times_of.items()}
        self._times = sorted({time for times in self._times_of.values() for time in times})
        self._species = list(self._times_of)
        self._runs = RepeatedRun(self._simulation, self._times, self._species, lambda part, done: None)
        self._last: tuple[dict[Key, Array], ReversibleRun] | None = None
        self._use = threading.Lock()
        self._end = weakref.finalize(self, _give_up, self._runs, self._simulation)
        self._end.atexit = False  # the system frees all then

    def __call__(self, inputs: Mapping[Key, Array]) -> dict[str, Array]:
        """Run with these inputs, the others as the case has them; return the fields of each species [mol/mol].

        Raises NumericalError for a run that leaves the finite numbers, CaseError for inputs that cannot be.
        """
        found = {name: np.zeros(shape) for name, shape in self.shapes.items()}

        def see(k: int, fields: Array) -> None:
            for field, (name, times) in zip(fields, self._times_of.items(), strict=True):
                if self._times[k] in times:
                    found[name][times.index(self._times[k])] = field

        with self._use:
            self._forward(self._filled(inputs), see)
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
            levels = max(each.source_levels for each in self._kinds.values())
            kept = self._run_of(values)
            reactions = any(each.reactions for each in self._kinds.values())
            found = kept.reverse(force, levels, lambda part, done: None, reactions=reactions)
            return {
                (kind, name): np.asarray(adjoint)
                for kind, each in self._kinds.items()
                for name, adjoint in each.adjoints(_of_kind(kind, values), found).items()
            }

    def _run_of(self, values: dict[Key, Array]) -> ReversibleRun:
        """Return the run with these inputs: the last one while it can still be reversed."""
        if self._last is not None and self._last[1].is_available and _same(self._last[0], values):
            return self._last[1]
        return self._forward(values, lambda k, fields: None)

    def _forward(self, values: dict[Key, Array], see: See) -> ReversibleRun:
        if not self._end.alive:
            raise CaseError("this run was closed; make a new one")

        def change() -> None:
            for kind, each in self._kinds.items():
                each.apply(_of_kind(kind, values))

        kept = self._runs.forward(change, see)
        self._last = values, kept
        return kept

    def _filled(self, inputs: Mapping[Key, Array]) -> dict[Key, Array]:
        """Return the values of all inputs, copies; raises CaseError for other shapes, and what is not finite."""
        given = {key: np.array(value, dtype=np.float64) for key, value in inputs.items()}
        for key, value in given.items():
            self.check(key, value.shape)
            if not np.isfinite(value).all():
                raise CaseError(f"input {' '.join(key)} holds values that are not finite")
        return self.own | given

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


def _give_up(runs: RepeatedRun, simulation: Simulation) -> None:
    runs.close()
    simulation.close()


def _kinds(
    model: AirModel, factors: Sequence[ControlSection], species: Mapping[str, tuple[str, ...]], rates: RateFactors
) -> dict[str, Inputs]:
    derivatives_of(model)
    found: dict[str, Inputs] = {}
    if factors:
        found["factors"] = EmissionFactors(model, factors)
    found |= {kind: _OF_SPECIES[kind](model, names) for kind, names in species.items() if names}
    if rates.values:
        found["rates"] = ReactionRates(model, rates)
    return found


def _check(model: AirModel, outputs: Outputs) -> None:
    for name in outputs:
        if name not in model.network.names:
            raise CaseError(f"outputs: {name!r} is no species; {suggestion(name, model.network.names)}")


def _of_kind(kind: str, values: Mapping[Key, Value]) -> dict[str, Value]:
    return {name: value for (of, name), value in values.items() if of == kind}


def _same(one: Mapping[Key, Array], other: Mapping[Key, Array]) -> bool:
    return all(np.array_equal(one[key], other[key]) for key in one)
