"""Transpiration of trees, which take water first, and of the pasture; the water that they leave in the soil."""

from airshed.formula import maximum, minimum, sin
from airshed.models.pasture.forms import clamp, ratio
from airshed.process import Process, flux, number, switch, update, weather


class Trees(Process, section="trees", order=70):
    """Water use of trees: Epan min(1, 0.5 A) min(1, sum s_i), s_i = kl_i f_i (W_i - LL_i) / (DUL_i - LL_i) in 0 to 1.

    A is their basal area. Source: Scanlan and McKeon (1993), in GRASP's form for APSIM.
    """

    on = switch(True, "Whether trees take water.")
    use_of_basal_area = number(0.5, "Part of pan evaporation that 1 m2/ha of basal area may use.", ge=0.0)
    pan = weather("pan_evaporation", "mm")
    tree_water_index = flux("1", "Supply of water to trees", least=0.0, most=1.0)
    tree_water_use = flux("mm", "Transpiration of trees", least=0.0)
    tree_use = flux("mm", "Water that trees take", axis="layer", least=0.0)

    def is_on(self) -> bool:
        """Whether there are trees."""
        return bool(self.on)

    @update("tree_water_index", "tree_use", "tree_water_use")
    def transpires(
        pan, use_of_basal_area, tree_basal_area, water, tree_limit, tree_uptake, drained_upper_limit
    ):  # fmt: skip
        """Of the layers by what each supplies."""
        held = maximum(water - tree_limit, 0.0)
        supply = clamp(ratio(held, drained_upper_limit - tree_limit), 0.0, 1.0) * tree_uptake
        total = sum(supply)
        index = minimum(total, 1.0)
        each = pan * minimum(1.0, use_of_basal_area * tree_basal_area) * ratio(index, total)
        used = minimum(each * supply, held)
        return index, used, sum(used)


def _supply(water, least, most, uptake, angle):
    """The index of the supply of each layer."""
    wave = sin(angle * clamp(ratio(water - least, most - least), 0.0, 1.0))
    return minimum(2.0 * uptake * wave * wave, 1.0)


class Transpiration(Process, section="transpiration", order=80):
    """Transpiration Epan ct k SWI: of pan evaporation, cover ct, the effect k of hot ground, and water in the soil.

    The supply of a layer is s = kl (1 - cos(r pi)) with r = (W - LL) / (DUL - LL) in 0 to 1, in the deepest layer with
    roots kl f (1 - cos(r pi / 2)); 1 - cos(2 x) is 2 sin(x)^2. The index SWI is their sum, at most 1.
    """

    screen_height = number(200.0, "Height of the sward at which the ground heats the air no more [mm] (p095).", gt=0.0)
    ground_factor = number(1.5, "How much drier the air is at bare ground than at the screen (p094).", ge=1.0)
    most_of_pan = number(1.3, "Most transpiration of trees and pasture, by pan evaporation.", ge=0.0)
    pan = weather("pan_evaporation", "mm")
    soil_water_index = flux("1", "Soil water index; the supply of water to the pasture", least=0.0, most=1.0)
    ground_dryness = flux("1", "How much drier the air is than at the screen", least=0.0)
    transpiration = flux("mm", "Transpiration of the pasture", least=0.0)

    @update("soil_water_index", "ground_dryness", "transpiration", "water")
    def transpires(
        pan, height, transpiration_cover, screen_height, ground_factor, most_of_pan, tree_water_use, tree_use, water,
        root_limit, root_uptake, root_angle, drained_upper_limit,
    ):  # fmt: skip
        """Of the layers by what each supplies, and never more than it holds."""
        supply = _supply(water, root_limit, drained_upper_limit, root_uptake, root_angle)
        total = sum(supply)
        index = minimum(total, 1.0)
        dryness = clamp(1.0 + (ground_factor - 1.0) * (1.0 - height / screen_height), 1.0, ground_factor)
        heated = 1.0 + (dryness - 1.0) * (1.0 - supply[0])
        demand = clamp(pan * transpiration_cover * heated, 0.0, maximum(most_of_pan * pan - tree_water_use, 0.0))
        used = minimum(demand * ratio(index, total) * supply, maximum(water - tree_use - root_limit, 0.0))
        return index, dryness, sum(used), water - tree_use - used
