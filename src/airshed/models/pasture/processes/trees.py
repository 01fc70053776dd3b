"""Water that trees take, before the grass does."""

from airshed.formula import maximum, minimum
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
