"""Compiled tangent and adjoint of the updates of point models, for several steps in one pass.

For a step x(n+1) = f(x(n), w(n), p) of the state x with the weather w and the parameters p

    tangent   dx(n+1) = f_x dx(n) + f_w dw(n) + f_p dp
    adjoint   x*(n) = f_x^T (x*(n+1) + s(n+1)),   w*(n) = f_w^T (x*(n+1) + s(n+1)),   p* = sum over n of f_p^T (...)

s is the derivative of the cost with respect to the results of a step, the state and fluxes. The adjoint reads the state
before each step. Where an update is not differentiable, the derivative is that of the branch taken, see
:mod:`airshed.formula.derivative`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.formula.trace import TracedFunction
from airshed.formula.tree import ONE, ZERO, Binary, Call, Compare, Expression, Symbol, substitute_all, symbols
from airshed.kernels.cells.formulas import CellFormulas, StepValues
from airshed.process.points import Points

ADJOINT: Final = "_adjoint"
TANGENT: Final = "_tangent"
SEED: Final = "_seed"
AMOUNT: Final = "_amount"
"""Suffixes of names: adjoint and tangent of a field, derivative of the cost, adjoint times value."""
ADDS: Final = "adds_to_period"
"""Name of a number of each step: 0 at the first step of the sums of a period, otherwise 1."""


@dataclass(frozen=True)
class Derivative:
    """Formulas of the derivative of a step, by the names of their results.

    levels   state variables whose values before each step are read
    carried  fields with an adjoint or tangent that is passed between steps; for inputs shared by all steps it is a sum
    weather  weather fields with a derivative
    amounts  weather fields that are amounts: adjoint times value is their contribution
    """

    results: Mapping[str, Expression]
    levels: tuple[str, ...]
    carried: tuple[str, ...]
    weather: tuple[str, ...]
    amounts: tuple[str, ...] = ()

    @property
    def summed(self) -> tuple[str, ...]:
        """Names of the results of an adjoint that are summed over periods."""
        return (*(name + ADJOINT for name in self.weather), *(name + AMOUNT for name in self.amounts))

    def compiled(self, points: Points, threads: int = 1) -> CellFormulas:
        """Return the compiled formulas in double precision."""
        outputs = tuple(self.results.values())
        traced = TracedFunction(symbols(*outputs), outputs)
        weather = [spec.name for spec in points.fields.weather]
        of_steps = {ADDS, *weather, *(name + TANGENT for name in weather), *self.levels}
        invariant = [name for name in traced.inputs if name not in of_steps and not name.endswith(SEED)]
        return CellFormulas(traced, "double", names=tuple(self.results), invariant=invariant, threads=threads)


def adjoint(points: Points, measured: Sequence[str]) -> Derivative:
    """Return the adjoint of a step for the fields of a cost; raises CaseError for a field that no step computes.

    Its inputs are the adjoint ``x_adjoint`` of each carried field, and ``y_seed`` for each field of the cost. Adjoints
    of the weather are summed over the steps of a period; `ADDS` is 0 at the first step of a period.
    """
    for name in measured:
        if name not in points.outputs:
            raise CaseError(f"no step computes {name}: it is constant; {suggestion(name, points.outputs)}")
    state = [spec.name for spec in points.fields.state]
    outputs = _acting_on(points, measured)
    seeds: dict[str, Expression] = {}
    for number, name in enumerate(outputs):
        terms = [Symbol(name + ADJOINT)] * (name in state) + [Symbol(name + SEED)] * (name in measured)
        seeds[f"adjoint_{number}"] = terms[0] if len(terms) == 1 else Binary("+", *terms)
    wrt = _inputs(points)
    found = dict(zip(wrt, substitute_all(points.adjoint(wrt, of=outputs).outputs, seeds), strict=True))
    weather = {spec.name: spec for spec in points.fields.weather if found.get(spec.name, ZERO) is not ZERO}
    amounts = [name for name, spec in weather.items() if spec.valid is not None and spec.valid[0] == 0.0]
    changed = [name for name in wrt if name in state and name in outputs]
    shared = [name for name in wrt if name not in (*points.outputs, *weather) and found[name] is not ZERO]
    results = {name + ADJOINT: found[name] for name in changed}
    results |= {name + ADJOINT: Binary("+", Symbol(name + ADJOINT), found[name]) for name in shared}
    of_steps = {name + ADJOINT: found[name] for name in weather}
    of_steps |= {name + AMOUNT: Binary("*", Symbol(name), found[name]) for name in amounts}
    begins = Compare("<", Symbol(ADDS), ONE)  # a new period: its sum excludes earlier steps
    results |= {name: Call("where", (begins, each, Binary("+", Symbol(name), each))) for name, each in of_steps.items()}
    read = symbols(*results.values())
    levels = tuple(name for name in state if name in read)
    return Derivative(results, levels, (*changed, *shared), tuple(weather), tuple(amounts))


def tangent(points: Points) -> Derivative:
    """Return a step with its tangent: the results y, and their changes ``y_tangent`` by ``x_tangent``."""
    wrt = _inputs(points)
    changes = points.tangent(wrt).outputs
    results = dict(zip(points.outputs, points.formulas.outputs, strict=True))
    results |= {name + TANGENT: change for name, change in zip(points.outputs, changes, strict=True)}
    weather = tuple(spec.name for spec in points.fields.weather if spec.name in wrt)
    return Derivative(results, (), tuple(name for name in wrt if name not in weather), weather)


def in_reverse(value: Any, steps: int) -> Any:
    """Return values of steps in reverse order; values shared by all steps are unchanged."""
    if isinstance(value, StepValues):
        return StepValues(value.values, value.rows[::-1])
    values = np.asarray(value)
    return StepValues(values, np.arange(steps)[::-1]) if values.ndim else values


def _inputs(points: Points) -> list[str]:
    """Return the inputs of a step that have a derivative."""
    fields = points.fields
    names = [spec.name for part in (fields.state, fields.weather, fields.parameters) for spec in part]
    return [name for name in (*names, *points.settable) if name in points.inputs]


def _acting_on(points: Points, measured: Sequence[str]) -> list[str]:
    """Return the results of a step that affect the fields of the cost, directly or through later steps."""
    made = dict(zip(points.outputs, points.formulas.outputs, strict=True))
    state = {spec.name for spec in points.fields.state}
    found, waiting = dict.fromkeys(measured), list(measured)
    while waiting:
        read = [name for name in symbols(made[waiting.pop()]) if name in state and name in made and name not in found]
        found |= dict.fromkeys(read)
        waiting += read
    return list(found)
