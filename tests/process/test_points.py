"""Processes of kind `update` become one step of cells; the code equals its reference, and its derivatives are exact."""

from pathlib import Path

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.formula import evaluate_all, exp, maximum, minimum
from airshed.formula.tree import ZERO
from airshed.kernels.cells.formulas import CellFormulas
from airshed.process import (
    Process,
    flux,
    loss,
    number,
    per_species,
    quantity,
    state,
    switch,
    update,
    weather,
)  # fmt: skip
from airshed.process.discovery import process_of_file, section_of
from airshed.process.points import CellFields, Points

CELLS = 9001
FIELDS = CellFields(
    tuple(FieldSpec(name, ("point",), unit, name) for name, unit in (("water", "mm"), ("biomass", "g m-2"))),
    (FieldSpec("capacity", ("point",), "mm", "Field capacity"),),
    (FieldSpec("rain", ("point",), "mm", "Rain of the day"),),
)


class Rain(Process, section="rain", order=10):
    """Rain."""

    fallen = weather("rain", "mm")
    hail = weather("hail", "mm", optional=True)
    on = switch(True, "Whether it falls.")
    caught = flux("mm", "Rain on leaves.")

    def is_on(self):
        return self.on

    @update("water", "caught")
    def falls(water, fallen, hail, biomass):
        caught = 0.1 * fallen * (1.0 - exp(-0.01 * biomass))
        return water + fallen - caught + (0.0 if hail is None else hail), caught


class Drainage(Process, section="drainage", order=20):
    """Drainage."""

    share = number(0.3, "Share that drains.", settable=True)
    least = quantity("2 cm", "mm", "Minimum water.")
    drained = flux("mm", "Water that drains.")

    @update("water", "drained")
    def drains(water, capacity, share, least):
        drained = share * maximum(water - maximum(capacity, least), 0.0)
        return water - drained, drained


class Growth(Process, section="growth", order=30):
    """Growth."""

    @update("biomass")
    def grows(biomass, water, drained, caught):
        return biomass * exp(minimum(water, 100.0) / (1000.0 + biomass)) + drained + caught


def points(*processes: type[Process], fields: CellFields = FIELDS, **settings: dict[str, object]) -> Points:
    return Points([each(section_of(each).model_validate(settings.get(each.section, {}))) for each in processes], fields)


def trial(step: Points) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    values = {name: random.uniform(0.0, 100.0, CELLS) for name in ("water", "biomass", "capacity", "rain")}
    return {**values, **step.numbers}


ALL = points(Growth, Rain, Drainage)


def test_updates_act_in_their_order_on_the_newest_values() -> None:
    assert set(ALL.inputs) == {"water", "rain", "biomass", "capacity", "drainage_share"}
    assert ALL.outputs == ("water", "caught", "drained", "biomass")
    found = ALL.reference({"water": 50.0, "biomass": 0.0, "capacity": 10.0, "rain": 10.0, "drainage_share": 0.5})
    assert {name: float(value) for name, value in found.items()} == {
        "water": 40.0, "caught": 0.0, "drained": 20.0, "biomass": 20.0,
    }  # fmt: skip
    assert [(each.name, each.unit, each.dims) for each in ALL.fluxes] == [
        ("caught", "mm", ("point",)), ("drained", "mm", ("point",)),
    ]  # fmt: skip


@pytest.mark.compiles
def test_the_code_is_the_twin_on_any_threads_and_a_changed_number_is_seen() -> None:
    values, two = trial(ALL), ALL.compiled(threads=2)
    expected, found = ALL.reference(values), ALL.compiled()(values)
    assert [each.tobytes() for each in two(values)] == [each.tobytes() for each in found]
    two.close()
    for name, one in zip(ALL.outputs, found, strict=True):
        np.testing.assert_allclose(one, expected[name], rtol=1e-14, atol=1e-13)
    planted = points(Growth, Rain, Drainage, drainage={"least": "3 cm"}).reference(values)
    assert any(not np.allclose(found[number], planted[name], rtol=1e-3) for number, name in enumerate(ALL.outputs))


