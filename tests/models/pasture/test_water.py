"""Water of a day against hand calculation: covers, runoff, drainage, evaporation, flow, trees, roots."""

from math import exp, pi, sin, sqrt

import numpy as np
import pytest
from tests.models.pasture.days import DAY, HUMID, day, land, model, plain, start

from airshed.core.errors import CaseError
from airshed.models.pasture.forms import competition, is_within, ratio
from airshed.models.pasture.processes.water import priestley_taylor, rickert, ritchie, unsaturated_flow

SITE67 = land()


def test_forms() -> None:
    assert competition(0.3, 1.0) == pytest.approx(0.3)
    assert competition(0.5, 3.0) == pytest.approx(0.75)
    assert ratio(0.0, 0.0) == 0.0
    assert [bool(is_within(d, 335, 59)) for d in (334, 335, 366, 1, 59, 60)] == [False, True, True, True, True, False]
    assert [bool(is_within(d, 91, 274)) for d in (90, 91, 274, 275)] == [False, True, True, False]


def test_humidity_follows_the_case() -> None:
    def deficit(given: str, *optional: str, **weather: float) -> float:
        found = model(optional, ("Humidity",), humidity={"given": given})
        return float(day(found, {}, {}, **weather)["saturation_deficit"])

    warm, cold = (6.1078 * exp(17.269 * t / (237.3 + t)) for t in (34.0, 22.0))
    assert deficit("deficit", *HUMID) == 15.0
    assert deficit("temperature") == pytest.approx(warm - cold)
    assert deficit("vapour_pressure", "vapour_pressure", vapour_pressure=cold) == pytest.approx(0.75 * (warm - cold))
    assert deficit("vapour_pressure", "vapour_pressure", vapour_pressure=80.0) == 0.0
    with pytest.raises(CaseError, match=r'humidity\.given = "vapour_pressure", but the weather has no vapour_pressure'):
        model(HUMID, humidity={})


def test_covers() -> None:
    state = start(
        SITE67, green_leaf=600.0, green_stem=1000.0, dead_leaf=2000.0, dead_stem=0.0, litter=1000.0, height=1200.0
    )
    found = day(model(only=("Cover",)), SITE67, state)
    bare = exp(-0.4)
    assert plain(found, "transpiration_cover", "radiation_cover", "green_cover") == pytest.approx([0.5] * 3)
    assert plain(found, "total_cover", "litter_cover") == pytest.approx([1.0 - 0.5 * 0.8, 1.0 - bare])
    assert plain(found, "surface_cover") == pytest.approx([1.0 - (1.0 - 0.5 * 0.6) * bare])
    assert plain(found, "evaporation_share") == pytest.approx([exp(-1.7 * 0.6) * bare**0.44])
    for height, shelters in ((1800.0, 0.0), (1799.0, 1.0)):
        sudden = day(model(only=("Cover",), cover={"short": 1800.0}), SITE67, {**state, "height": height})
        assert plain(sudden, "surface_cover") == pytest.approx([1.0 - (1.0 - shelters * 0.6) * bare])
    trace = day(model(only=("Cover",)), SITE67, start(SITE67, green_leaf=0.5, green_stem=0.5))
    assert plain(trace, "green_cover") == [0.0]
    assert float(trace["transpiration_cover"]) > 0.0


def runoff(rain: float, wetness: float, dead: float, **settings: object) -> list[float]:
    points = model(only=("Cover", "Runoff"), runoff=settings)
    state = start(SITE67, wetness, dead_leaf=1e4 * dead)
    return plain(day(points, SITE67, state, rain=rain), "runoff", "infiltration", "runoff_cover")


def by_hand(rain: float, number: float) -> float:
    retention = 254.0 * (100.0 / number - 1.0)
    return max(rain - 0.2 * retention, 0.0) ** 2 / (rain + 0.8 * retention)


def test_runoff() -> None:
    dry, wet = 73.0 / (2.334 - 0.01334 * 73.0), 73.0 / (0.4036 + 0.005964 * 73.0)
    assert runoff(60.0, 0.0, 0.0)[:2] == pytest.approx([by_hand(60.0, dry), 60.0 - by_hand(60.0, dry)])
    assert runoff(60.0, 1.0, 0.0)[0] == pytest.approx(by_hand(60.0, wet))
    assert runoff(60.0, 0.25, 0.0)[0] == pytest.approx(by_hand(60.0, dry + 0.25 * (wet - dry)))
    covered = 73.0 - 20.0 * 0.4 / 0.8
    assert runoff(60.0, 0.0, 0.4)[0] == pytest.approx(by_hand(60.0, covered / (2.334 - 0.01334 * covered)))
    assert runoff(0.0, 1.0, 0.0) == [0.0, 0.0, 0.0]
    share = 1000.0**0.95 / (1000.0**0.95 + 1150.0**0.95)
    assert runoff(60.0, 0.0, 0.1, cover="yield")[2] == pytest.approx(share)
    assert runoff(60.0, 0.0, 0.0, cover="yield")[2] == 0.0


