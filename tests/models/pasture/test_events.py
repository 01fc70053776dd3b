"""Fires burn on the declared days."""

import numpy as np
import pytest
from pydantic import ValidationError

from airshed.models.pasture.case import EventsSection, burnt_fraction

YEARS = np.arange("1990-01-01", "1993-01-01", dtype="datetime64[D]")


def burnt(*fires: dict[str, object]) -> dict[str, float]:
    found = burnt_fraction(EventsSection.model_validate({"fire": fires}), YEARS)
    return {str(YEARS[day]): float(found[day]) for day in np.flatnonzero(found)}


def test_a_fire_burns_each_year_or_once() -> None:
    assert burnt({"date": "09-01", "fraction": 0.75}) == {f"{year}-09-01": 0.75 for year in (1990, 1991, 1992)}
    assert burnt({"date": "1991-09-01"}) == {"1991-09-01": 1.0}
    assert burnt({"date": "02-29"}) == {"1992-02-29": 1.0}
    assert burnt() == {}


def test_a_second_fire_of_a_day_burns_the_rest() -> None:
    twice = burnt({"date": "1991-09-01", "fraction": 0.5}, {"date": "09-01", "fraction": 0.5})
    assert twice == {"1990-09-01": 0.5, "1991-09-01": 0.75, "1992-09-01": 0.5}


@pytest.mark.parametrize("date", ["9-1", "13-01", "1990-02-30", "1st of May", "01-09-1990", "٠٩-٠١"])
def test_a_wrong_day_is_refused(date: str) -> None:
    with pytest.raises(ValidationError, match="is not a day"):
        burnt({"date": date})
