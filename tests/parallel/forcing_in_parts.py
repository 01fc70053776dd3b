"""Compute the forcing of ranks that move species, in parts and on each rank alone, and compare the bits.

    mpiexec -n 4 python forcing_in_parts.py CASES

Prints the result of each rank as JSON, by kind of case. Unused ranks wait.
"""

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI
from worlds import group, wait_for_all

import airshed.models.air.forcing
from airshed.core.errors import DataError
from airshed.kernels.backends.cpu import kernel as pipeline
from airshed.models.air.case import Case
from airshed.models.air.programs.groups import TransportRank
from airshed.parallel.communicator import SingleRank
from airshed.parallel.groups import Groups
from airshed.verify import west_europe

# No species is moved here: the transport code need not be fast, and compiles in a fraction of the time.
pipeline.UNITS = {unit: (number, (*flags, "-O0")) for unit, (number, flags) in pipeline.UNITS.items()}

HOUR = 3600.0
EXCHANGE, CONDUCTANCE = "vertical_mixing_mixed_air", "dry_deposition_conductance"
CUT = (
    "grid.area.lon=[4, 7.25]", "grid.area.lat=[50.5, 52]", "time.spinup=0 h", "chemistry.integrator=strang",
    "parallel.groups.transport=same",
)  # fmt: skip
APART, ROOT, SINGLE = "transport.vertical=with chemistry", "parallel.input=root", "chemistry.precision=single"
SMALL = ("grid.area.lon=[4, 5]", "grid.area.lat=[50.5, 51.5]")  # at most two ranks can share it
KINDS = {  # name: ranks, further settings
    "four": (4, ()),
    "three, by level, the first reads": (3, (APART, ROOT)),
    "four of two threads, single precision": (4, ("run.threads=2", ROOT, SINGLE)),
    "teams of two": (4, SMALL),
    "teams of two and one": (3, (*SMALL, APART)),
    "steady air": (2, None),
}


def case_of(cases, settings):
    if settings is not None:
        return Case.load(cases / "west-europe", [*CUT, *settings])
    mixing = {"mixed_layer": "1 km", "daytime_diffusivity": "50 m2/s"}
    point = {"species": "TRACER2", "lon": 6.7, "lat": 51.4, "height": "100 m", "rate": "2 mol/s"}
    return west_europe.real_case(
        "12 h", meteorology={"kind": "uniform", "files": [], "eastward": "7 m/s", **mixing},
        chemistry={"integrator": "strang"}, deposition={"scheme": "constant"}, emissions={"point": [point]},
        grid={"area": {"lon": [4.0, 8.0], "lat": [49.0, 53.0]}}, parallel={"groups": {"transport": "same"}},
    )  # fmt: skip


def made(case, ranks):
    """Return a transport rank; nothing is exchanged with chemistry ranks."""
    return TransportRank(case, None, Groups.of(ranks, "same", 0), max(case.run.threads, 1), exchange=object())


def counted(case, ranks):
    """Return a transport rank, and the number of columns requested for the first two instants."""
    columns, plain = [], airshed.models.air.forcing.upward_air_flux

    def upward(eastward, northward, change):
        columns.append(change[0].size)
        return plain(eastward, northward, change)

    airshed.models.air.forcing.upward_air_flux = upward
    species = made(case, ranks)
    species.context.forcing.interval(0)
    airshed.models.air.forcing.upward_air_flux = plain
    return species, columns


def fields(species, at):
    """Return the transport fields of an hour, and the meaning of the third axis (levels, deposited or emitted
    species).
    """
    interval = species.context.forcing.interval(species.context.forcing.index_at(at))
    found = {name: (interval.pair(name), "levels") for name in ("flux_x", "flux_y")}
    if not species.context.parts.case.moves_planes:
        found |= {"flux_z": (interval.flux_z, "levels")}
        found |= {"exchange": (interval.fields([EXCHANGE])[EXCHANGE], "levels")}
        if deposition(species) is not None:
            found |= {"deposition": (interval.fields([CONDUCTANCE])[CONDUCTANCE], "deposited")}
        found |= {"emission": (species.context.sources.at(at)[:1], "emitted")}
    return found


