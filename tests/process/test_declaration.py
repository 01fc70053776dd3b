"""Declarations of a class become settings, operators and fields; invalid ones are refused in one line."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from airshed.core.errors import CaseError, DataError
from airshed.formula import evaluate
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.weather import MetState
from airshed.process import (
    Process,
    at_instant,
    exchange,
    loss,
    need,
    number,
    per_species,
    quantity,
    reactions,
    releases,
    settling,
    source,
    switch,
    weather,
)  # fmt: skip
from airshed.process.bound_process import BoundProcess, read_reactions
from airshed.process.context import ProcessContext
from airshed.process.discovery import process_of_file, section_of
from airshed.process.processes import Processes

LEVELS, ROWS, COLUMNS = 3, 2, 4


class Washout(Process, section="washout"):
    """Scavenging by rain."""

    coefficients = per_species("1/s", "Loss of species to rain of 1 mm/h.", settable=True)
    rain = weather("precipitation", "kg m-2 s-1")

    @at_instant("1/s")
    def rate(coefficients, rain):
        return coefficients * (rain * 3600.0) ** 0.79

    @loss(term="washed")
    def washed(rate):
        return rate


class Sea(Process, section="sea"):
    """Exchange with the sea."""

    transfer = per_species("m/s", "Velocity through the surface of the sea.")
    inside = per_species("mol/mol", "Mixing ratio in balance with the sea.", missing=None)
    strength = number(1.0, "Factor on all of it.", settable=True, ge=0.0)
    ice = quantity("271 K", "K", "Below it there is none.")
    open = switch(True, "Whether it is open.")
    surface = weather("surface_temperature", "K")

    def is_on(self):
        return self.open and bool(self.transfer)

    @at_instant("m/s")
    def velocity(transfer, land_fraction, surface, ice):
        return transfer * (1.0 - land_fraction) * (surface > ice)

    @loss(levels="ground", unit="m/s", term="to the sea")
    def taken(velocity, strength):
        return velocity * strength

    @source(levels="ground", unit="mol/m2/s", term="from the sea")
    def given(velocity, strength, inside, air_density):
        return velocity * strength * inside * air_density


def place(**weather_levels: int) -> ProcessContext:
    grid = Grid.regular(lon=(0.0, 1.0), lat=(50.0, 50.5), spacing=(0.25, 0.25), layers=[20.0, 100.0, 300.0])
    land = np.linspace(0.0, 1.0, ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    levels = {"precipitation": 1, "surface_temperature": 1, "temperature": LEVELS, **weather_levels}
    return ProcessContext(("O3", "HNO3", "SO2"), grid, grid, land, lambda t: np.full((ROWS, COLUMNS), 0.5),
                 np.datetime64("2022-08-31"), levels, grid, Window.whole(ROWS, COLUMNS))  # fmt: skip


def made(process: type[Process], **settings: object) -> BoundProcess:
    return BoundProcess(process(section_of(process).model_validate(settings), place()))


def sky(**fields: np.ndarray) -> MetState:
    """A state of the air with some fields."""
    return MetState(**fields)


RAIN = 1.0 / 3600.0 * np.arange(1.0, 9.0).reshape(ROWS, COLUMNS)


def test_a_field_of_an_instant_is_that_of_the_formula() -> None:
    washout = made(Washout, coefficients={"SO2": "2e-5 1/s", "HNO3": "1e-4 1/s"})
    found = washout.at(sky(precipitation=RAIN), 0.0, sky)
    assert washout.operators[0].species == (1, 2), "in the order of the mechanism"
    expected = np.array([1e-4, 2e-5])[:, None, None] * (RAIN * 3600.0) ** 0.79
    np.testing.assert_allclose(found["washout_rate"], expected, rtol=1e-15)


def test_an_operator_has_the_fields_and_the_species_that_its_function_asks_for() -> None:
    [washed] = made(Washout, coefficients={"HNO3": "1e-4 1/s"}).operators
    assert (washed.name, washed.kind, washed.species, washed.term) == ("washout_washed", "loss", (1,), "washed")
    [field] = washed.fields
    assert (field.name, field.shape, field.species) == ("washout_rate", "ground", True)
    assert evaluate(washed.rate[0], {"washout_rate": 3e-5}) == 3e-5


def test_a_velocity_at_the_ground_and_a_flux_become_rates_of_the_lowest_layer() -> None:
    sea = made(Sea, transfer={"O3": "1 mm/s"}, inside={"O3": "30 ppb"}, strength=2.0)
    taken, given = sea.operators
    values = {"sea_velocity": 1e-3, "sea_strength": 2.0, "sea_inside": 3e-8, "thickness": 20.0, "air_density": 41.0}
    assert taken.ground
    assert given.ground
    assert evaluate(taken.rate[0], values) == pytest.approx(2e-3 / 20.0)
    assert evaluate(given.rate[0], values) == pytest.approx(2e-3 * 3e-8 / 20.0), "of a flux v q N over N dz"
    assert sorted(given.numbers) == ["sea_inside", "sea_strength"]
    assert given.numbers["sea_inside"] == pytest.approx((3e-8,))
    velocity = sea.at(sky(surface_temperature=np.full((ROWS, COLUMNS), 280.0)), 0.0, sky)["sea_velocity"]
    np.testing.assert_allclose(velocity[0], 1e-3 * (1.0 - sea.process.context.land_fraction))
    frozen = sea.at(sky(surface_temperature=np.full((ROWS, COLUMNS), 270.0)), 0.0, sky)["sea_velocity"]
    assert not frozen.any()


def test_a_table_that_lacks_a_species_is_refused_where_nothing_stands_for_it() -> None:
    with pytest.raises(CaseError, match=r"sea.inside has no value for O3"):
        made(Sea, transfer={"O3": "1 mm/s"})


def test_what_sinks_takes_its_air_with_it() -> None:
    class Dust(Process, section="dust"):
        """Falls."""

        speeds = per_species("m/s", "Speed.")

        @settling(term="settled")
        def falls(speeds, temperature):
            return speeds * temperature / 300.0

    [falls] = made(Dust, speeds={"SO2": "1 cm/s"}).operators
    values = {"dust_speeds": 0.01, "temperature": 270.0, "air": 1e9, "thickness": 80.0}
    assert evaluate(falls.rate[0], values) == pytest.approx(0.009 * 1e9 / 80.0)


def test_processes_add_their_terms_with_their_signs() -> None:
    both = Processes(
        [made(Washout, coefficients={"O3": "1e-6 1/s"}), made(Sea, transfer={"O3": "1 m/s"}, inside={"O3": "1 ppb"})]
    )
    assert both.terms == {"washed": -1.0, "to the sea": -1.0, "from the sea": 1.0}


def test_a_function_that_asks_for_what_there_is_not_is_refused() -> None:
    with pytest.raises(CaseError, match=r"Wrong: rate\(\) reads 'rian'.*rain"):

        class Wrong(Process, section="wrong"):
            """Wrong."""

            rain = weather("precipitation", "kg m-2 s-1")

            @at_instant("1/s")
            def rate(rian):
                return rian


def test_weather_that_is_not_given_is_told() -> None:
    with pytest.raises(
        DataError, match=r"washout needs precipitation \[kg m-2 s-1\], which the meteorology does not provide"
    ):
        made(Washout, coefficients={"O3": "1e-6 1/s"}).at(sky(), 0.0, sky)


def test_a_field_that_is_not_finite_is_told() -> None:
    with pytest.raises(DataError, match="process Washout: rate is not finite"):
        made(Washout, coefficients={"O3": "1e-6 1/s"}).at(sky(precipitation=np.full((ROWS, COLUMNS), np.nan)), 0.0, sky)


def test_a_field_of_another_shape_than_declared_is_told() -> None:
    class Odd(Process, section="odd"):
        """Odd."""

        def is_on(self):
            return True

        @at_instant("mol/s", "cells", by_species=False)
        def air(self, state, seconds):
            return np.zeros((7, ROWS, COLUMNS))

        @exchange
        def mixed(air):
            return air

    with pytest.raises(CaseError, match=r"process Odd: air gives an array \(7, 2, 4\), declared as \(3, 2, 4\)"):
        made(Odd).at(sky(), 0.0, sky)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", r"must define one class that is a Process, but defines none"),
        ("import numpy\n\nraise RuntimeError('so')\n", r":3: RuntimeError: so"),
        ("def f(:\n", r":1: SyntaxError"),
    ],
)
def test_a_file_that_is_no_process_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(CaseError, match=message):
        process_of_file(tmp_path / "mine.py")


class Chain(Process, section="chain"):
    """Decay, one into the next."""

    half_lives = per_species("s", "Half-life.", least="1 s")

    @reactions
    def decays(half_lives):
        return [f"O3 = HNO3 : {0.693 / half_lives['O3']}", "HNO3 + 2 SO2 = 0.5 O3 + SO2 : 1e-12*exp(-300/TEMP);"]


def test_reactions_are_read_from_lines() -> None:
    first, second = made(Chain, half_lives={"O3": "100 s"}).reactions
    assert (first.reactants, first.products, float(str(first.rate))) == (
        (("O3", 1.0),), (("HNO3", 1.0),), pytest.approx(0.00693)
    )  # fmt: skip
    assert second.products == (("O3", 0.5), ("SO2", 1.0))
    assert second.reactants[1] == ("SO2", 2.0)


@pytest.mark.parametrize(
    ("line", "message"),
    [("O3 -> SO2", "is not a reaction"), ("O4 = : 1", "'O4' is not a species"),
     ("O3 = ? : 1", r"'\?' is not a species with"),
     ("O3 = : 1e-5*(", "chain_1")],
)  # fmt: skip
def test_a_line_that_is_no_reaction_is_refused(line: str, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        read_reactions([line], ("O3", "SO2"), "chain")


def test_tables_that_no_function_shares_have_species_of_their_own() -> None:
    class TwoLosses(Process, section="both"):
        """A process with two losses."""

        slow = per_species("1/s", "One.")
        fast = per_species("1/s", "Other.")
        factors = per_species("1", "Of the other.", missing=1.0)

        @loss(term="one")
        def one(slow):
            return slow

        @loss(term="other")
        def other(fast, factors):
            return fast * factors

    one, other = made(TwoLosses, slow={"O3": "1e-5 1/s"}, fast={"SO2": "1e-5 1/s"}, factors={"HNO3": 2.0}).operators
    assert (one.species, other.species) == ((0,), (1, 2))
    assert other.numbers["two_losses_factors"] == (2.0, 1.0)
    assert other.numbers["two_losses_fast"] == (0.0, 1e-5)


@pytest.mark.parametrize(
    ("kind", "term", "message"),
    [(loss, "clipped", "budgets use it"), (loss, " ", "letters, digits"), (loss, "emitted", "has the other sign"),
     (source, "deposited", "has the other sign")],
)  # fmt: skip
def test_a_term_that_budgets_use_for_something_else_is_refused(kind, term: str, message: str) -> None:
    with pytest.raises(CaseError, match=f"process Wrong: rate\\(\\) cannot have the term '{term}'.*{message}"):
        type("Wrong", (Process,), {"rate": kind(term=term)(lambda temperature: temperature)})
    table = per_species("1/s", "Rates.")
    type("Right", (Process,), {"k": table, "rate": loss(term="deposited")(lambda k: k)})


def declared(**members) -> type[Process]:
    return type("Wrong", (Process,), {"k": per_species("1/s", "Rates."), **members})


BY_METHOD = at_instant("1/s")(lambda self, met, seconds: self.f)
OPEN = number(1.0, "F.", settable=True)
WRONG = [
    ({"rate": loss(term="in flow %")(lambda k: k)}, "rate.. cannot have the term 'in flow %': letters"),
    ({"rate": loss(unit="furlong", term="gone")(lambda k: k)}, "rate.. returns 'furlong'; a loss at all levels is"),
    ({"rate": loss(unit="m/s", term="gone")(lambda k: k)}, "rate.. returns 'm/s'; a loss at all levels is in 1/s"),
    ({"rate": loss(levels="top", term="gone")(lambda k: k)}, "rate.. acts at levels 'top'; use 'all' or"),
    ({"k": None, "rate": loss(term="gone")(lambda light: light)}, "rate.. acts on the species of a table"),
    ({"f": OPEN}, "f is settable, but no function"),
    ({"f": OPEN, "at": BY_METHOD, "rate": loss(term="gone")(lambda at: at)}, "f is settable, but no function"),
    ({"f": OPEN, "r": reactions(lambda f: []), "rate": loss(term="gone")(lambda f: f)},
     "r.. reads 'f', a setting that is not available"),
    ({"at": at_instant("1/s")(lambda self, met: 1.0)}, r"at\(self, met\) cannot be called: write def at\(self"),
    ({"r": reactions(lambda self, more: [])}, r"r\(self, more\) cannot be called: write def r\(self\)"),
    ({"put": releases(lambda self: [])}, r"put\(self\) cannot be called: write def put\(self, weather\)"),
    ({"rate": loss(term="gone")(lambda self: 1.0)}, r"rate\(self\) cannot be called: it is compiled"),
]  # fmt: skip


@pytest.mark.parametrize(("members", "message"), WRONG, ids=[message[:30] for _, message in WRONG])
def test_a_declaration_that_would_do_nothing_or_something_else_is_refused(members, message: str) -> None:
    with pytest.raises(CaseError, match=f"process Wrong: {message}"):
        declared(**members)


def _gone(c):
    return c


@pytest.mark.parametrize(("declare", "message"), [
    (lambda: loss(_gone), r'_gone\(\): write @loss\(term="..."\)'),
    (lambda: loss()(_gone), r'write @loss\(term="..."\)'),
    (lambda: source(_gone), "write @source"), (lambda: settling(_gone), "write @settling"),
    (lambda: at_instant(_gone), r'_gone\(\): write @at_instant\("unit"\)'),
], ids=["loss", "no term", "source", "settling", "at_instant"])  # fmt: skip
def test_a_kind_without_its_brackets_is_told(declare, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        declare()


def test_what_cannot_become_code_names_the_process_and_the_function() -> None:
    class Branches(Process, section="branches"):
        """A loss with an if."""

        c = per_species("1/s", "Loss.")

        @loss(term="gone")
        def gone(c):
            return c if c > 1.0 else 2.0 * c

    with pytest.raises(CaseError, match=r"process Branches: gone\(\) cannot become code: a formula does not know yet"):
        _ = made(Branches, c={"O3": "1 1/s"}).operators


def test_a_section_is_a_name() -> None:
    with pytest.raises(CaseError, match="section 'a b' is not a name"):
        type("Wrong", (Process,), {}, section="a b")


@dataclass(frozen=True)
class Soils:
    """An object that a model provides."""

    name: str


class Roots(Process, section="roots"):
    """A process that needs soils; rocks are optional."""

    soils = need(Soils)
    rocks = need(int, optional=True)
    rates = per_species("1/s", "Rates.")

    @loss(term="rooted")
    def takes(rates):
        return rates


def test_what_a_process_needs_is_an_attribute_of_it() -> None:
    settings = section_of(Roots).model_validate({"rates": {"O3": "1e-3 1/s"}})
    found = Roots(settings, replace(place(), provided={Soils: Soils("clay"), str: "no"}))
    assert (found.soils.name, found.rocks) == ("clay", None)


def test_a_need_that_is_not_met_is_named() -> None:
    settings = section_of(Roots).model_validate({})
    message = "process Roots: it needs soils, Soils, which the model does not provide; "
    with pytest.raises(CaseError, match=message + "known are Rocks"):
        Roots(settings, replace(place(), provided={type("Rocks", (), {}): object()}))
    with pytest.raises(CaseError, match=message + "there are none to choose from"):
        Roots(settings)
