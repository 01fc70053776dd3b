"""Conclusion of an evaluation in two sentences, for readers who are not modellers."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from airshed.evaluate.evaluation import Evaluation
from airshed.evaluate.score_table import Score
from airshed.plot.evaluation.frame import formula
from airshed.plot.limits import format_number

_CLOSELY: Final = ((0.8, "closely"), (0.6, "fairly well"), (0.4, "loosely"))
_ON_AVERAGE: Final = 5.0
"""A bias below this share [%] counts as none."""
_YEAR: Final = np.timedelta64(365, "D")


def conclusion(evaluation: Evaluation) -> list[str]:
    """Return two sentences: the bias, or the change of the error between two runs; the course in time and the MQI."""
    pooled = {(each.run, each.species): each for each in evaluation.scores if each.group == "pooled"}
    labels = [run.label for run in evaluation.runs]
    of_first = [each for (run, _), each in pooled.items() if run == labels[0] and each.values["N"]]
    if not of_first:
        return ["All stations with pairs are shown but not scored: there is no pooled statistic."]
    if len(labels) == 1:
        biases = _listed([_bias(each) for each in of_first])
        first = f"At {_stations(evaluation)} the model simulates on average {biases}."
    else:
        changes = _listed([_change(each, pooled[labels[-1], each.species]) for each in of_first])
        first = f"At {_stations(evaluation)}, from {labels[0]} to {labels[-1]} the error (RMSE) {changes}."
    last = [pooled[labels[-1], each.species] for each in of_first]
    is_year = bool(evaluation.matched.end - evaluation.matched.start >= _YEAR)
    return [first, _course(last, "The model" if len(labels) == 1 else f"Run {labels[-1]}", is_year=is_year)]


def _stations(evaluation: Evaluation) -> str:
    """Return the number of scored stations, the greatest one where species differ."""
    of = evaluation.matched.observations
    counts = {
        len(set(of.station[of.species == name].tolist()) - evaluation.unscored) for name in set(of.species.tolist())
    }
    most = max(counts)
    return "one station" if most == 1 else f"{'up to ' if len(counts) > 1 else ''}{most} stations"


def _bias(each: Score) -> str:
    bias, share = each.values["MB"], each.values["NMB"]
    name = formula(each.species)
    if abs(share) < _ON_AVERAGE:
        return f"{name} within {max(round(abs(share)), 1)} % of what was observed"
    unit = each.unit.replace("ug/m3", "µg/m³")
    return f"{format_number(abs(bias), 2)} {unit} ({abs(share):.0f} %) too {'much' if bias > 0 else 'little'} {name}"


def _change(before: Score, after: Score) -> str:
    first, second = before.values["RMSE"], after.values["RMSE"]
    unit = before.unit.replace("ug/m3", "µg/m³")
    verb = "falls" if second < first else "rises" if second > first else "stays"
    return f"of {formula(before.species)} {verb} from {format_number(first)} to {format_number(second)} {unit}"


def _course(scores: Sequence[Score], run: str, *, is_year: bool) -> str:
    """Return how the observed changes in time are followed, and whether FAIRMODE's objective is met."""
    correlations = [
        f"{formula(each.species)} {_closely(each.values['R'])} (R {each.values['R']:.2f})"
        for each in scores
        if np.isfinite(each.values["R"])
    ]
    sentence = (
        f"{run} follows the observed course of {_listed(correlations)}"
        if correlations
        else f"{run} has no variation in time"
    )
    indicators = [each for each in scores if np.isfinite(each.values["MQI"])]
    met, missed = ([each for each in indicators if (each.values["MQI"] <= 1.0) is good] for good in (True, False))
    verbs, note = (("meets", "misses"), "") if is_year else (("would meet", "would miss"), " (defined for a year)")
    parts = [
        f"{verb} FAIRMODE's quality objective{note} for {_listed([_indicator(each) for each in of])}"
        for verb, of in zip(verbs, (met, missed), strict=True)
        if of
    ]
    return "; it ".join([sentence, " and ".join(parts)] if parts else [sentence]) + "."


def _indicator(each: Score) -> str:
    return f"{formula(each.species)} (MQI {each.values['MQI']:.2f})"


def _closely(r: float) -> str:
    return next((word for least, word in _CLOSELY if r >= least), "poorly")


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
