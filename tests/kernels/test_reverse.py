"""The step in reverse is the exact adjoint of the step: dot products with the complex step of the NumPy reference.

    <w, dF/dx d> = <(dF/dx)^T w, d>

for the outputs F of a step and any of its inputs x: w, d at random, in air without any structure (see `trial`).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from airshed.kernels.backends.cpu import kernel as pipeline
from airshed.kernels.backends.cpu.kernel import StepKernel, compile_mechanism, compile_reverse
from airshed.kernels.boundary import BoundaryForcing
from airshed.kernels.cpp import GeneratedText, header
from airshed.kernels.host import address
from airshed.kernels.step import emit
from airshed.kernels.step.arguments import StepConstants, StepForcing, TimeLevel
from airshed.kernels.step.emit import AdjointWriter, Source
from airshed.kernels.step.trial import Trial, compiled_step, forcing, random_trial, reference_step, with_boundary
from airshed.kernels.transport import reference as transport
from airshed.mechanism.load import load_mechanism
from airshed.program.weights import two_step_weights

from .conftest import toy_of_all_kinds
from .planted import DECLARATION, acting, without

Compiled = Callable[..., StepKernel]
Array = npt.NDArray[np.float64]

EXACT = 1e-12
ENDS = ("start", "end")

TINY = 1e-170
"""The imaginary part of a complex step: its square is below the least number, so that it decides about no sign."""

WEIGHTS = {
    "Euler": two_step_weights(100.0, None),
    "Euler start": two_step_weights(120.0, 80.0, restart=True),
    "equal steps": two_step_weights(100.0, 100.0),
    "shorter step": two_step_weights(40.0, 100.0),
}
WITHOUT_RATES = {"input_adjoints": False, "reactions": False}
"""Reverse sweeps without the sensitivity to rates."""

SHAPES = [(1, 1), (2, 9), (3, 8), (4, 10), (7, 25), (2, 5), (5, 6)]
"""Rows x columns: both edges at once, one column in the last pack, two, full packs."""


@dataclass(frozen=True)
class CostWeights:
    """Random weights on the result of a step: the newest mixing ratios, and the tendency T(n)."""

    q: Array
    tendency: Array


def weighed(trial: Trial, seed: int) -> CostWeights:
    random = np.random.default_rng(seed)
    shape = trial.fields.q.shape
    return CostWeights(
        random.normal(size=shape) / (reference_step(trial).fields.q + 1e-12), random.normal(size=shape) * 1e3
    )


def adjoints(
    kernel: StepKernel, trial: Trial, weights: CostWeights, threads: int = 1, *, frozen: bool = False,
    input_adjoints: bool = True, reactions: bool = True,
) -> dict[str, Array]:  # fmt: skip
    """Return the compiled adjoint of weights, by input, for the requested inputs."""
    fields, setup = trial.fields, trial.setup
    layout = kernel.layout(*fields.air.shape[1:])
    constants = StepConstants(
        setup.boundary.sides, setup.boundary.top, setup.density_factor, setup.vertical_weights, setup.thickness,
        setup.emitted, setup.sweeps, setup.oxygen, setup.nitrogen,
    )  # fmt: skip
    after = compiled_step(kernel, trial).fields
    levels = [
        TimeLevel(layout.pack(q), layout.pack(air))
        for q, air in ((fields.q_previous, fields.air_previous), (fields.q, fields.air), (after.q, after.air))
    ]
    sources = layout.zeros(len(fields.q), kernel.shape.levels)
    options = {"frozen": frozen, "threads": threads, "input_adjoints": input_adjoints, "reactions": reactions}
    with closing(kernel.reverser(layout, constants, **options)) as reverser:
        reverser.start(layout.pack(after.tendency))
        reverser.x[...] = layout.pack(weights.q, padding="constant")
        reverser.older_tendency[...] = layout.pack(weights.tendency, padding="constant")
        transport, column = forcing(trial, layout)
        step = StepForcing(trial.weights, transport, column)
        reverser.reverse(step, levels, layout.pack(fields.tendency), [(1.0, sources)])
        reverser.finish(levels[1])
        asked = {"reactions": reverser.reactions.sum(axis=(0, 1))} if reactions else {}
        if reverser.input_adjoints is not None:
            asked |= {f"number {name}": each.sum(axis=(0, 1)) for name, each in reverser.input_adjoints.numbers.items()}
            found = {id(each.field): layout.unpack(each.adjoint) for each in reverser.input_adjoints.fields}
            for name, ends in (transport.fields | column.fields).items():
                asked |= {f"{end} {name}": found[id(field)] for end, field in zip(ENDS, ends, strict=True)}
        by_instant = reverser.boundary if trial.boundary is not None else {}
        boundary = {f"{end} boundary": by_instant[seconds] for seconds, end in enumerate(ENDS) if by_instant}
        emitted = layout.unpack(sources)[list(setup.emitted)][:, : trial.columns[0].emission.shape[1]]
        return {
            "q": layout.unpack(reverser.x), "q_previous": layout.unpack(reverser.older),
            "tendency": layout.unpack(reverser.older_tendency), "emission": emitted,
            "boundary_profile": reverser.boundary_profile.sum(axis=(0, 1)), **boundary,
            "top": reverser.top.sum(axis=(0, 1)),
            **asked,
        }  # fmt: skip


def with_fields(fields: Mapping[str, Array], change: Mapping[str, Any], end: str) -> dict[str, Array]:
    return {name: each + change.get(f"{end} {name}", 0j) for name, each in fields.items()}


def of_profile(change: Mapping[str, Any], sides: Array) -> Any:
    """Return the change of a lateral profile for one or two cells beyond each face."""
    profile = change.get("boundary_profile")
    return 0j if profile is None else np.resize(profile, sides.shape[:2])[..., None]


def derivative(trial: Trial, weights: CostWeights, changes: Mapping[str, Array]) -> float:
    """Return the derivative of the weighted results of the reference in the direction of changes of inputs."""
    change = {name: 1j * TINY * each for name, each in changes.items()}
    fields = replace(
        trial.fields, q=trial.fields.q + change.get("q", 0j), q_previous=trial.fields.q_previous
        + change.get("q_previous", 0j), tendency=trial.fields.tendency + change.get("tendency", 0j),
    )  # fmt: skip
    around = replace(
        trial.setup.boundary, sides=trial.setup.boundary.sides + change.get("boundary_profile", 0j),
        top=trial.setup.boundary.top + change.get("top", 0j),
    )  # fmt: skip
    numbers = {name: each + change.get(f"number {name}", 0j) for name, each in trial.setup.numbers.items()}
    ends = trial.boundary and tuple(
        sides + of_profile(change, sides) + change.get(f"{end} boundary", 0j)
        for end, sides in zip(ENDS, trial.boundary, strict=True)
    )
    setup = replace(trial.setup, boundary=around, factors=1.0 + change.get("reactions", 0j), numbers=numbers)
    columns: Any = tuple(
        replace(each, emission=each.emission + change.get("emission", 0j), fields=with_fields(each.fields, change, end))
        for end, each in zip(ENDS, trial.columns, strict=True)
    )
    explicit: Any = tuple(with_fields(each, change, end) for end, each in zip(ENDS, trial.explicit, strict=True))
    given = replace(trial, fields=fields, setup=setup, columns=columns, explicit=explicit, boundary=ends)
    found = reference_step(given).fields
    parts = np.sum(weights.q * found.q.imag) + np.sum(weights.tendency * found.tendency.imag)
    return float(parts / TINY)


def directions(trial: Trial, seed: int, adjoint: Mapping[str, Array]) -> dict[str, Array]:
    """Return random changes of each input, of the size that it has."""
    random = np.random.default_rng(seed)
    sizes = {"tendency": 1e3, "emission": 1.0, "reactions": 1.0} | {
        name: 1.0 for name in adjoint if " " in name and "boundary" not in name
    }
    return {
        name: allowed(name.split(" ")[-1], sizes.get(name, 1e-9) * random.normal(size=each.shape))
        for name, each in adjoint.items()
    }


def allowed(name: str, change: Array) -> Array:
    """Return a change of a field: zero exchange at the edges of the area; a matrix conserves air."""
    if name in ("across_x", "more_x"):
        change[..., [0, -1]] = 0.0
    if name in ("across_y", "more_y"):
        change[..., [0, -1], :] = 0.0
    if name in ("matrix", "up"):
        levels = np.arange(len(change))
        change[levels, levels] = 0.0
        change[levels, levels] = -change.sum(axis=1)
    return change


def worst(kernel: StepKernel, trial: Trial, seed: int = 0, *, only: str = "", **options: bool) -> float:
    """Return the greatest relative error of dot products, over the inputs of a step or of one; options: `adjoints`."""
    weights = weighed(trial, seed)
    adjoint = adjoints(kernel, trial, weights, **options)
    errors = []
    for name, change in directions(trial, seed + 1, adjoint).items():
        if not change.size or only not in ("", name):
            continue
        expected, found = derivative(trial, weights, {name: change}), float(np.sum(adjoint[name] * change))
        scale = max(abs(expected), float(np.abs(adjoint[name] * change).max()), 1e-300)
        errors.append(abs(expected - found) / scale)
    return max(errors)


def compare(kernel: StepKernel, shape: tuple[int, int], number: int) -> None:
    """Compare with a step of the weights of a number, counted around."""
    weights = [*WEIGHTS.values()][number % len(WEIGHTS)]
    trial = random_trial(kernel, shape, weights, seed=number, sweeps=1 + number % 3)
    assert worst(kernel, trial, number) < EXACT
    for cells in (1, 2):
        assert worst(kernel, with_boundary(trial, number, cells), number) < EXACT


@pytest.mark.parametrize(("number", "shape"), [*enumerate(SHAPES)], ids=str)
def test_dot_products_with_all_kinds_of_operators(number: int, shape: tuple[int, int]) -> None:
    compare(toy_of_all_kinds(), shape, number)


def test_a_share_of_the_wrong_instant_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: adjoints of boundary concentrations go to the other end of the interval."""
    trial = with_boundary(random_trial(toy_of_all_kinds(), (3, 9), WEIGHTS["equal steps"], seed=4))
    assert worst(toy_of_all_kinds(), trial, 4, only="start boundary") < EXACT
    right = BoundaryForcing.shares
    monkeypatch.setattr(BoundaryForcing, "shares", lambda self: [(1.0 - at, share) for at, share in right(self)])
    assert worst(toy_of_all_kinds(), trial, 4, only="start boundary") > 1e3 * EXACT


