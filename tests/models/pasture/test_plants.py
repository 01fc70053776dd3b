"""Plants of a day against hand calculation: nitrogen, growth, death, litter, fire, animals, basal area, erosion."""

from math import exp, log

import pytest
from tests.models.pasture.days import HUMID, day, land, model, plain, start

SITE67 = land()
POOLS = ("green_leaf", "green_stem", "dead_leaf", "dead_stem")


def nitrogen(transpired: float, grown: float, **settings: object) -> list[float]:
    cell = {**SITE67, "nitrogen_limit": 20.0}
    state = start(cell, nitrogen_transpiration=transpired, nitrogen_growth=grown)
    found = day(model(only=("Nitrogen",), nitrogen=settings), cell, state)
    return plain(found, "nitrogen_uptake", "nitrogen_index")


def test_nitrogen() -> None:
    assert nitrogen(20.0, 3333.3333333333333) == pytest.approx([15.0, 0.5]), "0.45 % lies between 0.4 and 0.5 %"
    assert nitrogen(0.0, 0.0) == [0.0, 1.0], "without growth"
    assert nitrogen(0.0, 10.0) == [0.0, 0.0], "without transpiration and uptake"
    assert nitrogen(100.0, 1000.0) == [20.0, 1.0]
    assert nitrogen(100.0, 1000.0, limited=False)[0] == 55.0
    assert nitrogen(20.0, -5.0)[1] == 1.0, "after a reset"


def test_growth_from_tussocks() -> None:
    cell = {**SITE67, "transpiration_efficiency": 0.0}
    found = day(model(), cell, start(cell, 1.0, basal_area=4.4))
    rix = 1.0 - exp(-20.0 / 8.97)
    assert plain(found, "temperature_index", "radiation_index") == pytest.approx([1.0, rix])
    assert plain(found, "growth_index", "growth", "leaf_growth") == pytest.approx([rix, 44.0 * rix, 44.0 * rix])
    assert plain(found, "green_leaf", "green_stem", "nitrogen_growth") == pytest.approx([44.0 * rix, 0.0, 44.0 * rix])
    assert plain(found, "standing_dry_matter", "green", "dead") == pytest.approx([44.0 * rix, 44.0 * rix, 0.0])


def test_growth_by_water_and_by_light() -> None:
    state = start(SITE67, 1.0, green_leaf=800.0, green_stem=800.0, height=100.0)
    found = day(model(), SITE67, state, max_temperature=22.0, min_temperature=16.0)
    transpired = float(found["transpiration"])
    by_water = transpired * 25.0 * 20.0 / (15.0 * 1.25)
    by_light = 12.0 * 0.5 * 20.0 * 0.5
    assert plain(found, "temperature_index") == pytest.approx([0.5])
    assert by_light < by_water
    assert plain(found, "growth", "leaf_growth") == pytest.approx([by_light, 0.5 * by_light])
    dull = day(model(), SITE67, state, vapour_pressure_deficit=100.0)
    assert plain(dull, "growth") == pytest.approx([float(dull["transpiration"]) * 25.0 * 20.0 / 125.0])
    moist = day(model(), {**SITE67, "transpiration_efficiency": 0.2}, state, vapour_pressure_deficit=0.3)
    assert plain(moist, "growth") == pytest.approx([float(moist["transpiration"]) * 0.2 * 20.0]), "a deficit of 1 hPa"


@pytest.mark.parametrize(
    ("mean", "index"), [(10.0, 0.0), (19.0, 0.5), (24.0, 1.0), (45.0, 1.0), (47.5, 0.5), (52.0, 0.0)]
)
def test_temperature_index(mean: float, index: float) -> None:
    found = day(model(), SITE67, start(SITE67), max_temperature=mean + 5.0, min_temperature=mean - 5.0)
    assert plain(found, "temperature_index") == pytest.approx([index])


def test_equal_thresholds_make_a_step() -> None:
    sudden = model(growth={"coldest_growth": 24.0, "last_best": 50.0}, death={"frost_start": 0.0})
    for mean, index, part in ((24.0, 0.0, 0.002), (24.1, 1.0, 0.002), (50.0, 0.0, 0.002), (-0.1, 0.0, 1.0)):
        state = start(SITE67, 1.0, green_leaf=100.0)
        found = day(sudden, SITE67, state, max_temperature=mean, min_temperature=mean, pan_evaporation=0.0)
        assert plain(found, "temperature_index", "death") == pytest.approx([index, 100.0 * part])


