"""Runs of a toy model: one on the ranks of an mpiexec, or several in succession; on one rank in the process of a test.

The state is a chaotic map in each cell. A resumed run therefore ends with other values unless every bit of its state
is restored on the rank that now holds the cell.
"""

import argparse
import os
import resource
import signal
import sys
import time
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from multiprocessing.connection import Client
from pathlib import Path

import numpy as np

from airshed.core.errors import AirshedError
from airshed.grid import Grid
from airshed.grid.box import Box
from airshed.io.background import PendingCopies
from airshed.io.folder import RunFolder
from airshed.io.output import Output, OutputWriter
from airshed.io.restart import RestartStore
from airshed.models.air.fields import air_registry
from airshed.parallel.communicator import MpiRanks, world
from airshed.parallel.decomposition import Decomposition

WIDTH = 4
HOURS = 8
STEPS_PER_HOUR = 4


def main(arguments, ranks):
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--strategy", default="gather:async")
    parser.add_argument("--compression", default="none")
    parser.add_argument("--statistic", default="point", help="write records of intervals, with bounds of time")
    parser.add_argument("--restarts", help="the strategy of restarts; that of the output without it")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--forget", action="store_true", help="lose the state when resuming: the negative control")
    parser.add_argument("--hours", type=int, default=HOURS, help="stop after so many, as by Ctrl-C")
    parser.add_argument("--kill", type=int, default=None, metavar="STEP", help="a rank kills itself after this step")
    parser.add_argument("--limit-at", type=int, help="a rank can write no large files after this step")
    parser.add_argument("--victim", type=int, default=0)
    parser.add_argument("--slow", action="store_true", help="copy field by field, with a rest before each")
    parser.add_argument("--careless", action="store_true", help="do not wait for copies: the negative control")
    parser.add_argument("--pause", type=float, default=0.0)
    options = parser.parse_args(arguments)
    try:
        with copying_slowly() if options.slow else nullcontext(), files_of_any_size():
            for strategy in options.strategy.split(","):
                place = options.folder / strategy.replace(":", "-") if "," in options.strategy else options.folder
                simulate(options, strategy, place, ranks)
    except AirshedError as error:
        # in one write, as all ranks report
        os.write(2, f"rank {ranks.rank}: {type(error).__name__}: {error}\n".encode())
        sys.exit(2)


def simulate(options, strategy, folder, ranks):
    grid = Grid.regular(lon=(0, 9), lat=(45, 50), spacing=0.5, layers=[20.0, 60.0, 150.0])
    levels, rows, columns = grid.shape
    tile = Decomposition.of(rows, columns, WIDTH, ranks.size).tile(ranks.rank)
    registry = air_registry([("O3", "ozone"), ("NO2", "nitrogen dioxide")], {"O3": 0.0479982})
    fields = registry.select(["O3", "surface_pressure", "NO2"])
    with RunFolder(folder, "[time]\nlength = '8 h'\n", resume=options.resume, ranks=ranks) as run:
        held = Box((tile.rows, tile.blocks))
        store = RestartStore(run, held, options.restarts or strategy)
        restart = store.latest() if run.resumed else None
        state = tile.window.of(np.random.default_rng(0).random((2, levels, rows, columns)))
        first = 0
        if restart is not None:
            first = restart.metadata["step"]
            assert restart.whole["step"] == first
            if not options.forget:
                state = unpacked(restart.part("state", held), state.shape)
        output = Output(fields, 3600.0, strategy=strategy, compression=options.compression, statistic=options.statistic)
        writer = OutputWriter(
            run, grid.axes, output,
            start=np.datetime64("2022-08-31"), attributes={"title": "Chaos"},
            resume_from=None if restart is None else restart.seconds, box=tile.window.box,
        )  # fmt: skip
        other, pending = np.empty_like(state), PendingCopies()  # two alternating time levels, as in the model
        for step in range(first, options.hours * STEPS_PER_HOUR + 1):
            seconds = 3600.0 * step / STEPS_PER_HOUR
            if writer.is_due(seconds) and not (restart is not None and step == first):  # this record exists
                pressure = step * (state[0, 0] + state[1, 1])  # only zeros at first
                fields = {"O3": state[0], "NO2": state[1], "surface_pressure": pressure}
                if options.statistic == "point":
                    pending.add(step + 1, partial(writer.ensure, writer.write(seconds, fields, lasting=True)))
                elif step > 0:
                    kept = {spec.name: writer.keep(spec, fields[spec.name]) for spec in writer.fields}
                    writer.write_kept(seconds, kept)
            if step % 5 == 0:
                store.save(seconds, {"state": packed(state)}, {"step": np.array(step)}, {"step": step})
            if step == options.kill and ranks.rank == options.victim:
                os.kill(os.getpid(), signal.SIGKILL)
            if step == options.limit_at and ranks.rank == options.victim:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                sys.dont_write_bytecode = True  # the limit would truncate the bytecode of modules
                resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
            if not options.careless:
                pending.release(step)
            np.multiply(3.99 * state, 1.0 - state, out=other)
            state, other = other, state
            time.sleep(options.pause)
        complete = options.hours == HOURS
        writer.finish(complete=complete)
        run.finish(complete=complete)


@contextmanager
def files_of_any_size():
    """Remove the limit of file sizes that a run may set."""
    before, heard = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heard)


@contextmanager
def copying_slowly():
    fill = OutputWriter._fill

    def slow(writer, block, given):
        for each in given:
            time.sleep(5e-3)
            fill(writer, block, [each])

    OutputWriter._fill = slow
    try:
        yield
    finally:
        OutputWriter._fill = fill


def packed(state):
    """Return [lat][block][species][level][W] of (species, level, lat, lon), padded with zeros."""
    species, levels, rows, columns = state.shape
    blocks = -(-columns // WIDTH)
    full = np.zeros((species, levels, rows, blocks * WIDTH))
    full[..., :columns] = state
    return np.ascontiguousarray(full.reshape(species, levels, rows, blocks, WIDTH).transpose(2, 3, 0, 1, 4))


def unpacked(array, shape):
    rows, blocks, species, levels, width = array.shape
    return array.transpose(2, 3, 0, 1, 4).reshape(species, levels, rows, blocks * width)[..., : shape[3]].copy()


def serve(folder):
    """Make one run after the other, each on the first ranks, until the requesting test closes the connection.

    The socket FOLDER/socket receives a number of ranks and the arguments of :func:`main`; the answer is the exit code.
    Errors are then in FOLDER/errors; mpiexec would forward them later. Ranks without a part in a run sleep.
    """
    os.dup2(os.open(folder / "errors", os.O_WRONLY | os.O_APPEND), 2)
    everybody = world()
    first = cache(lambda count: MpiRanks(everybody.handle.Create_group(everybody.handle.group.Incl(range(count)))))
    with Client(str(folder / "socket")) as test, suppress(EOFError):
        test.send(everybody.rank)
        while True:
            count, arguments = test.recv()
            try:
                main(arguments, first(count))
                test.send(0)
            except SystemExit as end:
                test.send(end.code)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(Path(sys.argv[2]))
    else:
        main(sys.argv[1:], world())