def test_dot_products_without_rates() -> None:
    for weights in WEIGHTS.values():
        trial = random_trial(toy_of_all_kinds(), (3, 9), weights, seed=4, sweeps=2)
        assert worst(toy_of_all_kinds(), trial, 4, **WITHOUT_RATES) < EXACT


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("name", "levels"), [("all kinds", 7), ("tracer", 3), ("toy", 1), ("toy", 2), ("toy", 7)])
def test_dot_products(compiled: Compiled, name: str, levels: int, shape: tuple[int, int]) -> None:
    kernel = toy_of_all_kinds() if name == "all kinds" else compiled(name, levels)
    for number in range(len(WEIGHTS)):
        compare(kernel, shape, number)


@pytest.mark.thorough
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("name", ["emep", "small_strato"])
def test_dot_products_of_mechanisms(compiled: Compiled, name: str, weights: Any) -> None:
    kernel = compiled(name, 3)
    trial = random_trial(kernel, (3, 9), weights, seed=4, sweeps=2)
    assert worst(kernel, trial, 4) < EXACT
    assert worst(kernel, trial, 4, **WITHOUT_RATES) < EXACT


def frozen_face_value(before: Array, upstream: Array, downstream: Array, alpha: Any, beta: Any) -> Array:
    """Return the flux of a face with a frozen limiter: b + kappa (alpha (c - b) + beta (b - a))."""
    limited = _face_value(before.real, upstream.real, downstream.real, alpha, beta) - upstream.real
    smooth = alpha * (downstream - upstream) + beta * (upstream - before)
    return np.asarray(
        upstream + smooth * np.divide(limited, smooth.real, out=np.zeros_like(limited), where=limited != 0)
    )