def deposition(species):
    """Return the process that deposits species; None without one."""
    found = [each.process for each in species.context.parts.processes if each.key == "dry_deposition"]
    return found[0] if found else None


def outflow_rate(species, at):
    """Return the largest outflow rate of the area of transport."""
    apart = species.context.parts.case.moves_planes
    return species.context.forcing.outflow_rate(at, "horizontal" if apart else "all")


def made_alone(alone, at):
    """Return the fields of an hour computed by a single rank, the outflow rate, and the species along axes."""
    dry = deposition(alone)
    names = {"deposited": () if dry is None else dry.species, "emitted": alone.context.sources.species}
    return {name: ends for name, (ends, _) in fields(alone, at).items()}, outflow_rate(alone, at), names


def same(moved, at, there, rate, names):
    """Return the fields of an hour with the same bits as when computed by a single rank."""
    own = moved.context.stepper.kernel.network.names
    wanted = {axis: [row for row, name in enumerate(each) if name in own] for axis, each in names.items()}
    wanted["levels"], found = moved.context.forcing._wanted.fluxes["flux_x"], {}
    for name, (ends, axis) in fields(moved, at).items():
        pairs = zip(ends, there[name], strict=True)
        found[name] = all(np.array_equal(one, other[:, :, wanted[axis]]) for one, other in pairs)
    return {**found, "rate": outflow_rate(moved, at) == rate}


def hours(moved, alone, ranks, which, shift=0.0):
    """Return `same` for several hours; the first rank alone computes all fields, of hours `shift` later, for all ranks.

    alone  transport of all species on the first rank; None on others
    """
    found, shifted = [], [HOUR * hour + 1.0 + shift for hour in which]
    whole = None if alone is None else [_ahead(alone, at, made_alone(alone, at)) for at in shifted]
    ranks.barrier()  # ranks sleep in it
    for hour, made_there in zip(which, ranks.broadcast(whole), strict=True):
        at = HOUR * hour + 1.0
        found.append(_ahead(moved, at, same(moved, at, *made_there)))
    return {name: [each[name] for each in found] for name in found[0]}


def _ahead(species, at, answer):
    """Read the next hour ahead, and return its status."""
    species.context.forcing.read_ahead(at, species.context.stepper.pool)
    species.context.sources.read_ahead(at, species.context.stepper.pool)
    return answer


def failing(moved, rank):
    """Return this rank's error for weather that the second rank alone finds invalid."""

    def wrong(seconds):
        raise DataError(f"no weather at {seconds:g} s")

    if rank == 1:
        moved.context.parts.meteorology.at = wrong
    try:
        moved.context.forcing.interval(10)
    except DataError as error:
        return str(error)
    return "nothing"


def look(name, case, ranks):
    moved, columns = counted(case, ranks)
    alone, all_columns = counted(case, SingleRank()) if ranks.rank == 0 else (None, None)
    found = {"team": moved._gathering.ranks.size, "columns": columns, "all columns": all_columns}
    found["same"] = hours(moved, alone, ranks, range(4))
    if name == "four":  # the negative controls
        found["an hour later"] = hours(moved, alone, ranks, range(4, 6), HOUR)
        scheme = deposition(moved).of_species
        velocities = scheme.velocities
        if ranks.rank == 1:
            scheme.velocities = lambda *given: np.nextafter(velocities(*given), 1.0)
        found["second rank's otherwise"] = hours(moved, alone, ranks, range(7, 9))
        found["raised"] = failing(moved, ranks.rank)
    return found


def main(cases):
    answers = {}
    for name, (size, settings) in KINDS.items():
        ranks = group(size)
        if ranks is not None:
            answers[name] = ranks.gather_all(look(name, case_of(cases, settings), ranks))
        wait_for_all()
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(answers))


main(Path(sys.argv[1]))
