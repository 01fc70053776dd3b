"""A pasture case: the same bits for any way to run it, closed balances, and errors for wrong input."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.models.pasture.conftest import start
from tests.models.pasture.inputs_small import save_small

import airshed as package
from airshed.core.errors import CaseError, DataError
from airshed.models.pasture.model import EXPORTS
from airshed.models.pasture.summary import DRY_MATTER, WATER

Case = Callable[..., Path]


def test_a_run_writes_the_exports_and_its_balances_close(case: Case, tmp_path: Path) -> None:
    with package.Simulation(case(), output=tmp_path / "out") as simulation:
        start = {name: np.array(each) for name, each in simulation.model.start.items()}
        simulation.run()
        now = {
            name: simulation.values(name)
            for name in (*WATER.stores, *WATER.signs, *DRY_MATTER.stores, *DRY_MATTER.signs)
        }
        assert WATER.relative_residual(now, start).max() < 1e-13
        assert DRY_MATTER.relative_residual(now, start).max() < 1e-12
        assert (
            min(now[name].max() for name in ("growth_total", "burnt_total", "detachment_total", "runoff_total")) > 1.0
        )
        assert simulation.has_map
    with package.open_run(tmp_path / "out") as results:
        assert set(results.data_vars) == set(EXPORTS)
        assert (results.sizes["cell"], results.sizes["time"]) == (40, 121)
        pools = start["green_leaf"] + start["green_stem"] + start["dead_leaf"] + start["dead_stem"]
        np.testing.assert_allclose(results["standing_dry_matter"][0], pools, rtol=1e-6)
        burnt = results["standing_dry_matter"].sel(time=["2020-02-01", "2020-02-02"]).sum("cell")
        assert float(burnt[1]) < 0.2 * float(burnt[0])
        assert results.attrs["source"] == "drawn at random"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options", [("-n", "3"), ("--set", "run.threads=2"), ("-n", "2", "--set", "inputs.strategy=root")]
)
def test_ranks_threads_and_readers_change_no_bit(options: tuple[str, ...], case: Case, airshed, tmp_path: Path) -> None:
    case(60)
    for name, chosen in (("one", ()), ("other", options)):
        done = airshed("run", ".", "--output", name, *chosen)
        assert done.returncode == 0, done.stderr
    with package.open_run(tmp_path / "one") as one, package.open_run(tmp_path / "other") as other:
        assert one.load().drop_attrs().equals(other.load().drop_attrs())
        assert float(one["growth"].max()) > 1.0


def test_stocking_rate_changes_during_a_run(case: Case) -> None:
    with package.Simulation(package.load_case(case(60), ["grazing.on=true"])) as simulation:
        simulation.run("10 day")
        assert simulation.values("eaten").max() == 0.0
        simulation["grazing_stocking_rate"] = 0.5
        simulation.run("11 day")
        assert simulation.values("eaten").min() > 1.0


@pytest.mark.thorough
def test_a_continued_run_has_the_same_bits(case: Case, tmp_path: Path) -> None:
    path = case()
    with package.Simulation(path) as simulation:
        simulation.run()
        straight = {name: simulation.values(name) for name in simulation.model.fields}
    with package.Simulation(path, output=tmp_path / "out") as simulation:
        simulation.run("47 day")
    with package.Simulation(path, output=tmp_path / "out", resume=True) as simulation:
        assert simulation.seconds == 47 * 86400
        simulation.run()
        for name, expected in straight.items():
            assert simulation.values(name).tobytes() == expected.tobytes(), name


@pytest.mark.thorough
@pytest.mark.parametrize("strategy", ["files", "mpiio", "zarr", "gather"])
def test_each_strategy_of_output_gives_the_same(strategy: str, case: Case, tmp_path: Path) -> None:
    loaded = package.load_case(case(20), [f"output.0.strategy={strategy}"])
    with package.Simulation(loaded, output=tmp_path / "out") as simulation:
        simulation.run()
        last = simulation.values("green")
    with package.open_run(tmp_path / "out") as results:
        np.testing.assert_allclose(results["green"][-1], last, rtol=1e-6)


@pytest.mark.compiles
def test_single_precision_is_near_double(case: Case) -> None:
    found = {}
    for precision in ("double", "single"):
        with package.Simulation(package.load_case(case(60), [f"precision={precision}"])) as simulation:
            simulation.run()
            found[precision] = simulation.values("water_2")
    difference = np.abs(found["double"] - found["single"]).max()
    assert 0.0 < difference < 0.02


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("time.start=2019-12-01T06:00:00", "begins at midnight"),
        ("time.start=2018-12-01", "there is weather from 2019-11-20 to 2020-04-17"),
        ("time.length=200 day", "there is weather from 2019-11-20|has weather from 2019-11-20"),
        ("inputs.folder=elsewhere", "there is no folder"),
        ("humidity.given=deficit", "vapour_pressure_deficit"),
        ("grazing.stocking_rate=-1", "must be at least 0"),
        ("events.fire=[{date=\"1st of May\"}]", "is not a day"),
    ],
)  # fmt: skip
def test_a_wrong_case_is_reported(change: str, reason: str, case: Case) -> None:
    with pytest.raises((CaseError, DataError), match=reason):
        package.Simulation(package.load_case(case(), [change])).close()


def test_animals_eat_standing_dry_matter(case: Case, tmp_path: Path) -> None:
    left = []
    for change in ("grazing.stocking_rate=0", "grazing.stocking_rate=0.5"):
        loaded = package.load_case(case(60), [change])
        with package.Simulation(loaded) as simulation:
            simulation.run()
            left.append(float(simulation.values("standing_dry_matter").sum()))
            assert bool(simulation.values("utilisation").max() > 0.0) is (change != "grazing.stocking_rate=0")
    assert left[1] < 0.98 * left[0]


def test_animals_without_inputs_have_the_default_weight(case: Case) -> None:
    path = case(10)
    shutil.rmtree(path.parent / "inputs")
    pools = {name: values for name, values in start().items() if name != "live_weight"}
    save_small(path.parent / "inputs", initial=pools)
    loaded = package.load_case(path, ["grazing.on=true", "grazing.stocking_rate=0.5"])
    with package.Simulation(loaded) as simulation:
        assert simulation.values("live_weight").tolist() == [200.0] * 40
        simulation.run("1 day")
        assert simulation.values("live_weight").min() > 190.0


def eaten(path: Path, *changes: str) -> float:
    with package.Simulation(package.load_case(path, changes)) as simulation:
        simulation.run()
        return float(simulation.values("eaten_since_reset").max())


def test_animals_graze_where_a_stocking_rate_is_given(case: Case) -> None:
    assert eaten(case(20)) == 0.0
    assert eaten(case(20), "grazing.stocking_rate=0.5") > 0.0


@pytest.mark.thorough
@pytest.mark.compiles
def test_animals_that_are_off_do_not_graze(case: Case) -> None:
    assert eaten(case(20), "grazing.stocking_rate=0.5", "grazing.on=false") == 0.0
