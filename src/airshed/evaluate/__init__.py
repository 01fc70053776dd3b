"""Evaluation of runs against observations: pairing, aggregates, statistics; ``airshed.evaluate(run, observations)``."""

import sys
from types import ModuleType
from typing import Any

from airshed.evaluate.evaluation import Evaluation, Options, evaluate

__all__ = ["Evaluation", "Options", "evaluate"]


class _CallablePackage(ModuleType):
    """The package under its own name, so that ``airshed.evaluate`` is the function and holds the modules."""

    def __call__(self, *arguments: Any, **options: Any) -> Evaluation:
        """See :func:`airshed.evaluate.evaluation.evaluate`."""
        return evaluate(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
