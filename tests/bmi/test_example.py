"""The example of air that drives pasture: pasture receives the values that air provides, in the same cells."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from airshed.bmi import Pasture

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "air_drives_pasture.py"


@pytest.mark.thorough
def test_air_drives_pasture(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 40
    made = runpy.run_path(str(EXAMPLE))
    printed = re.findall(
        r"day \d: rain ([\d.]+) mm, light ([\d.]+) MJ m-2, growth ([\d.]+) kg ha-1", capsys.readouterr().out
    )
    assert len(printed) == 3

    air, pasture, count = made["air"], made["pasture"], made["count"]
    assert air.get_current_time() == 71.5 * 3600.0
    assert pasture.get_current_time() == 3 * 86400.0
    places = np.meshgrid(made["x"], made["y"])
    np.testing.assert_allclose(
        [each.reshape(-1)[made["cells"]] for each in places], [made["lon"], made["lat"]], atol=1e-9
    )

    total = pasture.get_value("rain_total", np.empty(count))
    assert total.mean() == pytest.approx(sum(float(rain) for rain, _, _ in printed), abs=0.16), "as printed, rounded"
    assert np.corrcoef(made["rain"], made["light"])[0, 1] < -0.3, "it is dark under the band"

    alone = Pasture()
    alone.initialize(ROOT / "cases" / "queensland")
    alone.update_until(3 * 86400.0)
    for name in ("rain_total", "water_1", "growth"):
        driven, own = (each.get_value(name, np.empty(count)) for each in (pasture, alone))
        assert not np.allclose(driven, own), f"{name} is that of the air"
    for each in (air, pasture, alone):
        each.finalize()
