"""Evaluation of runs against observations: pairing, aggregates, statistics; ``airshed.evaluate(run, observations)``."""

import sys
from types import ModuleType
from typing import Any

from airshed.evaluate.evaluation import Evaluation, EvaluationOptions, evaluate

__all__ = ["Evaluation", "EvaluationOptions", "evaluate"]


class _CallablePackage(ModuleType):
    """Callable package: ``airshed.evaluate`` is both the function and the package of these modules."""

    def __call__(self, *arguments: Any, **options: Any) -> Evaluation:
        """Evaluate runs against observations; see :func:`airshed.evaluate.evaluation.evaluate`."""
        return evaluate(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
