"""The fields of the pasture model: what a cell has in it, what it is like, and the weather of its day.

Water is in millimetres per layer, dry matter in kilograms per hectare. A layer that is not there has the thickness 0
and holds nothing. Numbers p001 to p317 are those of the published parameter lists of GRASP.

Source: McKeon et al., Northern Australian savannas: management for pastoral production (1990); Carter et al. (2000),
Australian grassland and rangeland assessment by spatial simulation (Aussie-GRASS).
"""

from collections.abc import Collection
from dataclasses import replace
from math import inf
from typing import Final

from airshed.core.fields import FieldSpec
from airshed.process.points import CellFields

CELLS: Final = ("cell",)
LAYERS: Final = (1, 2, 3, 4)
"""Of the soil, from the top: 0-10, 10-50, 50-100 and below 100 cm in the published soils."""

DAY: Final = 86400.0
"""Length of a step [s]."""

_MOST: Final = {"mm": 1e4, "kg ha-1": 1e6}
"""What no layer of soil and no sward holds: ten metres of water, a hundred kilograms on a square metre."""


def _field(name: str, unit: str, text: str, least: float = 0.0, most: float = inf) -> FieldSpec:
    return FieldSpec(name, CELLS, unit, text, valid=(least, most))


def _layered(name: str, unit: str, text: str) -> FieldSpec:
    """A field with a value in each layer of the soil: an array in processes, a field for each layer outside of them."""
    return replace(_field(name, unit, text), dims=("layer", *CELLS))


def _amount(spec: FieldSpec) -> FieldSpec:
    """A store that may be set while the model runs: burnt, mown, watered."""
    return replace(spec, valid=(0.0, _MOST[spec.unit]), settable=True)


POOLS: Final = ("green_leaf", "green_stem", "dead_leaf", "dead_stem")
"""The fields of standing dry matter."""

TOTALS: Final = (
    _field("rain_total", "mm", "Rain since the start"),
    _field("runoff_total", "mm", "Runoff since the start"),
    _field("soil_evaporation_total", "mm", "Evaporation from the soil since the start"),
    _field("transpiration_total", "mm", "Transpiration of the pasture since the start"),
    _field("tree_water_use_total", "mm", "Transpiration of trees since the start"),
    _field("drainage_total", "mm", "Drainage below the last layer since the start"),
    _field("growth_total", "kg ha-1", "Growth since the start"),
    _field("detachment_total", "kg ha-1", "What fell off since the start"),
    _field("eaten_total", "kg ha-1", "What was eaten since the start"),
    _field("trampled_total", "kg ha-1", "What was trampled since the start"),
    _field("burnt_total", "kg ha-1", "Standing dry matter that burnt since the start"),
)
"""What came and went since the start, for balances."""

_STATE: Final = (
    _amount(_layered("water", "mm", "Water")),
    _amount(_field("green_leaf", "kg ha-1", "Dry matter of green leaf")),
    _amount(_field("green_stem", "kg ha-1", "Dry matter of green stem")),
    _amount(_field("dead_leaf", "kg ha-1", "Dry matter of dead leaf that stands")),
    _amount(_field("dead_stem", "kg ha-1", "Dry matter of dead stem that stands")),
    _amount(_field("litter", "kg ha-1", "Dry matter of litter")),
    _field("basal_area", "%", "Ground that is covered by the bases of grass (p005)"),
    _field("nitrogen_transpiration", "mm", "Transpiration since nitrogen was reset"),
    _field("nitrogen_growth", "kg ha-1", "Growth since nitrogen was reset"),
    _field("height", "mm", "Height of the sward"),
    _field("summer_evapotranspiration", "mm", "Evaporation and transpiration of this summer"),
    _field("last_summer_basal_area", "%", "Basal area due to the water use of the summer before"),
    _field("live_weight", "kg", "Live weight of an animal"),
    _field("eaten_since_reset", "kg ha-1", "What was eaten since utilisation was reset"),
    _field("grown_since_reset", "kg ha-1", "What grew since utilisation was reset"),
    _field("evaporation_since_rain", "mm", "Potential evaporation from the soil since it rained"),
    _field("stage_1", "mm", "Evaporation of the first stage since the soil was wet"),
    _field("stage_2", "mm", "Evaporation of the second stage since the soil was wet"),
    _field("stage_2_days", "d", "Days of the second stage"),
    *TOTALS,
)
"""Fields that a day changes."""