def test_no_growth_with_too_little_water() -> None:
    cell = {**SITE67, "no_growth_water": 0.99}
    assert plain(day(model(), cell, start(cell, 0.3, basal_area=4.4)), "growth") == [0.0]
    cell = {**SITE67, "no_growth_water": 0.1}
    assert float(day(model(), cell, start(cell, 0.3, basal_area=4.4))["growth"]) > 0.0


def dead(parameters: dict, wetness: float, weather: float, drought: str = "published") -> list[float]:
    state = start(parameters, wetness, green_leaf=800.0, green_stem=400.0)
    points = model(death={"drought": drought})
    found = day(points, parameters, state, min_temperature=weather, pan_evaporation=0.0)
    return plain(found, "death", "green_leaf", "green_stem", "growth")


def test_drought_equals_the_published_one() -> None:
    cell = {**land("capella", "capella"), "tree_basal_area": 0.0}
    death, leaf, stem, grown = dead(cell, 0.0, 20.0)
    assert death == pytest.approx(5.0 / 9.0 * 1200.0)
    assert (leaf, stem, grown) == pytest.approx((800.0 / 3.0, 400.0 * 2.0 / 3.0, 0.0))
    assert dead(cell, 0.0, 20.0, "strict")[:3] == pytest.approx([1200.0, 0.0, 0.0])


def test_frost_and_age() -> None:
    cell = {**SITE67, "full_green_water": 0.0, "tree_basal_area": 0.0}
    assert dead(cell, 1.0, 1.5)[0] == pytest.approx(0.25 * 1200.0)
    assert dead(cell, 1.0, -3.0)[0] == pytest.approx(1200.0)
    assert dead(cell, 1.0, 20.0)[0] == pytest.approx(0.002 * 1200.0)
    parched = {**cell, "full_green_water": 1e-9}
    assert dead({**parched, "transpiration_yield": 1e9}, 0.0, 20.0)[0] == pytest.approx(1200.0 * 5.0 / 9.0)


def test_drought_leaves_the_cover_that_water_supports() -> None:
    cell = {**land("regression", "regression"), "full_green_water": 1.0, "transpiration_yield": 500.0}
    state = start(cell, 0.2, green_leaf=1000.0)
    found = day(model(), cell, state, pan_evaporation=0.0)
    water = float(found["soil_water_index"])
    most = -log(1.0 - water) * 500.0 / log(2.0)
    assert 0.0 < most < 1000.0
    assert plain(found, "death") == pytest.approx([1000.0 - most])


def test_detachment_and_height_lag() -> None:
    cell = {**SITE67, "wet_detachment": 0.01}
    state = start(cell, dead_leaf=1000.0, dead_stem=3000.0, height=50.0)
    for of_year, share in ((120.0, 0.01), (121.0, 0.005), (334.0, 0.005), (335.0, 0.01)):
        found = day(model(), cell, state, day_of_year=of_year)
        assert plain(found, "detachment", "dead_leaf") == pytest.approx([4000.0 * share, 1000.0 * (1.0 - share)])
        assert plain(found, "height") == pytest.approx([400.0]), "of the morning"


def test_litter() -> None:
    points, state = model(), start(SITE67, dead_leaf=1000.0, litter=500.0, evaporation_since_rain=10.0)
    found = day(points, SITE67, state, max_temperature=12.0, min_temperature=8.0, day_of_year=200.0)
    since = 10.0 + float(found["potential_soil_evaporation"])
    decay = 0.03 * (1.0 - since / 20.0) * 0.25 * 500.0
    assert plain(found, "evaporation_since_rain", "litter_decay") == pytest.approx([since, decay])
    assert plain(found, "litter") == pytest.approx([500.0 + 5.0 - decay])
    rainy = day(points, SITE67, state, rain=4.5)
    assert plain(rainy, "evaporation_since_rain", "litter_decay") == pytest.approx([0.0, 15.0])
    assert float(day(points, SITE67, state, rain=4.0)["evaporation_since_rain"]) > 10.0
    assert plain(day(points, SITE67, {**state, "evaporation_since_rain": 30.0}), "litter_decay") == [0.0]
    for animals in ({}, {"on": True, "stocking_rate": 1.0}):
        given = model((*HUMID, "prescribed_litter"), grazing=animals)
        found = day(given, SITE67, {**state, "live_weight": 300.0}, prescribed_litter=123.0)
        assert plain(found, "litter", "litter_decay") == [123.0, 0.0], "prescribed litter includes trampled matter"
        assert (float(found["trampled_total"]) > 1.0) is bool(animals)


