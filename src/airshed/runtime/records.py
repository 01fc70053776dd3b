"""What a run leaves on disk: output files and restarts, in one run folder."""

from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from airshed.air.case import Case
from airshed.air.case.sections import OutputSection
from airshed.air.model import AirModel
from airshed.fields.spec import FieldSpec
from airshed.io.folder import RunFolder
from airshed.io.output import OutputWriter
from airshed.io.restart import RestartStore
from airshed.runtime.clock import Every

_MAY_DIFFER = ("title", "description", "run")
_WITH_EVERY_OUTPUT = ("air_temperature", "air_pressure")


class RunRecords:
    """Writes output and restarts of a model when they are due, and takes a run up again.

    Raises OutputError for a folder that cannot be used, CaseError when the run to resume has another case.
    """

    def __init__(self, case: Case, model: AirModel, folder: Path, *, resume: bool) -> None:
        self._case, self._model = case, model
        self._folder = RunFolder(folder, case.to_toml(), resume=resume, may_differ=_MAY_DIFFER)
        try:
            self._store = RestartStore(self._folder)
            self._restart = self._store.latest() if resume and self._folder.resumed else None
            resume_from = None if self._restart is None or self._restart.seconds < 0.0 else self._restart.seconds
            self._writers = [self._writer(section, resume_from) for section in case.output]
        except BaseException:
            self._folder.close()
            raise
        self._restart_due = Every(case.restart.every.value)

    def restore(self) -> None:
        """Set the model to the newest restart, if the run is taken up again."""
        if self._restart is not None:
            self._model.restore(self._restart.arrays, self._restart.metadata)
            self._restart = None

    def keep(self) -> None:
        """Write what is due at the model's present time."""
        seconds = self._model.seconds
        for writer in self._writers:
            if writer.is_due(seconds):
                writer.write(seconds, {spec.name: self._model.value(spec.name) for spec in writer.fields})
        if self._restart_due.is_due(seconds) and self._model.steps > 0:
            self._store.save(seconds, *self._model.save())

    def finish(self, *, complete: bool) -> list[Path]:
        """Write the output files and end the run; an incomplete one can be resumed."""
        paths = [writer.finish(complete=complete) for writer in self._writers]
        self._folder.finish(complete=complete)
        return paths

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.close()

    def _writer(self, section: OutputSection, resume_from: float | None) -> OutputWriter:
        grid = self._model.grid
        levels = {"all": None, "ground": [0]}.get(section.levels) if isinstance(section.levels, str) else section.levels
        return OutputWriter(
            self._folder,
            grid,
            self._fields(section.fields),
            start=np.datetime64(self._case.time.start.replace(tzinfo=None), "s"),
            title=self._case.title,
            every=section.every.value,
            levels=levels,
            name=section.name,
            resume_from=resume_from,
        )

    def _fields(self, names: tuple[str, ...] | str) -> tuple[FieldSpec, ...]:
        chosen = self._model.network.names if names == "all" else tuple(names)
        extra = [name for name in _WITH_EVERY_OUTPUT if name not in chosen]
        return self._model.registry.select([*chosen, *extra], where="output.fields")