_face_value = transport.face_value


def compare_frozen(kernel: StepKernel, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare with the reference with frozen limiters; differentiated limiters do not pass."""
    trial = random_trial(kernel, shape, WEIGHTS["shorter step"], seed=5, sweeps=2)
    assert worst(kernel, trial, 5, frozen=True) > 1e3 * EXACT
    monkeypatch.setattr(transport, "face_value", frozen_face_value)
    assert worst(kernel, trial, 5, frozen=True) < EXACT
    assert worst(kernel, trial, 5) > 1e3 * EXACT


@pytest.mark.compiles
def test_dot_products_with_frozen_limiters(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_frozen(toy_of_all_kinds(), (2, 5), monkeypatch)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "shape"), [("tracer", (7, 25)), ("toy", (3, 9)), ("toy", (2, 5))])
def test_dot_products_with_frozen_limiters_in_more_shapes(
    compiled: Compiled, name: str, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_frozen(compiled(name, 4), shape, monkeypatch)


@pytest.mark.parametrize("rows", [[(0, 4), (4, 8), (8, 13)], [(0, 0), (13, 13), (0, 13)]], ids=["alike", "stolen"])
def test_any_threads_give_the_same_bits_whichever_rows_they_begin_with(
    rows: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (13, 18), WEIGHTS["equal steps"], seed=1, sweeps=2)
    weights = weighed(trial, 1)
    one = adjoints(kernel, trial, weights)
    monkeypatch.setattr("airshed.kernels.backends.cpu.reverser._cuts", lambda *given: rows)
    three = adjoints(kernel, trial, weights, 3)
    assert [name for name in one if not np.array_equal(one[name], three[name])] == []


def test_branches_of_limiters_give_the_same_bits_kept_or_found_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (13, 18), WEIGHTS["equal steps"], seed=1, sweeps=2)
    weights = weighed(trial, 1)
    kept = adjoints(kernel, trial, weights)
    forgotten = property(lambda self: (None, address(self._before)))
    monkeypatch.setattr("airshed.kernels.backends.cpu.reverser._Branches.addresses", forgotten)
    anew = adjoints(kernel, trial, weights)
    assert [name for name in kept if not np.array_equal(kept[name], anew[name])] == []


@pytest.mark.parametrize(("input_adjoints", "reactions"), [(False, False), (True, False), (False, True)])
def test_all_else_is_the_same_where_less_is_asked_for(input_adjoints: bool, reactions: bool) -> None:
    """The bits agree; without any rates only to rounding: compilers may contract the sweeps differently."""
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (4, 10), WEIGHTS["equal steps"], seed=1, sweeps=2)
    weights = weighed(trial, 1)
    whole, less = (
        adjoints(kernel, trial, weights),
        adjoints(kernel, trial, weights, input_adjoints=input_adjoints, reactions=reactions),
    )
    far = 0.0 if input_adjoints or reactions else 1e-14
    alike = {name: bool(abs(each - whole[name]).max() <= far * abs(whole[name]).max()) for name, each in less.items()}
    assert [name for name, same in alike.items() if not same] == []
    assert ("reactions" in less) == reactions
    assert len(less) < len(whole)


TAKING = """\
#DEFVAR
A = IGNORE; B = IGNORE; C = IGNORE;
#EQUATIONS
<takes> A + B = 2 B - C : 1e-15;
"""


CAUSES = {
    "PRODUCTION_TAKES[i]": ("(airshed_planted != 0 && PRODUCTION_TAKES[i])", "Euler"),
    "minimum(given, r.t.rhs[i * NZ + z])":
        ("(airshed_planted == 1 ? given : minimum(given, r.t.rhs[i * NZ + z]))", "shorter step"),
    "any_below_zero(least)": ("(airshed_planted != 2 && any_below_zero(least))", "shorter step"),
}  # fmt: skip
"""Searches for clipping, by cause; code that may skip each; and a step in which only that cause acts."""


def with_causes_to_pass_over(name: str) -> GeneratedText:
    text = header(name)
    for right, (planted, _) in CAUSES.items():
        text = text.replace(right, planted)
    return GeneratedText(DECLARATION + text if text != header(name) else text)


@pytest.mark.compiles
def test_a_clipped_value_that_is_passed_over_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: clipping is searched where only one of its causes acts, and at the start of the sweeps."""
    file = tmp_path / "taking.kpp"
    file.write_text(TAKING, encoding="utf-8")
    kernel = compile_mechanism(load_mechanism(file), 3)
    monkeypatch.setattr(emit, "header", with_causes_to_pass_over)
    functions = compile_reverse(kernel).functions
    for number, (_, weights) in enumerate(CAUSES.values()):
        trial = random_trial(kernel, (4, 10), WEIGHTS[weights], seed=3, sweeps=2)
        assert max(worst(kernel, trial, 3), worst(kernel, trial, 3, **WITHOUT_RATES)) < EXACT
        with acting(functions, number):
            assert min(worst(kernel, trial, 3), worst(kernel, trial, 3, **WITHOUT_RATES)) > 1e3 * EXACT, number


@pytest.mark.compiles
def test_a_product_that_gives_back_too_little_is_noticed(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the adjoint of each species omits one input of its production and loss."""
    kernel, places = compiled("toy", 2), dict[tuple[int, str], int]()
    trial = random_trial(kernel, (3, 9), WEIGHTS["equal steps"], seed=3, sweeps=2)
    giving = AdjointWriter._contributions

    def switched(self: AdjointWriter, number: int, speeds: Any) -> Iterator[str]:
        for line in giving(self, number, speeds):
            of_bar = line.startswith("bar")
            yield without(places.setdefault((number, line), len(places)), line) if of_bar else line

    def declaring(*given: Any, **named: Any) -> Source:
        source = emit.emit_reverse(*given, **named)
        return replace(source, text=f"{DECLARATION}{source.text}")

    monkeypatch.setattr(AdjointWriter, "_contributions", switched)
    monkeypatch.setattr(pipeline, "emit_reverse", declaring)
    functions = compile_reverse(kernel).functions
    assert worst(kernel, trial, 3) < EXACT
    for line, place in places.items():
        with acting(functions, place):
            assert worst(kernel, trial, 3, only="q") > 1e3 * EXACT, line
    assert len(places) > len(kernel.network.species)
