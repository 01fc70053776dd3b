"""A step to a time that lies amid a step, so that somebody can look there; the run then goes on as if nobody had.

A step that ends where somebody looks would leave a short one behind it. The two-step formula bears neither well: with
stops a fraction of a second apart NO2 over western Europe was wrong by 13 % after four hours. A step aside is given
back, so that results have the same bits wherever a run was stopped or looked at.
"""

from airshed.runtime.model import Model, Snapshot


class Aside:
    """Takes a model to a time amid its next step, and back.

    left  the state that the run goes on from, while the model is aside; None where that is the model's own
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.left: Snapshot | None = None

    def go(self, seconds: float) -> None:
        """Keep the state, and advance to a time [s] by one step; all ranks do so together."""
        self.left = self._model.save().copied()
        self._model.step_through([seconds])

    def back(self) -> None:
        """Take the model back to where it left the run, if it did; all ranks do so together."""
        if self.left is not None:
            left, self.left = self.left, None
            self._model.restore(left)