def test_runoff_for_curve_numbers_100_and_0() -> None:
    for number, part in ((100.0, 1.0), (0.0, 0.0)):
        cell = {**SITE67, "curve_number": number}
        found = day(model(only=("Cover", "Runoff")), cell, start(cell), rain=30.0)
        assert plain(found, "runoff") == pytest.approx([30.0 * part])
        assert plain(day(model(only=("Cover", "Runoff")), cell, start(cell), rain=0.0), "runoff") == [0.0]


def test_runoff_is_at_most_the_rain() -> None:
    points, rain = model(only=("Cover", "Runoff")), np.linspace(0.0, 2000.0, 400)
    cell = {**SITE67, "curve_number": 100.0, "air_dry_1": 0.0}
    found = day(points, cell, start(cell, water_1=0.0, water_2=33.3), rain=rain)
    assert found["runoff"] == pytest.approx(rain)
    assert found["infiltration"].min() >= 0.0
    assert found["water_1"].min() >= 0.0


def test_drainage_from_the_top() -> None:
    state = start(SITE67, 1.0, water_1=45.1)
    found = day(model(only=("Drainage",)), SITE67, state)
    first = 10.0 + 0.3 * 5.0  # above saturation, and a fraction of the water between the limits
    second = 0.3 * first
    third = 0.3 * second
    water = [45.1 - first, 60.4 + first - second, 50.5 + second - third, 3.05 + 0.7 * third]
    assert plain(found, "water_1", "water_2", "water_3", "water_4") == pytest.approx(water)
    assert plain(found, "drainage") == pytest.approx([0.3 * third])


def test_a_missing_layer_passes_water_on() -> None:
    cell = land("roselea")
    found = day(model(only=("Drainage",)), cell, start(cell, 1.0, water_3=94.5))
    assert plain(found, "water_4", "drainage") == pytest.approx([0.0, 0.4 * 4.5])


def test_evaporation_by_rickert() -> None:
    first, second = rickert(5.0, (15.0, 60.0), (5.0, 40.0), (20.0, 80.0), 6.0)
    r1, r12 = competition(10.0 / 15.0, 0.285), competition(30.0 / 55.0, 0.117)
    assert first == pytest.approx(5.0 * r1)
    assert second == 0.0
    assert r12 < r1
    first, second = rickert(5.0, (6.0, 80.0), (5.0, 40.0), (20.0, 80.0), 6.0)
    r1, r12 = competition(1.0 / 15.0, 0.285), competition(41.0 / 55.0, 0.117)
    assert (first, second) == (pytest.approx(5.0 * r1), pytest.approx(5.0 * (r12 - r1)))
    assert rickert(50.0, (20.0, 80.0), (5.0, 40.0), (20.0, 80.0), 6.0) == (6.0, 0.0), "at most the limit of a day"
    assert rickert(500.0, (5.2, 80.0), (5.0, 40.0), (20.0, 80.0), 6.0)[0] == pytest.approx(0.2), (
        "at most the water of the layer"
    )


def test_evaporation_by_ritchie() -> None:
    wet = ritchie(4.0, 0.0, 20.0, (1.0, 0.0, 0.0), 6.0, 3.5)
    assert wet == pytest.approx((4.0, 5.0, 0.0, 0.0)), "the first stage"
    crossing = ritchie(4.0, 0.0, 20.0, (5.0, 0.0, 0.0), 6.0, 3.5)
    assert crossing == pytest.approx((1.0 + 1.8, 6.0, 1.8, (1.8 / 3.5) ** 2)), "0.6 of the rest"
    second = ritchie(4.0, 0.0, 20.0, (6.0, 3.5, 1.0), 6.0, 3.5)
    assert second == pytest.approx((3.5 * (sqrt(2.0) - 1.0), 6.0, 3.5 * sqrt(2.0), 2.0)), "the second stage"
    shower = ritchie(4.0, 3.0, 20.0, (6.0, 6.6, 4.0), 6.0, 3.5)
    goes_on = sqrt(6.6**2 + 3.5**2)
    assert shower[:3] == pytest.approx((3.0 + goes_on - 6.6, 6.0, goes_on)), "the second stage continues"
    storm = ritchie(4.0, 30.0, 20.0, (6.0, 6.6, 4.0), 6.0, 3.5)
    assert storm == pytest.approx((4.0, 4.0, 0.0, 0.0)), "no deficit is left"
    assert ritchie(4.0, 0.0, 0.5, (1.0, 0.0, 0.0), 6.0, 3.5)[0] == 0.5, "at most the water of the layer"


def test_potential_evaporation_by_radiation() -> None:
    albedo = 0.23 - 0.09 * 0.5
    equilibrium = 23.8846 * 20.0 * (0.000204 - 0.000183 * albedo) * (0.6 * 30.0 + 0.4 * 20.0 + 29.0)
    assert priestley_taylor(20.0, 30.0, 20.0, 0.14, 0.5) == pytest.approx(1.1 * equilibrium)
    hot = 23.8846 * 20.0 * (0.000204 - 0.000183 * albedo) * (0.6 * 39.0 + 8.0 + 29.0)
    assert priestley_taylor(20.0, 39.0, 20.0, 0.14, 0.5) == pytest.approx(1.3 * hot)
    cold = 23.8846 * 20.0 * (0.000204 - 0.000183 * albedo) * (0.6 * 2.0 + 29.0)
    assert priestley_taylor(20.0, 2.0, 0.0, 0.14, 0.5) == pytest.approx(0.01 * exp(0.18 * 22.0) * cold)


