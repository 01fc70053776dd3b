"""The members of a plan, and the coordinates of its dataset."""

from datetime import UTC, datetime

import numpy as np
import pytest

import airshed
from airshed.core.errors import CaseError
from airshed.core.units import Quantity, quantity
from airshed.sweep.dimensions import varied
from airshed.sweep.plan import Plan, coordinate_values, value_of


def quantities(*texts: str, unit: str = "s") -> list[Quantity]:
    return [quantity(text, (unit,), where="key") for text in texts]


@pytest.mark.parametrize(
    ("values", "expected", "units"),
    [
        (quantities("60 s", "90 s"), [60.0, 90.0], "s"),
        (quantities("1 min", "2 min"), [1.0, 2.0], "min"),
        (quantities("1 min", "90 s"), [60.0, 90.0], "s"),
        (quantities("10 ppb", "1e1 ppb", unit="mol/mol"), [10.0, 10.0], "ppb"),
        (quantities("50 %", "0.2", unit="1"), [0.5, 0.2], "1"),
        ([0.5, 1], [0.5, 1.0], "1"),
        ([1, 2], [1, 2], "1"),
        ([True, False], [True, False], ""),
        ([datetime(2022, 8, 31, tzinfo=UTC)], [np.datetime64("2022-08-31")], ""),
        (["imex", "strang"], ["one", "two"], ""),
        (["auto", *quantities("60 s")], ["one", "two"], ""),
        ([None, None], ["one", "two"], ""),
    ],
)
def test_values_have_their_unit_and_kind(values: list[object], expected: list[object], units: str) -> None:
    found, unit = coordinate_values(values, ["one", '"two"'])
    assert (found == np.array(expected)).all()
    assert unit == units


def plan(*vary: str, settings: tuple[str, ...] = ()) -> Plan:
    return Plan("tracer-rotation", settings, tuple(varied(text) for text in vary))


def test_members_are_all_combinations_of_which_the_last_setting_varies_fastest() -> None:
    made = plan("time.step=60 s,90 s", "boundary.values.TRACER2=1 ppb,2 ppb,3 ppb")
    assert made.shape == (2, 3)
    assert [member.index for member in made.members] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert made.members[4].text == "member 0004 (time.step=90 s, boundary.values.TRACER2=2 ppb)"
    assert [case.time.step.value for case in made.cases] == [60.0] * 3 + [90.0] * 3
    found = made.coordinates()
    assert found["time.step"].values.tolist() == [60.0, 90.0]
    assert found["boundary.values.TRACER2"].values.tolist() == [1.0, 2.0, 3.0]
    assert found["time.step"].attrs["units"] == "s"
    assert found["time.step"].attrs["setting"] == "time.step"


def test_plain_numbers_have_the_unit_of_their_setting() -> None:
    made = Plan("queensland", (), (varied("growth.coldest_growth=12,14"), varied("trees.use_of_basal_area=0.5,0.6")))
    found = made.coordinates()
    assert found["growth.coldest_growth"].attrs["units"] == "degC"
    assert found["trees.use_of_basal_area"].attrs["units"] == "1"


def test_values_are_found_in_tables_and_lists() -> None:
    case = airshed.load_case("tracer-rotation", ["boundary.scale.TRACER=2"])
    assert value_of(case, "emissions.point.0.rate").text == "1 mol/s"
    assert value_of(case, "boundary.scale.TRACER") == 2
    assert value_of(case, "boundary.scale.NO") is None
    assert value_of(case, "emissions.point.7.rate") is None


def test_each_value_is_checked() -> None:
    with pytest.raises(CaseError, match=r"time\.step = '90 kg' has the wrong kind of unit"):
        _ = plan("boundary.values.TRACER2=1 ppb,2 ppb", "time.step=60 s,90 kg").cases
