"""Observation operator: locations, means in time, units, averaging kernels, and its transpose."""

from dataclasses import replace

import numpy as np
import pytest

from airshed.core.constants import GAS_CONSTANT
from airshed.core.errors import CaseError
from airshed.inverse.fourdvar.operator import Domain, ObservationOperator
from airshed.observations.observation import Kernel, Observation, Observations
from airshed.observations.selection import bilinear, layer_weights, mean_weights

from .toys import GRID, SPECIES, TIMES, column, many, observation

RANDOM = np.random.default_rng(2)
MASSES = {"NO2": 46.0e-3, "O3": 48.0e-3}
DOMAIN = Domain(GRID, TIMES, SPECIES, MASSES)


def air(time: float) -> np.ndarray:
    return 40.0 - 0.01 * GRID.level[:, None, None] + np.zeros(GRID.shape) + 1e-4 * time


AMBIENT = replace(DOMAIN, air=air, volume="ambient")


def simulated(rows: list[Observation], domain: Domain, fields: np.ndarray) -> np.ndarray:
    operator = ObservationOperator(Observations.of(rows), domain)
    found = operator.start()
    for k in range(TIMES.size):
        operator.add(k, fields[k], found)
    return found


def linear(time: float, lon: np.ndarray, lat: np.ndarray) -> np.ndarray:
    return 1e-9 * (3.0 + 0.5 * lon - 0.1 * lat + 2e-4 * time)


def fields_of(values: object = linear) -> np.ndarray:
    fields = np.zeros((TIMES.size, 2, *GRID.shape))
    for k, time in enumerate(TIMES):
        fields[k, 0, 0] = values(time, GRID.x[None, :], GRID.y[:, None])  # type: ignore[operator]
    return fields


def test_linear_fields_are_interpolated_exactly() -> None:
    row = observation(unit="ppb", begin=1000.0, end=9000.0, lon=3.21, lat=47.7)
    expected = linear(5000.0, np.array(3.21), np.array(47.7)) * 1e9
    assert simulated([row], DOMAIN, fields_of())[0] == pytest.approx(float(expected), rel=1e-13)
    instant = replace(row, begin=4000.0, end=4000.0)
    expected = linear(4000.0, np.array(3.21), np.array(47.7)) * 1e9
    assert simulated([instant], DOMAIN, fields_of())[0] == pytest.approx(float(expected), rel=1e-13)


def test_within_half_a_cell_of_the_edge_the_nearest_centre_counts() -> None:
    columns, weights = bilinear(GRID, np.array([0.1, 8.0]), np.array([45.0, 50.9]))
    for row, place in ((0, 0), (1, 6 * 8 - 1)):
        assert weights[row, columns[row] == place].sum() == pytest.approx(1.0)
    assert (weights >= 0.0).all()


def test_weights_sum_to_one_anywhere() -> None:
    _, space = bilinear(GRID, RANDOM.uniform(0, 8, 500), RANDOM.uniform(45, 51, 500))
    begin = RANDOM.uniform(0, TIMES[-1], 500)
    time = mean_weights(TIMES, begin, np.minimum(begin + RANDOM.choice([0.0, 600.0, 9000.0], 500), TIMES[-1]))
    np.testing.assert_allclose(space.sum(axis=1), 1.0, rtol=1e-13)
    np.testing.assert_allclose(time.sum(axis=1), 1.0, rtol=1e-12)


def test_means_are_the_integrals_of_lines_between_the_instants() -> None:
    values, begin, end = RANDOM.random(TIMES.size), np.array([500.0, 3600.0]), np.array([10000.0, 7200.0])
    fine = [np.interp(np.linspace(a, b, 200001), TIMES, values).mean() for a, b in zip(begin, end, strict=True)]
    np.testing.assert_allclose(mean_weights(TIMES, begin, end) @ values, fine, rtol=1e-5)
    assert mean_weights(np.array([0.0]), begin, end) == pytest.approx(np.ones((2, 1)))


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("ppb", 1e9), ("ug/m3", 101.3e3 / (GAS_CONSTANT * 293.0) * 46.0e-3 * 1e9), ("mol/mol", 1.0)],
)
def test_units_of_standard_volumes(unit: str, factor: float) -> None:
    row = observation(unit="ppb"), observation(unit=unit)
    ppb, other = simulated(list(row), DOMAIN, fields_of())
    assert other == pytest.approx(ppb * 1e-9 * factor, rel=1e-12)


