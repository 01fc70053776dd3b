"""Classes of soil, pasture and trees, including published ones, and the parameters of cells that follow from them.

    parameters = cell_parameters(Land([soil], [pasture]), soil_of_cell, pasture_of_cell)

Weights of layers for runoff, where z is the depth of the bottom of a layer. The depth h is the runoff depth, or the
depth of the profile if it is smaller:

    w_i = k(z_i) - k(z_i-1)        k(z) = (1 - exp(-4.16 z / h)) / (1 - exp(-4.16))

Slope factor of soil loss, for the slope S and its length l [m]:

    LS = (l / 22.1)^(0.6 (1 - exp(-35.835 S))) (65.41 S^2 + 4.56 S + 0.065)

Source: Littleboy et al. (1989), PERFECT, for both; Freebairn's form of the universal soil loss equation.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import inf, pi
from typing import Annotated, Any, Final, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError, create_model, model_validator

from airshed.case.messages import explain
from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.core.settings import Number, Section, refuse, setting
from airshed.core.text import suggestion
from airshed.models.pasture.fields import LAYERS, PASTURE, SOIL, SOIL_LAYERS

Index = npt.NDArray[np.integer[Any]]
Layered = Annotated[tuple[Annotated[Number, Field(ge=0.0)], ...], Field(min_length=1, max_length=len(LAYERS))]
Thickness = Annotated[tuple[Annotated[Number, Field(gt=0.0)], ...], Field(min_length=1, max_length=len(LAYERS))]
Share = Annotated[tuple[Annotated[Number, Field(ge=0.0, le=1.0)], ...], Field(min_length=1, max_length=len(LAYERS))]

_DEFAULTS: Final[Mapping[str, float]] = {
    "evaporation_limit": 6.0, "runoff_yield": 1150.0, "runoff_power": 0.95, "nitrogen_most": 2.5,
    "height_per_yield": 0.1, "basal_area_efficiency": 0.0,
}  # fmt: skip
"""Values that are the same in all published sets, or that only an option needs."""


def _settings(specs: tuple[FieldSpec, ...]) -> dict[str, Any]:
    """Return a setting for each field, with its unit and its range."""
    found: dict[str, Any] = {}
    for spec in specs:
        least, most = spec.valid or (0.0, inf)
        bounds: dict[str, Any] = {"ge": least} if most == inf else {"ge": least, "le": most}
        found[spec.name] = Number, setting(_DEFAULTS.get(spec.name, ...), spec.text, unit=spec.unit, **bounds)
    return found


class _Class(Section):
    text: str = setting("", "Description.")
    source: str = setting("this file", "Source of the numbers.")


class _Soil(_Class):
    thickness: Thickness = setting(..., "Thickness of layers, from the top.", unit="mm")
    air_dry: Share = setting(..., "Water content of air-dry soil.", unit="mm mm-1")
    lower_limit: Share = setting(..., "Water content at a tension of 15 bar.", unit="mm mm-1")
    drained_upper_limit: Share = setting(..., "Water content after drainage.", unit="mm mm-1")
    saturation: Share = setting(..., "Water content of saturated soil.", unit="mm mm-1")
    drainage_share: Share = setting(..., "Daily drained fraction of water above the drained upper limit.", unit="1")
    runoff_depth: Number = setting(450.0, "Depth of soil whose wetness affects runoff.", unit="mm", gt=0.0)
    slope: Number = setting(0.0, "Slope of the ground, for soil loss.", unit="1", ge=0.0)
    slope_length: Number = setting(22.1, "Length of the slope.", unit="m", gt=0.0)
    erodibility: Number = setting(0.0, "Erodibility of the soil (K).", unit="1", ge=0.0)
    practice: Number = setting(1.0, "Practice factor of erosion (P).", unit="1", ge=0.0)

    @model_validator(mode="after")
    def _layers_fit(self) -> Self:
        rows = [getattr(self, name) for name in SOIL_LAYERS]
        for name in (*SOIL_LAYERS, "drainage_share"):
            if len(getattr(self, name)) != len(self.thickness):
                raise refuse(f"{name} must have {len(self.thickness)} values, one for each layer of thickness")
        for layer, limits in enumerate(zip(*rows, strict=True), start=1):
            if list(limits) != sorted(limits):
                raise refuse(f"layer {layer}: {', '.join(SOIL_LAYERS)} must increase in this order, but are {limits}")
        return self


class _Pasture(_Class):
    basal_area: Number = setting(..., "Initial basal area (p005).", unit="%", ge=0.0, le=100.0)
    root_depth: Number = setting(..., "Depth of roots.", unit="mm", ge=0.0)
    root_uptake: Layered = setting(..., "Supply of water at the drained upper limit (kl).", unit="1")
    root_limit: Share | None = setting(
        None, "Water content that roots cannot take up; by default the lower limit.", unit="mm mm-1"
    )


class Trees(_Class):
    """Trees of a land type, with their uptake of water."""

    root_depth: Number = setting(1250.0, "Depth of roots (p296).", unit="mm", ge=0.0)
    root_uptake: Layered = setting(
        (0.5, 0.5, 0.5, 0.5), "Supply of water at the drained upper limit (kl).", unit="1"
    )  # fmt: skip
    root_limit: Share | None = setting(None, "Water content that roots cannot take up; by default the lower limit.")


Soil: Any = create_model("Soil", __base__=_Soil, **_settings(SOIL))
"""Class of soil."""

Pasture: Any = create_model("Pasture", __base__=_Pasture, **_settings(PASTURE))
"""Class of pasture."""

_PUBLISHED: Final[Mapping[str, Any]] = {"soil": Soil, "pasture": Pasture}


@cache
def published(kind: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the published soils ("soil") or pastures ("pasture") by name, as plain values."""
    text = (files("airshed.models.pasture") / "sets" / f"{kind}s.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def read_class(kind: str, values: Mapping[str, Any], where: str = "") -> Any:
    """Return a class of soil or pasture from plain values, or from a published `set` and the values that differ.

    where  name of the values in messages

    Raises CaseError for an invalid class.
    """
    given = dict(values)
    name = given.pop("set", None)
    known = published(kind)
    if name is not None and name not in known:
        raise CaseError(f"{where or kind}: there is no published {kind} {name!r}; {suggestion(str(name), known)}")
    full = {**(known[name] if name is not None else {}), **given}
    try:
        return _PUBLISHED[kind].model_validate(full)
    except ValidationError as error:
        raise CaseError(explain(error, _PUBLISHED[kind], full, lambda key: where, None, f"the {kind}")) from error


_DECAY: Final = 4.16


@dataclass(frozen=True)
class Land:
    """Classes of soil, pasture and trees."""

    soils: Sequence[Any]
    pastures: Sequence[Any]
    trees: Sequence[Trees] = field(default_factory=lambda: (Trees(),))


def cell_parameters(
    land: Land, soil: npt.ArrayLike, pasture: npt.ArrayLike, trees: npt.ArrayLike = 0, *,
    tree_basal_area: npt.ArrayLike = 0.0, stocking: npt.ArrayLike = 0.0,
) -> dict[str, Array]:  # fmt: skip
    """Return the parameters of cells by the names of their fields.

    soil, pasture, trees  class of each cell, counted from 0
    tree_basal_area       basal area of trees [m2 ha-1]
    stocking              stocking rate [ha-1]
    """
    soils = _Classes(land.soils, np.asarray(soil))
    pastures = _Classes(land.pastures, np.asarray(pasture))
    woods = _Classes(land.trees, np.asarray(trees))
    thickness = soils.layered("thickness")
    layered = {
        "thickness": thickness,
        **{name: soils.layered(name) * thickness for name in SOIL_LAYERS},
        "drainage_share": soils.layered("drainage_share"),
        "runoff_weight": runoff_weights(thickness, soils.number("runoff_depth")),
    }
    for name, plants in (("root", pastures), ("tree", woods)):
        rooted = _rooted(thickness, plants.number("root_depth"))
        limit = plants.layered("root_limit", np.nan)
        layered[f"{name}_limit"] = np.where(np.isnan(limit), soils.layered("lower_limit"), limit) * thickness
        layered[f"{name}_uptake"] = plants.layered("root_uptake") * rooted
        if plants is pastures:
            layered["root_angle"] = _angles(rooted)
    numbers = {
        "erosion_factor": _erosion_factor(soils),
        **{spec.name: soils.number(spec.name) for spec in SOIL},
        **{spec.name: pastures.number(spec.name) for spec in PASTURE},
        "tree_basal_area": np.asarray(tree_basal_area, np.float64),
        "stocking": np.asarray(stocking, np.float64),
    }
    return {f"{name}_{n}": layers[..., n - 1] for name, layers in layered.items() for n in LAYERS} | numbers


@dataclass(frozen=True)
class _Classes:
    """Classes, and the class of each cell."""

    classes: Sequence[Any]
    of_cell: Index

    def number(self, name: str) -> Array:
        """Return a number of the class of each cell."""
        return np.array([getattr(each, name) for each in self.classes], np.float64)[self.of_cell]

    def layered(self, name: str, otherwise: float = 0.0) -> Array:
        """Return numbers of the layers (..., layer); `otherwise` is for layers that a class does not have."""
        table = np.full((len(self.classes), len(LAYERS)), otherwise)
        for row, each in zip(table, self.classes, strict=True):
            values = getattr(each, name) or ()
            row[: len(values)] = values
        return table[self.of_cell]


def runoff_weights(thickness: Array, depth: Array) -> Array:
    """Return the weights of the wetness of layers for runoff (..., layer) [1]; their sum is 1.

    thickness  thickness of layers [mm]
    depth      runoff depth [mm]
    """
    bottom = np.cumsum(thickness, axis=-1)
    most = np.minimum(depth[..., None], bottom[..., -1:])
    share = -np.expm1(-_DECAY * np.minimum(bottom / most, 1.0)) / -np.expm1(-_DECAY)
    return np.diff(share, axis=-1, prepend=0.0)


def _rooted(thickness: Array, depth: Array) -> Array:
    """Return the rooted fraction of each layer for a root depth."""
    top = np.cumsum(thickness, axis=-1) - thickness
    held = np.clip(depth[..., None] - top, 0.0, thickness)
    return np.divide(held, thickness, out=np.zeros_like(held), where=thickness > 0.0)


def _angles(rooted: Array) -> Array:
    """Return pi / 2, in the deepest rooted layer pi / 4."""
    below = np.concatenate([rooted[..., 1:], np.zeros_like(rooted[..., :1])], axis=-1)
    # Missing layers have no roots and are never the deepest rooted layer.
    deepest = (rooted > 0.0) & (np.cumsum(below[..., ::-1], axis=-1)[..., ::-1] == 0.0)
    return np.where(deepest, pi / 4.0, pi / 2.0)


def _erosion_factor(soils: _Classes) -> Array:
    """Return the constant factors of soil loss, LS K P."""
    slope, length = soils.number("slope"), soils.number("slope_length")
    power = 0.6 * -np.expm1(-35.835 * slope)
    steepness = 65.41 * slope**2 + 4.56 * slope + 0.065
    return (length / 22.1) ** power * steepness * soils.number("erodibility") * soils.number("practice")