USUAL_START: Final = {"live_weight": 200.0}
"""Fields of the state that are not 0 at a start which does not have them: an animal weighs something [kg]."""

SOIL_LAYERS: Final = ("air_dry", "lower_limit", "drained_upper_limit", "saturation")
"""Limits of the water in a layer of soil: the amount of each is a field of every layer."""

SOIL: Final = (
    _field("curve_number", "1", "Runoff curve number of bare soil of medium wetness", most=100.0),
    _field("curve_number_reduction", "1", "What full cover takes from the curve number", most=100.0),
    _field("curve_number_cover", "1", "Surface cover from which on the curve number falls no more", most=1.0),
    _field("evaporation_limit", "mm", "Most evaporation from the soil in a day, by Rickert's method"),
    _field("first_stage_evaporation", "mm", "Evaporation until its second stage, by Ritchie's method"),
    _field("second_stage_evaporation", "mm", "Second stage in a day, times the root of days, by Ritchie's method"),
    _field("diffusivity", "1", "Constant of diffusivity, for flow of unsaturated soil"),
    _field("diffusivity_slope", "1", "Its exponent for the water above 15 bar"),
    _field("albedo", "1", "Albedo of bare soil", most=1.0),
)
"""Properties of a soil that are not those of its layers."""

PASTURE: Final = (
    _field("transpiration_yield", "kg ha-1", "Green dry matter that transpires half of pan evaporation (p045)"),
    _field("radiation_yield", "kg ha-1", "Green dry matter that takes up half of the light (p046)"),
    _field("runoff_yield", "kg ha-1", "Standing dry matter whose cover for runoff is a half (p271)"),
    _field("runoff_power", "1", "Shape of cover for runoff (p272)"),
    _field("transpiration_efficiency", "kg ha-1 mm-1", "Growth by transpiration at a deficit of 20 hPa (p007)"),
    _field("tussock_growth", "kg ha-1", "Most regrowth in a day by 1 % of basal area (p006)"),
    _field("nitrogen_residual", "kg ha-1", "Nitrogen that is always in the plant (p097)"),
    _field("nitrogen_per_100mm", "kg ha-1", "Uptake of nitrogen by 100 mm of transpiration (p098)"),
    _field("nitrogen_limit", "kg ha-1", "Most uptake of nitrogen (p099)"),
    _field("nitrogen_no_growth", "%", "Nitrogen in dry matter at which growth ends (p101)"),
    _field("nitrogen_full_growth", "%", "Nitrogen in dry matter from which on growth is full (p102)"),
    _field("nitrogen_most", "%", "Most nitrogen in dry matter (p100)"),
    _field("no_growth_water", "1", "Soil water index up to which nothing grows (p149)", most=1.0),
    _field("full_green_water", "1", "Soil water index from which on all may stay green (p009)", most=1.0),
    _field(
        "dry_detachment", "d-1", "Share of dead matter that falls off in a day of the dry season (p130, p131)", most=1.0
    ),
    _field(
        "wet_detachment", "d-1", "Share of dead matter that falls off in a day of the wet season (p128, p129)", most=1.0
    ),
    _field("dry_start", "d", "First day of the year of the dry season", least=1.0, most=366.0),
    _field("wet_start", "d", "Last day of the year of the dry season", least=1.0, most=366.0),
    _field("nitrogen_reset", "d", "Day of the year on which nitrogen is reset (p112)", least=1.0, most=366.0),
    _field("summer_start", "d", "First day of the year of summer", least=1.0, most=366.0),
    _field("summer_end", "d", "Last day of the year of summer", least=1.0, most=366.0),
    _field("height_per_yield", "mm ha kg-1", "Height of the sward by its dry matter (p096 / 100)"),
    _field("basal_area_efficiency", "kg ha-1 mm-1", "Basal area by evapotranspiration of summer (p288)"),
)
"""Properties of a pasture that are not those of its roots."""