def test_fire_comes_first() -> None:
    state = start(SITE67, green_leaf=100.0, green_stem=200.0, dead_leaf=300.0, dead_stem=400.0, litter=500.0)
    for burns, litter in ((True, 250.0), (False, 500.0)):
        points = model((*HUMID, "burnt_fraction"), ("Fire",), fire={"litter_burns": burns})
        found = day(points, SITE67, state, burnt_fraction=0.5)
        assert plain(found, *POOLS, "litter", "burnt") == [50.0, 100.0, 150.0, 200.0, litter, 500.0]
    whole = day(model((*HUMID, "burnt_fraction")), SITE67, state, burnt_fraction=1.0)
    assert plain(whole, "total_cover") == [0.0], "cover is computed after the fire"
    assert plain(day(model(), SITE67, state), "burnt") == [0.0]


def test_resets() -> None:
    state = start(SITE67, 1.0, basal_area=4.4, green_leaf=1000.0, nitrogen_transpiration=100.0, nitrogen_growth=1000.0)
    for word, to in (("zero", (0.0, 0.0)), ("coded", None)):
        points = model(resets={"nitrogen": word})
        before = day(points, SITE67, state, day_of_year=257.0)
        transpired, grown = plain(before, "transpiration", "growth")
        assert grown > 0.0
        sums = plain(before, "nitrogen_transpiration", "nitrogen_growth")
        assert sums == pytest.approx([100.0 + transpired, 1000.0 + grown])
        after = plain(day(points, SITE67, state, day_of_year=258.0), "nitrogen_transpiration", "nitrogen_growth")
        assert after == pytest.approx(list(to or (transpired, -grown)))


NAMES = [
    "Fire", "Humidity", "Cover", "Runoff", "Drainage", "SoilEvaporation", "Nitrogen", "Trees", "Transpiration",
    "Growth", "Detachment", "Death", "Regrowth", "Litter", "Grazing", "StandingMatter",
]  # fmt: skip

GRAZED = start(SITE67, green_leaf=300.0, green_stem=100.0, dead_leaf=200.0, dead_stem=400.0, live_weight=200.0)
SINGLE = {"grazing": {"on": True, "stocking_rate": 0.5}}


def test_animals_eat_leaf_first_and_green_first() -> None:
    state = {**GRAZED, "eaten_since_reset": 100.0, "grown_since_reset": 1000.0, "live_weight": 400.0}
    points = model(only=tuple(set(NAMES) - {"Detachment", "Death", "Regrowth", "Litter"}), **SINGLE)
    found = day(points, SITE67, state, month=7.0, pan_evaporation=0.0, day_of_year=200.0)
    intake = min(20.0, 1.0, 1.05 - 0.03) * (10.0 / 91.25 + 1.058) / 0.304
    eaten = 0.5 * 2.0**0.75 * intake
    assert plain(found, "intake", "eaten") == pytest.approx([intake, eaten])
    assert plain(found, "live_weight_gain") == pytest.approx([10.0 / 91.25])
    preferred = (0.4 - 0.1) / 0.9
    share = 19.0 * preferred / (1.0 + 18.0 * preferred)
    a = 0.85 / 0.15
    leaf = a * 0.75 / (1.0 + (a - 1.0) * 0.75)
    assert plain(found, "green_leaf", "green_stem") == pytest.approx(
        [300.0 - share * eaten * leaf, 100.0 - share * eaten * (1.0 - leaf)]
    )
    assert plain(found, "trampled", "litter") == pytest.approx([eaten / 3.0, eaten / 3.0])
    gone = 1000.0 - eaten - eaten / 3.0
    assert sum(plain(found, *POOLS)) == pytest.approx(gone)
    assert plain(found, "eaten_since_reset", "utilisation") == pytest.approx([100.0 + eaten, (100.0 + eaten) / 1000.0])


def test_intake_is_at_most_the_dry_matter() -> None:
    state = start(SITE67, green_leaf=3.0, dead_stem=2.0, live_weight=300.0)
    found = day(model(grazing={"on": True, "stocking_rate": 1000.0}), SITE67, state, pan_evaporation=0.0, rain=0.0)
    assert float(found["eaten"]) == pytest.approx(5.0, rel=0.01)
    assert all(value >= 0.0 for value in plain(found, *POOLS))
    assert float(found["standing_dry_matter"]) < 1e-9
    assert 299.9 > float(found["live_weight"]) > 298.0, "a hungry animal loses weight"


def test_an_animal_without_weight_has_the_minimum() -> None:
    found, least = (day(model(**SINGLE), SITE67, {**GRAZED, "live_weight": weight}) for weight in (0.0, 50.0))
    assert plain(found, "eaten", "live_weight") == plain(least, "eaten", "live_weight")
    assert float(least["eaten"]) > 0.0


