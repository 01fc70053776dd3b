"""Small grid, its fields, and a run that writes records and restarts."""

from types import SimpleNamespace

import numpy as np
import pytest

from airshed.grid import Grid
from airshed.io.folder import RunFolder
from airshed.io.output import Output, OutputWriter
from airshed.models.air.fields import air_registry

CASE = '[time]\nstep = "120 s"\n'


@pytest.fixture
def grid():
    return Grid.regular(lon=(0, 1), lat=(45, 47), spacing=0.5, layers=[20.0, 60.0, 150.0])


@pytest.fixture
def registry():
    return air_registry([("O3", "ozone"), ("NO2", "nitrogen dioxide")])


@pytest.fixture
def values(grid):
    """Return the fields of an output time as a function of the seconds."""

    def at(seconds):
        rng = np.random.default_rng(int(seconds))
        return {
            "O3": 1e-9 * rng.random(grid.shape),
            "NO2": 1e-9 * rng.random(grid.shape),
            "surface_pressure": 1e5 * rng.random(grid.shape[1:]),
        }

    return at


@pytest.fixture
def start_run(grid, registry):
    """Return a function that opens a run folder with one output."""

    def begin(path, *, resume=False, case=CASE, fields=("O3", "surface_pressure"), **options):
        run = RunFolder(path, case, resume=resume)
        start, title = options.pop("start", np.datetime64("2022-08-31T00:00")), options.pop("title", "A test")
        attributes, resume_from = {"title": title, **options.pop("attributes", {})}, options.pop("resume_from", None)
        try:
            output = Output(registry.select(fields), **{"every": 3600.0, **options})
            writer = OutputWriter(run, grid.axes, output, start=start, attributes=attributes, resume_from=resume_from)
        except BaseException:
            run.close()
            raise
        return SimpleNamespace(folder=run, writer=writer, path=path)

    return begin


@pytest.fixture
def write_run(start_run, values):
    """Return a function that makes a run of some hours and returns its folder."""

    def write(path, hours=3, **options):
        run = start_run(path, **options)
        with run.folder:
            for hour in range(hours):
                run.writer.write(3600.0 * hour, values(3600.0 * hour))
            run.writer.finish()
            run.folder.finish()
        return path

    return write