def test_flow_of_unsaturated_soil() -> None:
    upper, lower = (10.0, 100.0, 6.0, 30.0), (60.0, 400.0, 20.0, 60.4)
    gradient = (0.15 - 0.1) / 250.0 - 2e-5
    expected = 40.0 * exp(16.0 * (0.04 + 0.1) / 2.0) * gradient
    assert unsaturated_flow(upper, lower, 40.0, 16.0) == pytest.approx(expected)
    assert unsaturated_flow((10.0, 100.0, 6.0, 30.0), (20.01, 400.0, 20.0, 60.4), 1e9, 0.0) > -4.0, "it has only 4 mm"
    level = (gradient * 250.0) / (1.0 / 100.0 + 1.0 / 400.0)
    assert unsaturated_flow(upper, lower, 1e6, 0.0) == pytest.approx(min(1e4 * gradient, level))
    assert unsaturated_flow((30.0, 100.0, 6.0, 30.0), lower, 40.0, 16.0) < 0.0
    assert unsaturated_flow(upper, (0.0, 0.0, 0.0, 0.0), 40.0, 16.0) == 0.0, "the layer does not exist"


@pytest.mark.compiles
def test_the_steepest_diffusivity_is_a_number_in_single_precision() -> None:
    cell = {**SITE67, "diffusivity": 0.0, "diffusivity_slope": 900.0}
    points = model(soil_evaporation={"method": "ritchie"})
    given = {**DAY, **cell, **start(cell, 1.0), **points.numbers}
    step = points.compiled("single")
    found = step({name: np.full(3, given[name]) for name in points.inputs})
    step.close()
    assert all(np.isfinite(values).all() for values in found)


def test_flow_acts_only_with_ritchie() -> None:
    names = ("water_3", "water_4")
    state = start(SITE67, 0.5, water_3=50.0)
    for method, moves in (("rickert", False), ("ritchie", True)):
        points = model(only=("Cover", "Runoff", "SoilEvaporation"), soil_evaporation={"method": method})
        assert (plain(day(points, SITE67, state), *names) != plain(state, *names)) is moves


def test_trees_take_water_by_layers() -> None:
    cell = {**SITE67, "tree_basal_area": 1.0}
    found = day(model(only=("Trees",)), cell, start(cell, 0.4))
    supply = [0.4 * 0.5] * 4  # the fourth layer is above their depth of 1250 mm
    assert plain(found, "tree_water_index") == pytest.approx([sum(supply)])
    assert plain(found, "tree_water_use") == pytest.approx([6.0 * 0.5 * sum(supply) - (6.0 * 0.5 * 0.2 - 0.02)])
    assert plain(found, "tree_use_1", "tree_use_4") == pytest.approx([6.0 * 0.5 * 0.2, 0.02]), "its water is 0.02 mm"
    assert model(trees={"on": False}).outputs.count("tree_water_use") == 0


def test_transpiration_by_layers() -> None:
    cell = {**SITE67, "tree_basal_area": 0.0}
    state = start(cell, 0.5, green_leaf=800.0, green_stem=800.0, height=100.0)
    found = day(model(only=("Cover", "Trees", "Transpiration")), cell, state)
    s1 = 0.5 * (1.0 + sin((0.5 - 0.5) * pi))
    s3 = 0.9 * (1.0 - np.cos(0.25 * pi))
    dryness = 1.0 + 0.5 * (1.0 - 100.0 / 200.0)
    demand = 6.0 * 0.5 * (1.0 + (dryness - 1.0) * (1.0 - s1))
    total = 2.0 * s1 + s3
    assert plain(found, "soil_water_index", "ground_dryness", "transpiration") == pytest.approx([1.0, dryness, demand])
    assert plain(found, "water_3") == pytest.approx([float(state["water_3"]) - demand * s3 / total])
    dry = day(model(only=("Cover", "Trees", "Transpiration")), cell, start(cell, 0.1, green_leaf=1600.0))
    supply = [0.5 * (1.0 + sin(-0.4 * pi))] * 2 + [0.9 * (1.0 - np.cos(0.05 * pi))]
    assert plain(dry, "soil_water_index") == pytest.approx([sum(supply)])
    assert plain(dry, "transpiration") == pytest.approx([3.0 * (1.0 + 0.5 * (1.0 - supply[0])) * sum(supply)])


def test_trees_come_first() -> None:
    cell = {**land("regression", "regression"), "tree_basal_area": 2.0}
    found = day(model(), cell, start(cell, 1.0, green_leaf=9000.0))
    trees, grass = plain(found, "tree_water_use", "transpiration")
    assert trees == pytest.approx(6.0)
    assert grass == pytest.approx(0.3 * DAY["pan_evaporation"])
