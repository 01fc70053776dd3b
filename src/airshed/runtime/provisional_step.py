"""A provisional step to a time within the next step: it shows the state there and is then undone.

Ending a regular step there would leave a short step after it, which the two-step formula does not bear: with stops a
fraction of a second apart NO2 over western Europe was wrong by 13 % after four hours. As a provisional step is undone,
results have the same bits wherever a run was stopped or looked at.
"""

from airshed.runtime.model import Model, Snapshot


class ProvisionalStep:
    """Advances a model to a time within its next step, and restores it.

    left  the state before the provisional step, from which the run goes on; None where there is none to undo
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.left: Snapshot | None = None

    def make(self, seconds: float) -> None:
        """Keep the state, and advance to a time [s] by one step; all ranks do so together."""
        self.left = self._model.save().copied()
        self._model.step_through([seconds])

    def undo(self) -> None:
        """Restore the state before the provisional step, if there was one; all ranks do so together."""
        if self.left is not None:
            left, self.left = self.left, None
            self._model.restore(left)
