"""The tables of `airshed adjoint`: largest contributions, names of sectors, and the sum of the rest in one row."""

import numpy as np
import xarray as xr

from airshed.inverse.receptors.dataset import INVENTORY
from airshed.inverse.receptors.results import contribution_rows, ranking


def sensitivity(contributions: dict[tuple[str, str], float]) -> xr.Dataset:
    """A result with a contribution of each country and sector [mol/mol], all of NO."""
    countries, sectors = zip(*contributions, strict=True)
    count = len(contributions)
    return xr.Dataset(
        {
            "value": ((), 50e-9, {"units": "mol mol-1"}),
            "contribution": ("source", np.array(list(contributions.values()))),
            "source_country": ("source", list(countries)),
            "source_sector": ("source", list(sectors)),
            "source_species": ("source", ["NO"] * count),
        },
        {"source": [INVENTORY] * count},
        {"start": "2022-08-31T00:00:00", "receptor_time": (0.0, 3600.0), "receptor_title": "O3", "title": "t"},
    )


def test_small_contributions_are_added_up_in_a_row() -> None:
    found = sensitivity(
        {("DE", "F_RoadTransport"): 1e-9, ("FR", "K_AgriLivestock"): -5e-10, ("AT", "F_RoadTransport"): 3e-16,
         ("CH", "F_RoadTransport"): 2e-16}
    )  # fmt: skip
    tables = {table.title.split(":")[0]: table for table in ranking(found).tables}
    countries = tables["By country"]
    assert [row[0] for row in countries.rows] == ["DE", "FR", "others"]
    assert countries.rows[-1][1] == -1e8 * (3e-16 + 2e-16)
    assert "others: 2 in contributions.csv" in countries.note
    assert [row[0] for row in tables["By sector"].rows] == ["Road transport", "Livestock"]
    assert len(contribution_rows(found)) == 5


def test_many_contributions_end_in_a_row() -> None:
    found = sensitivity({(f"C{number}", "F_RoadTransport"): 1e-9 for number in range(20)})
    countries = ranking(found).tables[0]
    assert len(countries.rows) == 16
    assert [row[0] for row in countries.rows][-1] == "others"
