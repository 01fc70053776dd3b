"""The effect of a scenario: a reference computation cell by cell, and controls that must change the result."""

from dataclasses import dataclass, field, replace
from math import cos, radians
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.grid.world import find_location
from airshed.serve.access.lease import Lease
from airshed.serve.fields.published import Session, Shape
from airshed.serve.protocol import types
from airshed.serve.protocol.errors import NotThereError
from airshed.serve.protocol.values import Window
from airshed.serve.scenarios.compared import in_country
from airshed.serve.scenarios.effect import effect_of

LAT, LON = np.arange(48.5, 54.0), np.arange(4.5, 12.0)
HOURS, ROWS, COLUMNS = 10, LAT.size, LON.size
MOLAR_MASS = 47.998e-3
COLOGNE = (6.96, 50.94)


@dataclass
class Records:
    """Records in memory."""

    values: np.ndarray
    first: int = 0
    every: float = 3600.0
    names: tuple[str, ...] = ("O3",)
    moments: list[types.Moment] = field(default_factory=list)

    def __post_init__(self) -> None:
        for hour in range(self.first, self.first + len(self.values)):
            time = f"2022-08-31T{hour:02d}:00:00.000Z"
            self.moments.append(types.Moment(seconds=3600.0 * hour, step=hour, time=time))

    def read(self, name: str, index: int, level: int | None, window: Window | None) -> np.ndarray:
        return np.asarray(self.values[index] if level is None else self.values[index, level])

    def flush(self) -> None:
        """All records are stored."""


def session(name: str, values: np.ndarray, first: int = 0) -> Session:
    """Return a session with records of O3 at the ground [mol/mol]."""
    axes = [
        types.Coordinate(name=axis, dim=axis, unit="degrees", text=axis, values=each.tolist())
        for axis, each in (("lat", LAT), ("lon", LON))
    ]
    grid = types.GridInfo(kind="lonlat", rows=ROWS, columns=COLUMNS, coordinates=axes, levels=[10.0, 50.0])
    ozone = types.Variable(
        name="O3", unit="mol mol-1", text="ozone", dims=["level", "lat", "lon"], shape=[2, ROWS, COLUMNS],
        molar_mass=MOLAR_MASS,
    )  # fmt: skip
    state = types.SessionState(
        session=name, title="", model="air", case="", status="ended", step=0, seconds=0.0, time="", begin=0.0, end=1.0
    )
    records: Any = Records(values, first)
    return Session(Shape({"O3": ozone}, grid, None, {}), state, Lease(0.0), recorded=records)


@pytest.fixture
def runs() -> tuple[np.ndarray, np.ndarray]:
    """Values of a run and of a scenario that equals it for two hours (hours, levels, rows, columns)."""
    rng = np.random.default_rng(39)
    before = (60e-9 + 10e-9 * rng.standard_normal((HOURS, 2, ROWS, COLUMNS))).astype(np.float32)
    after = before.copy()
    after[2:] -= (5e-9 * rng.random((HOURS - 2, 2, ROWS, COLUMNS)) - 1e-9).astype(np.float32)
    return before, after


def reference(before: np.ndarray, after: np.ndarray) -> dict[str, Any]:
    """Compute an effect with loops over hours and cells."""
    weight = [[cos(radians(lat)) for _ in LON] for lat in LAT]
    whole = sum(map(sum, weight))
    change = {
        (hour, row, column): float(after[hour, 0, row, column]) - float(before[hour, 0, row, column])
        for hour in range(2, HOURS) for row in range(ROWS) for column in range(COLUMNS)
    }  # fmt: skip
    mean = sum(weight[row][column] * each for (_, row, column), each in change.items()) / whole / (HOURS - 2)
    factor = 1e9 * MOLAR_MASS * 101.3e3 / (8.31446261815324 * 293.0)
    above = [
        sum(
            any(
                float(values[hour, 0, row, column]) * factor > 180.0 for row in range(ROWS) for column in range(COLUMNS)
            )
            for hour in range(2, HOURS)
        )
        for values in (before, after)
    ]
    means8 = [
        any(
            sum(float(values[hour, 0, row, column]) for hour in range(2, 10)) * factor / 8 > 120.0
            for row in range(ROWS) for column in range(COLUMNS)
        )
        for values in (before, after)
    ]  # fmt: skip
    return {"mean": mean, "least": min(change, key=change.__getitem__), "change": change, "above": above, "8 h": means8}


def test_the_effect_equals_a_computation_cell_by_cell(runs: tuple[np.ndarray, np.ndarray]) -> None:
    before, after = runs
    expected = reference(before, after)
    found = effect_of(session("b1", after), session("main", before), "O3", places=[COLOGNE, (60.0, 0.0)])
    assert (found.hours, found.begin.seconds, found.end.seconds) == (HOURS - 2, 7200.0, 3600.0 * (HOURS - 1))
    assert found.domain.after - found.domain.before == pytest.approx(expected["mean"], rel=1e-5)
    hour, row, column = expected["least"]
    assert found.decrease is not None
    assert (found.decrease.seconds, found.decrease.lat, found.decrease.lon) == (3600.0 * hour, LAT[row], LON[column])
    assert found.decrease.after - found.decrease.before == pytest.approx(
        expected["change"][expected["least"]], rel=1e-4
    )
    assert found.increase is not None
    assert found.increase.after - found.increase.before == pytest.approx(max(expected["change"].values()), rel=1e-4)

    # places, limit values
    place, outside = found.places
    assert place.city == "Cologne"
    assert place.distance == pytest.approx(0.0, abs=2.0)
    assert place.before == pytest.approx(before[2:, 0, 2, 2].mean(), rel=1e-6)
    assert (outside.before, outside.greatest) == (None, None)
    limits = {each.name: each for each in found.limits}
    assert list(limits) == ["WHO guideline", "EU target value", "EU information threshold", "EU alert threshold"]
    assert [
        limits["EU information threshold"].hours_before,
        limits["EU information threshold"].hours_after,
    ] == expected["above"]
    assert [limits["EU target value"].hours_before > 0, limits["EU target value"].hours_after > 0] == expected["8 h"]