@pytest.mark.thorough
@pytest.mark.compiles
def test_single_precision_has_six_digits() -> None:
    values = trial(ALL)
    for single, double in zip(ALL.compiled("single")(values), ALL.compiled()(values), strict=True):
        assert single.dtype == np.float32
        assert 0.0 < np.abs(single - double).max() < 1e-6 * np.abs(double).max()


WRT = ("water", "biomass", "capacity", "drainage_share")


@pytest.mark.compiles
def test_tangent_and_adjoint_are_transposed_and_compiled_too() -> None:
    random, values = np.random.default_rng(2), trial(ALL)
    tangent, adjoint = ALL.tangent(WRT), ALL.adjoint(WRT)
    changes = {f"{name}_tangent": random.normal(size=CELLS) for name in WRT}
    seeds = {f"adjoint_{number}": random.normal(size=CELLS) for number in range(len(ALL.outputs))}
    forward, backward = CellFormulas(tangent)(values | changes), CellFormulas(adjoint)(values | seeds)
    np.testing.assert_allclose(forward, evaluate_all(tangent.outputs, values | changes), rtol=1e-12, atol=1e-12)
    left = sum(np.vdot(one, seed) for one, seed in zip(forward, seeds.values(), strict=True))
    right = sum(np.vdot(one, change) for one, change in zip(backward, changes.values(), strict=True))
    size = sum(np.abs(one * seed).sum() for one, seed in zip(forward, seeds.values(), strict=True))
    assert abs(left - right) < 1e-12 * size
    assert abs(left - (1.0 + 1e-6) * right) > 1e-12 * size, "a millionth would be seen"


def test_the_tangent_is_the_central_difference() -> None:
    random, values, h = np.random.default_rng(3), trial(ALL), 1e-4
    changes = {name: random.normal(size=CELLS) * (0.01 if name == "drainage_share" else 1.0) for name in WRT}
    found = evaluate_all(ALL.tangent(WRT).outputs, values | {f"{name}_tangent": each for name, each in changes.items()})
    up, down = (
        ALL.reference(values | {name: values[name] + s * h * changes[name] for name in WRT}) for s in (1.0, -1.0)
    )
    for name, tangent in zip(ALL.outputs, found, strict=True):
        difference = (up[name] - down[name]) / (2.0 * h)
        apart = ~np.isclose(tangent, difference, rtol=1e-6, atol=1e-7)
        assert np.count_nonzero(apart) < 5, "but where a maximum changes its branch within the difference"


def test_what_a_step_does_not_read_has_the_derivative_zero() -> None:
    alone = points(Drainage)
    [water, biomass] = alone.adjoint(("water", "biomass")).outputs
    assert (biomass is ZERO, water is ZERO) == (True, False)


def test_a_process_that_is_off_is_not_in_the_formulas_and_its_fluxes_are_zero() -> None:
    dry = points(Growth, Rain, Drainage, rain={"on": False})
    assert dry.outputs == ("water", "drained", "biomass")
    assert "rain" not in dry.inputs
    assert [each.name for each in dry.fluxes] == ["drained"]


def test_a_number_that_is_set_acts_at_once() -> None:
    step = points(Drainage)
    step.settable.set("drainage_share", 0.75)
    assert float(step.reference({"water": 80.0, "capacity": 40.0, **step.numbers})["drained"]) == 30.0


def test_the_page_shows_such_a_process(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "declaring.md").read_text(encoding="utf-8")
    (tmp_path / "drainage.py").write_text(page.split("```python\n")[-1].split("```")[0])
    found = points(process_of_file(tmp_path / "drainage.py"))
    assert str(found.formulas.outputs[1]) == "drainage_share*max(water - capacity, 0.0)"


def of(*names: str, **members: object) -> dict[str, object]:
    """Members of a class: an update `acts` that returns such fields; others as given."""
    function = members.pop("acts")
    return {"acts": update(*names)(function), **members}


