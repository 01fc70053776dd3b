"""Field registry: every field has a unit and a text, and invalid ones are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import CaseError, DataError
from airshed.core.fields import FieldRegistry, FieldSpec
from airshed.core.units import quantity
from airshed.grid import Grid
from airshed.models.air.fields import CF_SPECIES, WEATHER, air_registry

SIZES = {"level": 2, "lat": 3, "lon": 4}
SPECIES = [("O3", "ozone"), ("NO2", "nitrogen dioxide"), ("TRACER", "")]


def assert_described(specs):
    for spec in specs:
        assert spec.text
        quantity(f"1 {spec.unit}" if spec.unit != "1" else 1, (spec.unit,), where=spec.name)


def test_every_field_has_a_unit_and_a_text():
    assert_described(air_registry([(name, name) for name in CF_SPECIES]).values())


def test_an_unknown_unit_is_found():
    with pytest.raises(CaseError, match="not a unit"):
        assert_described([FieldSpec("a", ("lat", "lon"), "furlong", "A length")])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unit": " "}, "needs a unit"),
        ({"text": ""}, "a text"),
        ({"name": "2nd"}, "not usable"),
        ({"name": "../up"}, "not usable"),
    ],
)
def test_an_incomplete_field_is_refused(change, message):
    with pytest.raises(CaseError, match=message):
        FieldSpec(**{"name": "a", "dims": ("lat", "lon"), "unit": "m", "text": "A length", **change})


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        (("lon", "lat"), "in this order"),
        (("height",), "must be among"),
        (("level",), "which ranks divide"),
    ],
)
def test_a_field_on_other_dimensions_than_its_domain_is_refused(dims, message):
    axes = Grid.regular((0, 1), (0, 1), 0.5, [10.0]).axes
    with pytest.raises(CaseError, match=message):
        axes.check_dims("a", dims)
    axes.check_dims("a", ("lat", "lon"))


def test_species_are_mixing_ratios():
    ozone, _, tracer = (air_registry(SPECIES)[name] for name, _ in SPECIES)
    assert (ozone.unit, ozone.dims) == ("mol mol-1", ("level", "lat", "lon"))
    assert ozone.standard_name == "mole_fraction_of_ozone_in_air"
    assert ozone.text == "Mixing ratio of ozone"
    assert tracer.standard_name is None
    assert tracer.text == "Mixing ratio of TRACER"


def test_two_fields_of_one_name_are_refused():
    with pytest.raises(CaseError, match="two fields have the name air_pressure"):
        air_registry([("air_pressure", "a species with the name of a weather field")])


def test_selection_keeps_the_order_and_names_the_nearest():
    registry = air_registry(SPECIES)
    assert [spec.name for spec in registry.select(["NO2", "O3"])] == ["NO2", "O3"]
    with pytest.raises(CaseError, match=r"output\.0\.fields: there is no field 'o3'; did you mean O3"):
        registry.select(["o3"], where="output.0.fields")
    with pytest.raises(CaseError, match="named twice"):
        registry.select(["O3", "O3"])


def test_the_table_for_the_documentation_lists_every_field():
    table = FieldRegistry(WEATHER).markdown()
    assert len(table.splitlines()) == len(WEATHER) + 2
    assert "| `cloud_cover` | 1 | lat, lon | cloud_area_fraction | Fraction of the sky under cloud |" in table


@given(st.lists(st.integers(0, 4), max_size=4).map(tuple))
def test_only_the_registered_shape_is_accepted(shape):
    ozone = air_registry(SPECIES)["O3"]
    if shape == (2, 3, 4):
        ozone.check_shape(shape, SIZES)
    else:
        with pytest.raises(DataError, match=r"O3 must have the shape \(level 2, lat 3, lon 4\)"):
            ozone.check_shape(shape, SIZES)
