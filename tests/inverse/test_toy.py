"""A two-step scheme with a tendency, reversed by every plan from every store with the same bits."""

import numpy as np
import pytest

from airshed.inverse.checkpoints.actions import Advance, DiscardLevels, DiscardRestart, Restore, Reverse, Sizes
from airshed.inverse.checkpoints.plans import Budget, as_executed, checkpoint_plan, fewest_repetitions
from airshed.inverse.checkpoints.trajectory import make_stores
from airshed.models.air.case.sections import AdjointSection
from airshed.parallel.communicator import SingleRank

STEPS, SIZES = 60, Sizes(3, 1)


class Toy:
    """Scheme x(n+1) = 1.2 x(n) - 0.2 x(n-1) + 0.1 (2 T(n) - T(n-1)), T(n) = sin(x(n)); a restart has two x and T."""

    def __init__(self):
        x = np.linspace(0.1, 2.0, 5)
        self.state = {"x": x, "before": x, "tendency": np.zeros(5)}
        self.adjoint, self.adjoint_before = np.ones(5), np.zeros(5)
        self.tendency_adjoint = np.zeros(5)

    def step(self):
        x, before, old = (self.state[name] for name in ("x", "before", "tendency"))
        new = np.sin(x)
        self.state = {"x": 1.2 * x - 0.2 * before + 0.1 * (2.0 * new - old), "before": x, "tendency": new}

    def reverse(self, x, before, old, after):
        """Reverse a step that reads its result, as a limiter does, so that all levels are used."""
        assert np.array_equal(1.2 * x - 0.2 * before + 0.1 * (2.0 * np.sin(x) - old), after)
        bar = self.adjoint
        tendency = 0.2 * bar + self.tendency_adjoint
        self.adjoint = self.adjoint_before + 1.2 * bar + np.cos(x) * tendency
        self.adjoint_before, self.tendency_adjoint = -0.2 * bar, -0.1 * bar


def execute(plan, stores):
    """Execute a plan; return the adjoints of x at the start and of the x before it."""
    toy = Toy()
    for action in plan.actions:
        match action:
            case Advance():
                advance(toy, action, stores)
            case Restore(step, store):
                toy.state = dict(stores[store].get(f"restart-{step}"))
            case Reverse(first, last):
                for step in reversed(range(first, last)):
                    toy.reverse(*needed(step, stores))
            case DiscardRestart(step, store):
                stores[store].drop(f"restart-{step}")
            case DiscardLevels(first, last, store):
                for level in range(first + 1, last + 1):
                    stores[store].drop(f"level-{level}")
    assert sum(len(store.keys) for store in stores.values()) == 0
    return np.array([toy.adjoint, toy.adjoint_before])


def advance(toy, action, stores):
    for step in range(action.first, action.last + 1):
        if step in action.restarts:
            stores[action.store].put(f"restart-{step}", toy.state)
        if step < action.last:
            toy.step()
            if action.save_levels:
                stores[action.store].put(f"level-{step + 1}", {"x": toy.state["x"]})


def needed(step, stores):
    """Return x, the previous x, the previous tendency, and x after a step, by the rules of the module of actions."""
    after = kept(stores, f"level-{step + 1}")["x"]
    restart = kept(stores, f"restart-{step}")
    if restart is not None:
        return restart["x"], restart["before"], restart["tendency"], after
    earlier = kept(stores, f"restart-{step - 1}") or kept(stores, f"level-{step - 1}")
    return kept(stores, f"level-{step}")["x"], earlier["x"], np.sin(earlier["x"]), after


def kept(places, key):
    return next((store.get(key) for store in places.values() if key in store.keys), None)


def plans():
    for name, memory, disk in [
        ("all", 70, 0), ("all", 5, 70), ("two-level", 30, 0), ("auto", 40, 0), ("auto", 15, 0), ("auto", 12, 20),
    ]:  # fmt: skip
        yield f"{name} {memory} {disk}", as_executed(checkpoint_plan(name, Budget(SIZES, memory, disk), 50), STEPS)
    for memory, disk in [(30, 0), (12, 0), (8, 0), (12, 9)]:
        yield f"known {memory} {disk}", fewest_repetitions(STEPS, Budget(SIZES, memory, disk))


@pytest.fixture
def reference(tmp_path):
    stores = make_stores(AdjointSection(), tmp_path / "reference", SingleRank())
    return execute(fewest_repetitions(STEPS, Budget(SIZES, 100)), stores)


@pytest.mark.parametrize("kind", ["memory", "files", "mpiio", "zarr"])
@pytest.mark.parametrize("plan", [pytest.param(plan, id=name) for name, plan in plans()])
def test_every_plan_gives_the_same_gradient(tmp_path, plan, kind, reference):
    stores = make_stores(AdjointSection(store=kind, disk="1 GB"), tmp_path, SingleRank())
    assert execute(plan, stores).tobytes() == reference.tobytes()
    for store in stores.values():
        store.close()


def test_the_gradient_is_that_of_the_steps(reference):
    def last(x):
        toy = Toy()
        toy.state |= {"x": x, "before": x}
        for _ in range(STEPS):
            toy.step()
        return toy.state["x"]

    start, small = Toy().state["x"], 1e-6
    difference = (last(start + small) - last(start - small)) / (2.0 * small)
    assert reference.sum(axis=0) == pytest.approx(difference, rel=1e-6)
    assert reference[0] != pytest.approx(difference, rel=1e-3)
