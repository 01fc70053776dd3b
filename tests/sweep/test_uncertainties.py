"""Tables of uncertainties, and ensembles drawn from them by a Latin hypercube."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from airshed.core.errors import CaseError
from airshed.sweep.dimensions import Uncertainty, describe, draw, read_uncertainties

TOML = """
["emissions.scale.NOx"]
distribution = "lognormal"
median = 1
gsd = 1.3
low = 0.5
high = 2

["boundary.scale.O3"]
distribution = "normal"
mean = 1.0
sd = 0.1

["initial.values.O3"]
distribution = "uniform"
low = 20
high = 40
unit = "ppb"
"""
CSV = """\
setting,distribution,low,high,mean,sd,median,gsd,unit
emissions.scale.NOx,lognormal,0.5,2,,,1,1.3,
boundary.scale.O3,normal,,,1.0,0.1,,,
initial.values.O3,uniform,20,40,,,,,ppb
"""


def table(folder: Path, text: str, name: str = "table.toml") -> list[Uncertainty]:
    (folder / name).write_text(text)
    return read_uncertainties(folder / name)


def test_toml_and_csv_are_equivalent(tmp_path: Path) -> None:
    found = table(tmp_path, TOML)
    assert found == table(tmp_path, CSV, "table.csv")
    assert found[0] == Uncertainty("emissions.scale.NOx", "lognormal", low=0.5, high=2, median=1, gsd=1.3)
    assert describe(found)[2] == {
        "setting": "initial.values.O3", "distribution": "uniform", "low": 20, "high": 40, "unit": "ppb",
    }  # fmt: skip


def frozen(each: Uncertainty) -> stats.rv_continuous:
    """Return SciPy's distribution without bounds."""
    if each.distribution == "uniform":
        return stats.uniform(each.low, each.high - each.low)
    if each.distribution == "normal":
        return stats.norm(each.mean, each.sd)
    return stats.lognorm(s=np.log(each.gsd), scale=each.median)


@pytest.mark.parametrize(
    "each",
    [
        Uncertainty("a", "uniform", low=-1.0, high=3.0),
        Uncertainty("a", "normal", mean=2.0, sd=0.5),
        Uncertainty("a", "normal", mean=2.0, sd=0.5, low=1.9, high=3.0),
        Uncertainty("a", "lognormal", median=2.0, gsd=1.7),
        Uncertainty("a", "lognormal", median=2.0, gsd=1.7, high=3.0),
        Uncertainty("a", "lognormal", median=2.0, gsd=1.7, low=0.0, high=9.0),
    ],
    ids=str,
)
def test_quantiles_are_those_of_scipy_between_the_bounds(each: Uncertainty) -> None:
    probability = np.linspace(0.001, 0.999, 101)
    whole = frozen(each)
    below = 0.0 if each.low is None else whole.cdf(each.low)
    above = 1.0 if each.high is None else whole.cdf(each.high)
    np.testing.assert_allclose(each.quantile(probability), whole.ppf(below + probability * (above - below)), rtol=1e-12)


def numbers(members: int, seed: int, uncertainties: list[Uncertainty]) -> np.ndarray:
    dimension = draw(uncertainties, members, seed)
    return np.array([[float(text.split()[0]) for text in point] for point in dimension.points])


def strata(values: np.ndarray, each: Uncertainty) -> list[int]:
    """Return which part of the range of probability each value is drawn from."""
    whole = frozen(each)
    low, high = whole.cdf(-np.inf if each.low is None else each.low), whole.cdf(each.high if each.high else np.inf)
    return sorted(np.floor((whole.cdf(values) - low) / (high - low) * len(values)).astype(int).tolist())


def test_each_setting_is_drawn_once_from_each_part_of_its_distribution(tmp_path: Path) -> None:
    uncertainties = table(tmp_path, TOML)
    drawn = numbers(20, 3, uncertainties)
    assert drawn.shape == (20, 3)
    for column, each in zip(drawn.T, uncertainties, strict=True):
        assert strata(column, each) == list(range(20))
    random = np.random.default_rng(3).normal(1.0, 0.1, 20)
    assert strata(random, uncertainties[1]) != list(range(20)), "plain random numbers are not stratified"
    assert not np.array_equal(np.argsort(drawn[:, 0]), np.argsort(drawn[:, 1])), "the settings are paired at random"


def test_equal_seeds_give_equal_draws_and_other_seeds_do_not(tmp_path: Path) -> None:
    uncertainties = table(tmp_path, TOML)
    assert draw(uncertainties, 5, 1) == draw(uncertainties, 5, 1)
    assert draw(uncertainties, 5, 1) != draw(uncertainties, 5, 2)
    dimension = draw(uncertainties, 5, 1)
    assert (dimension.name, dimension.keys[2]) == ("member", "initial.values.O3")
    assert dimension.points[0][2].endswith(" ppb")
    with pytest.raises(CaseError, match="--ensemble 1: give 2 to"):
        draw(uncertainties, 1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no settings"),
        ("a = 1", 'a must be a table, such as \\["emissions'),
        ("[a.b]\ndistribution = 'uniform'\nlow = 0\nhigh = 1", 'write the whole key in quotes, \\["a'),
        ("[a]\ndistribution = 'beta'", "must be one of uniform, normal, lognormal"),
        ("[a]\nlow = 0", "distribution = '' must be one of"),
        ("[a]\ndistribution = 'uniform'\nlow = 0", "the uniform distribution needs high"),
        ("[a]\ndistribution = 'uniform'\nlow = 1\nhigh = 0", "low = 1 must be less than high = 0"),
        ("[a]\ndistribution = 'normal'\nmean = 0\nsd = 0", "sd = 0 must be more than 0"),
        ("[a]\ndistribution = 'normal'\nmean = 0\nsd = nan", "sd = nan must be a number"),
        (
            "[a]\ndistribution = 'normal'\nmean = 0\nsd = '1 ppb'",
            "sd = '1 ppb' must be a number; its unit",
        ),
        ("[a]\ndistribution = 'normal'\nmean = 0\nsd = 1\nlow = 90", "no probability between"),
        (
            "[a]\ndistribution = 'normal'\nmean = 0\nsd = 1\ngsd = 2",
            "gsd is not a parameter of the normal distribution",
        ),
        ("[a]\ndistribution = 'lognormal'\nmedian = 1\ngsd = 1", "gsd = 1 must be more than 1"),
        ("[a]\ndistribution = 'lognormal'\nmedian = 0\ngsd = 2", "median = 0 must be more than 0"),
        ("[a]\ndistribution = 'uniform'\nlow = 0\nhihg = 1", "'hihg' is unknown; did you mean high"),
    ],
)
def test_a_table_that_is_wrong_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        table(tmp_path, text)


def test_a_row_that_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"table\.csv:3: the normal distribution needs sd"):
        table(tmp_path, "setting,distribution,mean,sd\na,normal,1,2\nb,normal,1,\n", "table.csv")
    with pytest.raises(CaseError, match=r"must end in \.toml or \.csv"):
        table(tmp_path, "", "table.txt")
