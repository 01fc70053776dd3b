"""Initial values of a box, their precedence, and valid properties of air."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.box.toy import CLOSED, write_toy

from airshed.core.errors import CaseError, NumericalError
from airshed.core.files import resource
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.models.box import BoxConditions
from airshed.models.box.forcing import BoxForcing
from airshed.models.box.gauss_seidel import GaussSeidelCells
from airshed.models.box.run import BoxRun
from airshed.models.box.states import CellStates

POLLU = {"time": {"length": "1 h"}, "fixed": {"M": "2.46e19 molecules/cm3"}}


@pytest.fixture(scope="module")
def pollu() -> ReactionNetwork:
    return load_mechanism("pollu")


def start(network: ReactionNetwork, data: dict[str, Any], states: CellStates | None = None) -> dict[str, float]:
    forcing = BoxForcing(BoxConditions.from_dict(data), network, states)
    densities = forcing.start(0.0, forcing.at([0.0]))
    return dict(zip(network.names, densities[:, 0].tolist(), strict=True))


def test_a_box_begins_with_the_initial_values_of_the_mechanism_times_cfactor(pollu: ReactionNetwork) -> None:
    """0.2 ppm of NO times CFACTOR = 2.46e13 molecules/cm3; the shipped conditions have the same values."""
    own = start(pollu, POLLU)
    assert own["NO"] == pytest.approx(0.2 * 2.46e13)
    assert own["NO3"] == 0.0
    shipped = BoxConditions.load(resource("cases/pollu-box") / "conditions.toml")
    forcing = BoxForcing(shipped, pollu)
    told = forcing.start(0.0, forcing.at([0.0]))[:, 0]
    assert list(own.values()) == pytest.approx(told)
    assert BoxForcing(BoxConditions.from_dict(POLLU), pollu).by_mechanism == ("NO", "O3", "HCHO", "CO", "ALD", "SO2")


def test_initial_and_states_win(pollu: ReactionNetwork) -> None:
    given = {**POLLU, "initial": {"no": "0 ppb", "O3": "30 ppb"}}
    own = start(pollu, given)
    assert (own["NO"], own["O3"]) == (0.0, pytest.approx(30e-9 * 2.46e19))
    assert own["CO"] == pytest.approx(0.3 * 2.46e13)
    assert "NO" not in BoxForcing(BoxConditions.from_dict(given), pollu).by_mechanism
    states = CellStates(1, {pollu.index("CO"): (np.array([7.0]), "molecules/cm3")})
    assert start(pollu, given, states)["CO"] == 7.0


def test_a_result_says_which_species_the_mechanism_begins(tmp_path: Path) -> None:
    file = write_toy(tmp_path, "#INITVALUES\nA = 2; CFACTOR = 10;\n")
    data = {"time": {"length": "1 s", "output_every": "1 s"}, "rates": CLOSED, "fixed": {"X": "0 molecules/cm3"}}
    run = BoxRun(load_mechanism(file), BoxConditions.from_dict(data))
    series = run.run()
    assert float(series["A"][0]) == 20.0
    assert "1 species that are not in [initial] have the initial values of the mechanism file" in run.model.notes[0]
    assert series.attrs["comment"] == "; ".join(run.model.notes)
    assert run.model.notes[0].endswith(": A")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"environment": {"temperature": "1e6 K"}}, "environment.temperature is 1e\\+06; it must be 100 to 1000 K"),
        ({"environment": {"temperature": "300 + 10*t"}}, "temperature = '300 . 10.t' is .* at t = .*100 to 1000 K"),
        (
            {"fixed": {}, "environment": {"temperature": "298 K", "pressure": "1e9 hPa"}},
            "environment.pressure is 1e\\+11; it must be 0.001 to 1e\\+07 Pa",
        ),
        ({"fixed": {"M": "1 molecules/cm3"}}, "fixed.M is 1; it must be 1e\\+09 to 1e\\+22 molecules/cm3"),
        ({"fixed": {"M": "2e19 molecules/cm3", "O2": "120 %"}}, "fixed.O2 exceeds the density of air M"),
        ({"initial": {"NO": "1.5 mol/mol"}}, "initial.NO: its initial value is 1.5 of the air"),
        ({"fixed": {"M": "1e12 molecules/cm3"}}, "initial.NO: the initial value of the mechanism is 4.92 of the air"),
    ],
)
def test_air_that_cannot_be_is_refused(pollu: ReactionNetwork, changes: dict[str, Any], message: str) -> None:
    forcing = BoxForcing(BoxConditions.from_dict({**POLLU, **changes}), pollu)
    with pytest.raises(CaseError, match=message):
        forcing.start(0.0, forcing.at([0.0, 1e5]))


def test_a_series_holds_nothing_that_is_not_finite(
    tracer_run: Callable[..., BoxRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tracer_run({})
    lost = np.full((len(run.model.network.names), 1), np.inf)
    monkeypatch.setattr(GaussSeidelCells, "concentrations", lambda cells: lost)
    with pytest.raises(NumericalError, match="A is no longer finite at t = 0 s"):
        run.run()
