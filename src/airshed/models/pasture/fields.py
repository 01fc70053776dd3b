"""Fields of the pasture model: state, parameters, and daily weather of a cell.

Water is in millimetres per layer, dry matter in kilograms per hectare. A missing layer has the thickness 0 and contains
no water. Numbers p001 to p317 are those of the published parameter lists of GRASP.

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
"""Soil layers from the top: 0-10, 10-50, 50-100 and below 100 cm in the published soils."""

DAY: Final = 86400.0
"""Length of a step [s]."""

_MOST: Final = {"mm": 1e4, "kg ha-1": 1e6}
"""Upper limits of stores: ten metres of water in a layer, a hundred kilograms of dry matter per square metre."""


def _field(name: str, unit: str, text: str, least: float = 0.0, most: float = inf) -> FieldSpec:
    return FieldSpec(name, CELLS, unit, text, valid=(least, most))


def _layered(name: str, unit: str, text: str) -> FieldSpec:
    """Return a field with a value for each soil layer: an array in processes, a field for each layer elsewhere."""
    return replace(_field(name, unit, text), dims=("layer", *CELLS))


def _amount(spec: FieldSpec) -> FieldSpec:
    """Return a store that users may set while the model runs, for instance by mowing or irrigation."""
    return replace(spec, valid=(0.0, _MOST[spec.unit]), settable=True)


POOLS: Final = ("green_leaf", "green_stem", "dead_leaf", "dead_stem")
"""Pools of standing dry matter."""

TOTALS: Final = (
    _field("rain_total", "mm", "Rain since the start"),
    _field("runoff_total", "mm", "Runoff since the start"),
    _field("soil_evaporation_total", "mm", "Evaporation from the soil since the start"),
    _field("transpiration_total", "mm", "Transpiration of the pasture since the start"),
    _field("tree_water_use_total", "mm", "Transpiration of trees since the start"),
    _field("drainage_total", "mm", "Drainage below the last layer since the start"),
    _field("growth_total", "kg ha-1", "Growth since the start"),
    _field("detachment_total", "kg ha-1", "Detachment since the start"),
    _field("eaten_total", "kg ha-1", "Dry matter eaten since the start"),
    _field("trampled_total", "kg ha-1", "Dry matter trampled since the start"),
    _field("burnt_total", "kg ha-1", "Standing dry matter burnt since the start"),
)
"""Sums of gains and losses since the start, for balances."""

_STATE: Final = (
    _amount(_layered("water", "mm", "Water")),
    _amount(_field("green_leaf", "kg ha-1", "Dry matter of green leaf")),
    _amount(_field("green_stem", "kg ha-1", "Dry matter of green stem")),
    _amount(_field("dead_leaf", "kg ha-1", "Dry matter of standing dead leaf")),
    _amount(_field("dead_stem", "kg ha-1", "Dry matter of standing dead stem")),
    _amount(_field("litter", "kg ha-1", "Dry matter of litter")),
    _field("basal_area", "%", "Basal area of grass, relative to the ground (p005)"),
    _field("nitrogen_transpiration", "mm", "Transpiration since nitrogen was reset"),
    _field("nitrogen_growth", "kg ha-1", "Growth since nitrogen was reset"),
    _field("height", "mm", "Height of the sward"),
    _field("summer_evapotranspiration", "mm", "Evapotranspiration of this summer"),
    _field("last_summer_basal_area", "%", "Basal area due to the water use of the previous summer"),
    _field("live_weight", "kg", "Live weight of an animal"),
    _field("eaten_since_reset", "kg ha-1", "Dry matter eaten since utilisation was reset"),
    _field("grown_since_reset", "kg ha-1", "Growth since utilisation was reset"),
    _field("evaporation_since_rain", "mm", "Potential evaporation from the soil since rain"),
    _field("stage_1", "mm", "Evaporation of the first stage since the soil was wet"),
    _field("stage_2", "mm", "Evaporation of the second stage since the soil was wet"),
    _field("stage_2_days", "d", "Days of the second stage"),
    *TOTALS,
)
"""State variables."""
USUAL_START: Final = {"live_weight": 200.0}
"""Nonzero default initial values: weight of an animal [kg]."""
SOIL_LAYERS: Final = ("air_dry", "lower_limit", "drained_upper_limit", "saturation")
"""Limits of the water in a soil layer; the amount of each is a field of every layer."""

SOIL: Final = (
    _field("curve_number", "1", "Runoff curve number of bare soil with medium wetness", most=100.0),
    _field("curve_number_reduction", "1", "Reduction of the curve number by full cover", most=100.0),
    _field("curve_number_cover", "1", "Surface cover at which the reduction of the curve number is complete", most=1.0),
    _field("evaporation_limit", "mm", "Maximum daily evaporation from the soil, by Rickert's method"),
    _field("first_stage_evaporation", "mm", "Evaporation until its second stage, by Ritchie's method"),
    _field("second_stage_evaporation", "mm", "Second-stage evaporation per square root of days, by Ritchie's method"),
    _field("diffusivity", "1", "Constant of diffusivity, for unsaturated flow"),
    _field("diffusivity_slope", "1", "Exponent of diffusivity for the water above 15 bar"),
    _field("albedo", "1", "Albedo of bare soil", most=1.0),
)
"""Properties of a soil other than those of its layers."""

PASTURE: Final = (
    _field("transpiration_yield", "kg ha-1", "Green dry matter with transpiration of half the pan evaporation (p045)"),
    _field("radiation_yield", "kg ha-1", "Green dry matter that intercepts half of the light (p046)"),
    _field("runoff_yield", "kg ha-1", "Standing dry matter with a cover of 0.5 for runoff (p271)"),
    _field("runoff_power", "1", "Shape of cover for runoff (p272)"),
    _field("transpiration_efficiency", "kg ha-1 mm-1", "Transpiration efficiency at a deficit of 20 hPa (p007)"),
    _field("tussock_growth", "kg ha-1", "Maximum daily regrowth per 1 % of basal area (p006)"),
    _field("nitrogen_residual", "kg ha-1", "Residual nitrogen of the plant (p097)"),
    _field("nitrogen_per_100mm", "kg ha-1", "Uptake of nitrogen per 100 mm of transpiration (p098)"),
    _field("nitrogen_limit", "kg ha-1", "Maximum uptake of nitrogen (p099)"),
    _field("nitrogen_no_growth", "%", "Nitrogen content of dry matter at which growth ends (p101)"),
    _field("nitrogen_full_growth", "%", "Minimum nitrogen content of dry matter for full growth (p102)"),
    _field("nitrogen_most", "%", "Maximum nitrogen content of dry matter (p100)"),
    _field("no_growth_water", "1", "Maximum soil water index without growth (p149)", most=1.0),
    _field("full_green_water", "1", "Minimum soil water index for full green cover (p009)", most=1.0),
    _field("dry_detachment", "d-1", "Daily detachment rate of dead matter in the dry season (p130, p131)", most=1.0),
    _field("wet_detachment", "d-1", "Daily detachment rate of dead matter in the wet season (p128, p129)", most=1.0),
    _field("dry_start", "d", "First day of the year of the dry season", least=1.0, most=366.0),
    _field("wet_start", "d", "Last day of the year of the dry season", least=1.0, most=366.0),
    _field("nitrogen_reset", "d", "Day of the year on which nitrogen is reset (p112)", least=1.0, most=366.0),
    _field("summer_start", "d", "First day of the year of summer", least=1.0, most=366.0),
    _field("summer_end", "d", "Last day of the year of summer", least=1.0, most=366.0),
    _field("height_per_yield", "mm ha kg-1", "Height of the sward per dry matter (p096 / 100)"),
    _field("basal_area_efficiency", "kg ha-1 mm-1", "Basal area per evapotranspiration of summer (p288)"),
)
"""Properties of a pasture other than those of its roots."""

_PARAMETERS: Final = (
    _layered("thickness", "mm", "Thickness"),
    _layered("air_dry", "mm", "Water of air-dry soil"),
    _layered("lower_limit", "mm", "Water at a tension of 15 bar"),
    _layered("drained_upper_limit", "mm", "Water at the drained upper limit"),
    _layered("saturation", "mm", "Water of saturated soil"),
    _layered("drainage_share", "1", "Daily drained fraction of water above the drained upper limit"),
    _layered("runoff_weight", "1", "Weight of the wetness for runoff"),
    _field("erosion_factor", "1", "Product of the factors of slope, slope length, erodibility and practice"),
    *SOIL,
    _layered("root_limit", "mm", "Water that grass cannot take up"),
    _layered("root_uptake", "1", "Supply of water to grass at the drained upper limit (kl), times the rooted fraction"),
    _layered("root_angle", "1", "Angle of the sine in the supply of water"),
    *PASTURE,
    _layered("tree_limit", "mm", "Water that trees cannot take up"),
    _layered("tree_uptake", "1", "Supply of water to trees at the drained upper limit (kl), times the rooted fraction"),
    _field("tree_basal_area", "m2 ha-1", "Basal area of trees"),
    _field("stocking", "ha-1", "Stocking rate"),
)
"""Constant parameters of a cell, from :mod:`airshed.models.pasture.classes`."""

WEATHER: Final = (
    _field("rain", "mm", "Daily rain", most=1200.0),
    _field("pan_evaporation", "mm", "Class A pan evaporation", most=35.0),
    _field("radiation", "MJ m-2", "Global radiation", most=45.0),
    _field("max_temperature", "degC", "Daily maximum temperature", least=-10.0, most=55.0),
    _field("min_temperature", "degC", "Daily minimum temperature", least=-20.0, most=42.0),
    _field("vapour_pressure", "hPa", "Vapour pressure", most=50.0),
    _field("vapour_pressure_deficit", "hPa", "Vapour pressure deficit", most=120.0),
    _field("day_of_year", "d", "Day of the year, from 1", least=1.0, most=366.0),
    _field("month", "1", "Month, from 1", least=1.0, most=12.0),
    _field("burnt_fraction", "1", "Fraction of standing dry matter and litter that burns", most=1.0),
    _field("prescribed_litter", "kg ha-1", "Prescribed litter at the end of the day", most=_MOST["kg ha-1"]),
)
"""Daily weather; a model has those fields of OPTIONAL_WEATHER that its case provides.

The ranges include the records of Australia: 1140 mm of rain, 50.7 and -23 degC.
"""
OPTIONAL_WEATHER: Final = ("vapour_pressure", "vapour_pressure_deficit", "burnt_fraction", "prescribed_litter")
"""Optional weather fields."""


def cell_fields(optional: Collection[str]) -> CellFields:
    """Return the fields of a model with some of the optional weather fields."""
    weather = [spec for spec in WEATHER if spec.name not in OPTIONAL_WEATHER or spec.name in optional]
    return CellFields(_STATE, _PARAMETERS, weather, {"layer": len(LAYERS)})


STATE: Final = cell_fields(()).flat.state
PARAMETERS: Final = cell_fields(()).flat.parameters
"""All state variables and all parameters, with a separate field for each layer: water_1 ... water_4."""