def test_the_herd_of_a_new_year_and_its_reset() -> None:
    state = {**GRAZED, "eaten_since_reset": 100.0, "grown_since_reset": 1000.0, "live_weight": 400.0}
    found = day(model(**SINGLE), SITE67, state, day_of_year=335.0, month=12.0)
    assert plain(found, "eaten_since_reset", "live_weight") == [0.0, 200.0]
    assert plain(found, "grown_since_reset") == pytest.approx([float(found["green_leaf"]) + float(found["green_stem"])])
    stays = model(grazing={"on": True, "stocking_rate": 0.5, "new_weight": 0.0, "supplement": True})
    assert plain(day(stays, SITE67, state, day_of_year=335.0, month=12.0), "live_weight") == pytest.approx(
        [400.0 + 70.0 / 91.25]
    )


@pytest.mark.parametrize(
    ("month", "gain"), [(12, 70), (1, 70), (2, 70), (3, 25), (5, 25), (6, 10), (8, 10), (9, 25), (11, 25)]
)
def test_gains_follow_the_season(month: int, gain: float) -> None:
    found = day(model(**SINGLE), SITE67, {**GRAZED, "green_leaf": 9000.0}, month=float(month))
    assert plain(found, "live_weight_gain") == pytest.approx([gain / 91.25])


def test_animals_of_the_case_are_added_to_those_of_the_cell() -> None:
    eaten = [
        float(day(model(grazing={"on": True, **rate}), {**SITE67, "stocking": 0.2}, GRAZED)["eaten"])
        for rate in ({}, {"stocking_rate": 0.2}, {"stocking_rate": 0.4})
    ]
    assert eaten == pytest.approx([eaten[0], 2.0 * eaten[0], 3.0 * eaten[0]])


def test_basal_area_follows_two_summers() -> None:
    points = model(basal_area={"varies": True})
    cell = {**SITE67, "basal_area_efficiency": 5.0}
    state = start(cell, 1.0, basal_area=2.0, summer_evapotranspiration=300.0, last_summer_basal_area=1.2)
    names = ("basal_area", "summer_evapotranspiration", "last_summer_basal_area")
    summer = day(points, cell, state, day_of_year=100.0)
    used = 300.0 + float(summer["soil_evaporation"]) + float(summer["transpiration"])
    assert plain(summer, *names) == pytest.approx([2.0, used, 1.2])
    assert plain(day(points, cell, state, day_of_year=200.0), *names) == pytest.approx([2.0, 300.0, 1.2])
    assert plain(day(points, cell, state, day_of_year=120.0), *names) == pytest.approx(
        [1.2 + 0.005 * used, 0.0, 0.005 * used]
    )
    wet = day(points, cell, {**state, "summer_evapotranspiration": 9000.0}, day_of_year=120.0)
    assert plain(wet, "basal_area") == [9.0]
    assert "basal_area" not in model().outputs


def test_erosion() -> None:
    points = model(erosion={"on": True})
    cell = {**SITE67, "erosion_factor": 0.04}
    for dead_matter, sediment in ((0.0, 16.52), (2000.0, 16.52 - 9.2 + 1.24), (8000.0, 2.54 - 0.0254 * 80.0)):
        found = day(points, cell, start(cell, 1.0, dead_leaf=dead_matter), rain=80.0)
        assert float(found["runoff"]) > 1.0
        assert plain(found, "soil_loss") == pytest.approx([0.1 * sediment * 0.04 * float(found["runoff"])])


def test_totals_close_the_balances_of_a_day() -> None:
    state = {**GRAZED, "litter": 100.0, "basal_area": 4.4}
    found = day(model((*HUMID, "burnt_fraction"), **SINGLE), SITE67, state, rain=50.0, burnt_fraction=0.1)
    rain, *lost = plain(
        found, "rain_total", "runoff_total", "soil_evaporation_total", "transpiration_total", "tree_water_use_total",
        "drainage_total",
    )  # fmt: skip
    water = [f"water_{n}" for n in (1, 2, 3, 4)]
    assert sum(plain(found, *water)) - sum(plain(state, *water)) == pytest.approx(rain - sum(lost), abs=1e-10)
    grown, *gone = plain(
        found, "growth_total", "detachment_total", "eaten_total", "trampled_total", "burnt_total"
    )  # fmt: skip
    assert all(value > 0.0 for value in (grown, *gone[1:]))
    assert sum(plain(found, *POOLS)) - 1000.0 == pytest.approx(grown - sum(gone), abs=1e-10)