_PARAMETERS: Final = (
    _layered("thickness", "mm", "Thickness"),
    _layered("air_dry", "mm", "Water of air-dry soil"),
    _layered("lower_limit", "mm", "Water at a tension of 15 bar"),
    _layered("drained_upper_limit", "mm", "Water that does not drain"),
    _layered("saturation", "mm", "Water of saturated soil"),
    _layered("drainage_share", "1", "Share of the water above the drained upper limit that drains in a day"),
    _layered("runoff_weight", "1", "Weight of the wetness for runoff"),
    _field("erosion_factor", "1", "Slope, length, erodibility and practice, multiplied"),
    *SOIL,
    _layered("root_limit", "mm", "Water that grass cannot take"),
    _layered("root_uptake", "1", "Supply of water to grass at the drained upper limit (kl), times its rooted part"),
    _layered("root_angle", "1", "Angle whose sine makes the supply of water at the drained upper limit"),
    *PASTURE,
    _layered("tree_limit", "mm", "Water that trees cannot take"),
    _layered("tree_uptake", "1", "Supply of water to trees at the drained upper limit (kl), times its rooted part"),
    _field("tree_basal_area", "m2 ha-1", "Basal area of trees"),
    _field("stocking", "ha-1", "Animals on a hectare"),
)
"""What stays as it is in a cell; :mod:`airshed.models.pasture.classes` makes it of classes of soil and pasture."""

WEATHER: Final = (
    _field("rain", "mm", "Rain of the day", most=1200.0),
    _field("pan_evaporation", "mm", "Evaporation of a class A pan", most=35.0),
    _field("radiation", "MJ m-2", "Radiation of sun and sky", most=45.0),
    _field("max_temperature", "degC", "Highest temperature of the day", least=-10.0, most=55.0),
    _field("min_temperature", "degC", "Lowest temperature of the day", least=-20.0, most=42.0),
    _field("vapour_pressure", "hPa", "Vapour pressure", most=50.0),
    _field("vapour_pressure_deficit", "hPa", "Deficit of vapour pressure", most=120.0),
    _field("day_of_year", "d", "Day of the year, from 1 on", least=1.0, most=366.0),
    _field("month", "1", "Month, from 1 on", least=1.0, most=12.0),
    _field("burnt_fraction", "1", "What burns of the dry matter that stands or lies", most=1.0),
    _field("prescribed_litter", "kg ha-1", "Litter at the end of the day, where it is given", most=_MOST["kg ha-1"]),
)
"""Weather of each day; a model has those of OPTIONAL_WEATHER that its case gives.

Of the ends: Australia's records are 1140 mm of rain, 50.7 and -23 degC.
"""

OPTIONAL_WEATHER: Final = ("vapour_pressure", "vapour_pressure_deficit", "burnt_fraction", "prescribed_litter")
"""Weather that a model may do without."""


def cell_fields(optional: Collection[str]) -> CellFields:
    """Return the fields of a model that has some of the optional weather."""
    weather = [spec for spec in WEATHER if spec.name not in OPTIONAL_WEATHER or spec.name in optional]
    return CellFields(_STATE, _PARAMETERS, weather, {"layer": len(LAYERS)})


STATE: Final = cell_fields(()).flat.state
PARAMETERS: Final = cell_fields(()).flat.parameters
"""All fields of the state, and all parameters, those of layers one by one: water_1 ... water_4."""
