"""Run of a toy model in a separate process, which a test can kill.

The state is a chaotic map, so that a resumed run ends with other values unless every bit of the state is restored.
"""

import argparse
import os
import signal
import time
from pathlib import Path

import numpy as np

from airshed.grid import Grid
from airshed.io.folder import RunFolder
from airshed.io.output import Output, OutputWriter
from airshed.io.restart import RestartStore
from airshed.models.air.fields import air_registry

HOURS = 24
STEPS_PER_HOUR = 4


def die_at_call(number):
    """Kill this process at the given sync call: before or after it."""
    calls = iter(range(1, 10**9))

    def dying(function):
        def call(*arguments):
            if (at := next(calls)) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*arguments)
            if at == -number:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    os.replace, os.fsync = dying(os.replace), dying(os.fsync)
    return calls


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--forget", action="store_true", help="lose the state when resuming: the negative control")
    parser.add_argument("--die-at", type=int, default=0)
    parser.add_argument("--compression", default="none")
    parser.add_argument("--pause", type=float, default=0.0)
    options = parser.parse_args()
    calls = die_at_call(options.die_at)
    simulate(options)
    print("calls", next(calls) - 1)


def simulate(options):
    grid = Grid.regular(lon=(0, 2), lat=(45, 47), spacing=0.5, layers=[20.0, 60.0, 150.0])
    fields = air_registry([("O3", "ozone")]).select(["O3"])
    with RunFolder(options.folder, "[time]\nlength = '24 h'\n", resume=options.resume) as run:
        store = RestartStore(run)
        restart = store.latest()
        first, state = 0, np.random.default_rng(0).random(grid.shape)
        if restart is not None:
            first = restart.metadata["step"]
            state = state if options.forget else restart.whole["state"]
        writer = OutputWriter(
            run,
            grid.axes,
            Output(fields, 3600.0, compression=options.compression),
            start=np.datetime64("2022-08-31"),
            attributes={"title": "Chaos"},
            resume_from=None if restart is None else restart.seconds,
        )
        print("started", flush=True)
        for step in range(first, HOURS * STEPS_PER_HOUR + 1):
            seconds = 3600.0 * step / STEPS_PER_HOUR
            if writer.is_due(seconds):
                writer.write(seconds, {"O3": state})
            if step % 7 == 0:
                store.save(seconds, {}, {"state": state}, {"step": step})
            state = 3.99 * state * (1.0 - state)
            time.sleep(options.pause)
        writer.finish()
        run.finish()


if __name__ == "__main__":
    main()