def test_ambient_volumes_take_the_air_of_place_and_time() -> None:
    fields = fields_of(lambda time, lon, lat: 1e-9 + 0 * lon * lat)
    row = observation(unit="ug/m3", begin=3600.0, end=3600.0)
    assert simulated([row], AMBIENT, fields)[0] == pytest.approx(46.0e-3 * (39.9 + 0.36), rel=1e-12)


def test_a_column_is_its_layers_by_the_kernel_and_its_prior() -> None:
    fields = np.zeros((TIMES.size, 2, *GRID.shape))
    profile = np.array([3e-9, 2e-9, 1e-9])
    fields[:, 0] = profile[:, None, None]
    row = column(begin=3600.0, end=3600.0, kernel=Kernel(
        np.array([0.0, 60.0, 250.0]), np.array([0.5, 0.8]), np.array([1e-5, 2e-5])
    ))  # fmt: skip
    partial = profile * air(3600.0)[:, 0, 0]  # mol/m3
    expected = 0.5 * (20 * partial[0] + 40 * partial[1]) + 0.8 * (40 * partial[1] + 150 * partial[2])
    expected += 0.5 * 1e-5 + 0.2 * 2e-5
    assert simulated([row], AMBIENT, fields)[0] == pytest.approx(expected, rel=1e-12)


def test_a_kernel_above_the_model_has_no_weight_there() -> None:
    weights = layer_weights(GRID.layer_faces, np.array([0.0, 400.0, 9000.0]), np.array([1.0, 5.0]))
    assert weights == pytest.approx(np.ones(3))


def gap(operator: ObservationOperator, transposed: object) -> float:
    fields, w = RANDOM.standard_normal((TIMES.size, 2, *GRID.shape)), RANDOM.standard_normal(operator.size)
    found = np.zeros(operator.size)
    for k in range(TIMES.size):
        operator.add(k, fields[k], found)
    right = sum(float(np.vdot(fields[k], transposed(k, w))) for k in range(TIMES.size))  # type: ignore[operator]
    return abs(found @ w - right) / (np.linalg.norm(found) * np.linalg.norm(w))


def test_the_operator_and_its_transpose_are_a_pair() -> None:
    rows = [observation(unit=unit, lon=lon) for unit in ("ug/m3", "ppb") for lon in (0.2, 3.3, 7.9)]
    operator = ObservationOperator(Observations.of([*rows, column(sigma=1e-6)]), AMBIENT)
    assert gap(operator, operator.transposed) < 1e-14
    assert gap(operator, lambda k, w: operator.transposed(max(k - 1, 0), w)) > 1e-4, "of another instant"


def test_species_are_not_mixed() -> None:
    fields = fields_of()
    assert simulated([observation(species="O3", unit="ppb")], DOMAIN, fields)[0] == 0.0


@pytest.mark.parametrize(
    ("row", "domain", "message"),
    [
        (observation(species="CO"), DOMAIN, "CO is observed, but is not a species of the model"),
        (observation(), replace(DOMAIN, molar_masses={}), "its molar mass is unknown"),
        (observation(), replace(DOMAIN, volume="ambient"), "need the air of the model"),
        (column(), DOMAIN, "need the air of the model"),
    ],
)
def test_missing_properties_of_the_model_are_reported(row: Observation, domain: Domain, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        ObservationOperator(Observations.of([row]), domain)


def test_instants_must_ascend() -> None:
    with pytest.raises(CaseError, match="must be in ascending order"):
        replace(DOMAIN, times=np.array([0.0, 0.0]))


def test_matrices_are_sparse() -> None:
    operator = ObservationOperator(many(50), DOMAIN)
    assert sum(matrix.nnz for matrix in operator.matrices) <= 50 * 4 * 3