MADE = {"made": flux("mm", "Made.")}
WRONG = [
    (of("water", acts=lambda water: (water, 1.0)), r"acts\(\) returns 2 values, but must return water, in this order"),
    (of("water", "made", acts=lambda water: water, **MADE), r"acts\(\) returns 1 value, but must return water, made"),
    (of("water", acts=lambda water: 1.0 if water > 0 else 2.0), r"acts\(\) cannot become code: a formula does"),
    (of("water", acts=lambda self: 1.0), r"acts\(\) cannot have self"),
    (of("water", acts=lambda *water: 1.0), r"acts\(\) cannot have the argument \*water"),
    (of(acts=lambda water: 1.0), r"acts\(\) must name the fields that it returns"),
    (of("water", "water", acts=lambda water: (water, water)), r"acts\(\) returns water twice"),
    (of("water", acts=lambda water: water, **MADE), "made is a flux, but no update computes it"),
    (of("made", acts=lambda water: water, again=update("made")(lambda water: water), **MADE),
     "made is a flux, but two updates compute it"),
    (of("water", acts=lambda water: water, f=number(1.0, "F.", settable=True)), "f is settable, but no function"),
    (of("water", acts=lambda water: water, depth=state("mm", "Depth.")), "depth is a state, but no update"),
]  # fmt: skip


@pytest.mark.parametrize(("members", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_a_declaration_that_makes_no_sense_is_refused(members, message: str) -> None:
    with pytest.raises(CaseError, match=f"process Wrong: .*{message}"):
        type("Wrong", (Process,), members)


DOES_NOT_FIT = [
    (of("water", acts=lambda wator: wator), r"acts\(\) reads 'wator'.*did you mean water"),
    (of("capacity", acts=lambda water: water), r"acts\(\) returns 'capacity', which is not a field of the state"),
    (of("water", acts=lambda later: later), r"acts\(\) reads 'later', which Later computes later in the step"),
    (of("water", acts=lambda water: water, capacity=number(1.0, "C.")), "it declares capacity, which is also a field"),
    (of("water", acts=lambda water: len(water)), r"acts\(\) cannot become code: a formula takes the length of a val"),
    (of("water", acts=lambda water: water[0]), r"acts\(\) cannot become code: a formula takes an element of a value"),
    (
        of("made", acts=lambda water: water, made=flux("mm", "Made.", axis="layer")),
        "made has the axis 'layer', which the model does not have; there are none to choose from",
    ),
    (of("water", acts=lambda snow: snow, snow=weather("snow", "mm")), r"snow reads snow \[mm\], which the weather"),
    (of("water", acts=lambda r: r, r=weather("rain", "K")), "r reads rain in K, which is in mm"),
]


class Later(Process, section="later", order=90):
    """Makes something at the end."""

    later = flux("mm", "Made late.")

    @update("later")
    def makes(water):
        return water


@pytest.mark.parametrize(("members", "message"), DOES_NOT_FIT, ids=[message[:40] for _, message in DOES_NOT_FIT])
def test_a_process_that_does_not_fit_its_model_is_refused(members, message: str) -> None:
    with pytest.raises(CaseError, match=f"process Wrong: {message}"):
        points(type("Wrong", (Process,), members), Later)


def test_two_processes_cannot_make_one_flux() -> None:
    other = type("Other", (Process,), of("later", acts=lambda water: water, later=flux("mm", "The same.")))
    with pytest.raises(CaseError, match="later is a flux of Other and a flux of Later; rename one"):
        points(Later, other)
    share = number(0.3, "The same.", settable=True)
    other = type("Other", (Process,), of("water", acts=lambda share: share, share=share), section="drainage")
    with pytest.raises(CaseError, match="drainage_share is a settable number of Drainage and a settable number of Oth"):
        points(Drainage, other)


def test_what_acts_on_the_air_is_refused() -> None:
    class Decay(Process, section="decay"):
        """Decay."""

        rates = per_species("1/s", "Rates.")

        @loss(term="decayed")
        def decays(rates):
            return rates

    with pytest.raises(
        CaseError, match="process Decay: decays works only in the air-quality model; in a point model a"
    ):
        points(Decay)
    with pytest.raises(CaseError, match="process Nothing: it has no effect, since no function is declared with @up"):
        points(type("Nothing", (Process,), {}))
