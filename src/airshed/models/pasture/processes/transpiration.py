"""Transpiration of trees, which take water first, and of the pasture; the water that they leave in the soil."""

from airshed.formula import maximum, minimum, sin
from airshed.models.pasture.forms import clamp, layers, ratio
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
    tree_use_1 = flux("mm", "What trees take from layer 1", least=0.0)
    tree_use_2 = flux("mm", "What trees take from layer 2", least=0.0)
    tree_use_3 = flux("mm", "What trees take from layer 3", least=0.0)
    tree_use_4 = flux("mm", "What trees take from layer 4", least=0.0)

    def is_on(self) -> bool:
        """Whether there are trees."""
        return bool(self.on)

    @update("tree_water_index", *layers("tree_use"), "tree_water_use")
    def transpires(
        pan, use_of_basal_area, tree_basal_area, water_1, water_2, water_3, water_4,
        tree_limit_1, tree_limit_2, tree_limit_3, tree_limit_4,
        tree_uptake_1, tree_uptake_2, tree_uptake_3, tree_uptake_4,
        drained_upper_limit_1, drained_upper_limit_2, drained_upper_limit_3, drained_upper_limit_4,
    ):  # fmt: skip
        """Of the layers by what each supplies."""
        held = [
            maximum(water_1 - tree_limit_1, 0.0), maximum(water_2 - tree_limit_2, 0.0),
            maximum(water_3 - tree_limit_3, 0.0), maximum(water_4 - tree_limit_4, 0.0),
        ]  # fmt: skip
        most = [
            drained_upper_limit_1 - tree_limit_1, drained_upper_limit_2 - tree_limit_2,
            drained_upper_limit_3 - tree_limit_3, drained_upper_limit_4 - tree_limit_4,
        ]  # fmt: skip
        kl = [tree_uptake_1, tree_uptake_2, tree_uptake_3, tree_uptake_4]
        supply = [clamp(ratio(water, full), 0.0, 1.0) * part for water, full, part in zip(held, most, kl, strict=True)]
        total = sum(supply)
        index = minimum(total, 1.0)
        each = pan * minimum(1.0, use_of_basal_area * tree_basal_area) * ratio(index, total)
        used = [minimum(each * part, water) for part, water in zip(supply, held, strict=True)]
        return index, *used, sum(used)


def _supply(water, least, most, uptake, angle):
    """The index of the supply of a layer."""
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

    @update("soil_water_index", "ground_dryness", "transpiration", *layers("water"))
    def transpires(
        pan, height, transpiration_cover, screen_height, ground_factor, most_of_pan, tree_water_use,
        water_1, water_2, water_3, water_4, root_limit_1, root_limit_2, root_limit_3, root_limit_4,
        root_uptake_1, root_uptake_2, root_uptake_3, root_uptake_4,
        root_angle_1, root_angle_2, root_angle_3, root_angle_4,
        drained_upper_limit_1, drained_upper_limit_2, drained_upper_limit_3, drained_upper_limit_4,
        tree_use_1, tree_use_2, tree_use_3, tree_use_4,
    ):  # fmt: skip
        """Of the layers by what each supplies, and never more than it holds."""
        soil = (
            (water_1, root_limit_1, drained_upper_limit_1, root_uptake_1, root_angle_1, tree_use_1),
            (water_2, root_limit_2, drained_upper_limit_2, root_uptake_2, root_angle_2, tree_use_2),
            (water_3, root_limit_3, drained_upper_limit_3, root_uptake_3, root_angle_3, tree_use_3),
            (water_4, root_limit_4, drained_upper_limit_4, root_uptake_4, root_angle_4, tree_use_4),
        )
        supply = [_supply(water, least, most, uptake, angle) for water, least, most, uptake, angle, _ in soil]
        total = sum(supply)
        index = minimum(total, 1.0)
        dryness = clamp(1.0 + (ground_factor - 1.0) * (1.0 - height / screen_height), 1.0, ground_factor)
        heated = 1.0 + (dryness - 1.0) * (1.0 - supply[0])
        demand = clamp(pan * transpiration_cover * heated, 0.0, maximum(most_of_pan * pan - tree_water_use, 0.0))
        each = demand * ratio(index, total)
        used = [
            minimum(each * share, maximum(water - trees - least, 0.0))
            for share, (water, least, _, _, _, trees) in zip(supply, soil, strict=True)
        ]
        left = [water - trees - use for use, (water, _, _, _, _, trees) in zip(used, soil, strict=True)]
        return index, dryness, sum(used), *left