def test_limit_values_apply_at_the_ground_alone(runs: tuple[np.ndarray, np.ndarray]) -> None:
    before, after = session("main", runs[0]), session("b1", runs[1])
    assert effect_of(after, before, "O3", 0).limits
    assert effect_of(after, before, "O3", 1).limits == []


def test_hours_without_values_have_no_effect(runs: tuple[np.ndarray, np.ndarray]) -> None:
    before, after = session("main", runs[0]), session("b1", np.full_like(runs[1], np.nan))
    with pytest.raises(NotThereError, match="no values"):
        effect_of(after, before, "O3")


def test_people_are_those_of_the_cities_in_changed_cells(runs: tuple[np.ndarray, np.ndarray]) -> None:
    before, _ = runs
    after = before.copy()
    after[:, :, 2, 2] -= np.float32(5e-9)  # the cell of Cologne
    found = effect_of(session("b1", after), session("main", before), "O3", threshold=1e-9)
    assert 1_000_000 < found.people.less < 4_000_000 < found.people.people
    assert found.people.more == 0
    assert found.people.cities > 50
    none = effect_of(session("b1", after), session("main", before), "O3", threshold=6e-9)
    assert none.people.less == 0


def test_a_country_has_its_own_mean(runs: tuple[np.ndarray, np.ndarray]) -> None:
    before, _ = runs
    one, other = session("b1", before), session("main", before)
    inside = in_country(_cells(one), "Germany")
    after = before + np.where(inside, np.float32(1e-9), np.float32(0.0))
    found = effect_of(session("b1", after), other, "O3", country="Germany")
    assert found.country is not None
    assert found.country.after - found.country.before == pytest.approx(1e-9, rel=1e-3)
    assert 0.0 < found.domain.after - found.domain.before < 0.9e-9
    assert effect_of(session("b1", after), other, "O3", country="Japan").country is None
    with pytest.raises(CaseError, match="country"):
        effect_of(one, other, "O3", country="Atlantis")


def test_cells_in_a_country_are_those_whose_centres_are() -> None:
    inside = in_country(_cells(session("main", np.zeros((1, 2, ROWS, COLUMNS), np.float32))), "Germany")
    assert inside[list(LAT).index(50.5), list(LON).index(8.5)]  # Hesse
    assert not inside[list(LAT).index(48.5), list(LON).index(4.5)]  # Champagne
    assert find_location("Germany").outline


def _cells(of: Session) -> Any:
    from airshed.serve.fields.maps import cells_of

    return cells_of(of.shape.grid)


def test_swapped_runs_have_the_opposite_effect_and_equal_runs_none(runs: tuple[np.ndarray, np.ndarray]) -> None:
    before, after = runs
    one, other = session("b1", after), session("main", before)
    found, opposite = effect_of(one, other, "O3"), effect_of(other, one, "O3")
    assert found.decrease is not None
    assert opposite.increase is not None
    assert found.decrease.before - found.decrease.after == opposite.increase.after - opposite.increase.before
    none = effect_of(other, other, "O3")
    assert (none.decrease, none.increase, none.people.less, none.people.more) == (None, None, 0, 0)
    assert none.hours == HOURS
    shifted = effect_of(session("b1", after, first=1), other, "O3")  # hours of other times
    assert shifted.decrease != found.decrease


def test_a_run_that_is_behind_is_named(runs: tuple[np.ndarray, np.ndarray]) -> None:
    before, after = runs
    found = effect_of(session("b1", after[:6]), session("main", before), "O3")
    assert found.missing == types_missing("b1", 5, 9)
    assert found.hours == 4
    assert found.limits == [] or all(each.mean == "1 h" for each in found.limits)
    with pytest.raises(NotThereError, match="no common recorded hour"):
        effect_of(session("b1", after[:2], first=30), session("main", before), "O3")
    with pytest.raises(CaseError, match="there is no variable 'O4'"):
        effect_of(session("b1", after), session("main", before), "O4")


def types_missing(name: str, since: int, until: int) -> Any:
    from airshed.serve.protocol.effect import MissingHours

    return MissingHours(session=name, since=3600.0 * since, until=3600.0 * until)


def test_a_difference_needs_the_same_cells() -> None:
    shape = session("one", np.ones((1, 2, ROWS, COLUMNS))).shape
    moved = [
        each.model_copy(update={"values": [value + 0.5 for value in each.values]}) for each in shape.grid.coordinates
    ]
    other = replace(shape, grid=shape.grid.model_copy(update={"coordinates": moved}))
    rounded = replace(shape, grid=shape.grid.model_copy(update={"levels": []}))
    assert shape.has_cells_of(rounded)
    assert not shape.has_cells_of(other)
