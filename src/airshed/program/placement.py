"""Placement: the ranks or the device of each stage, and the redistributions of values between them.

    print(placed(strang(), {"transport+column": TRANSPORT_RANKS}, home=CHEMISTRY_RANKS))

    strang: order 2
      1  cells             0 to 1/2  q -> q              chemistry ranks
      2  redistribute                q -> q              chemistry ranks to transport ranks
      3  transport+column  0 to 1    q -> q  ARS(2,2,2)  transport ranks
      4  redistribute                q -> q              transport ranks to chemistry ranks
      5  cells             1/2 to 1  q -> q              chemistry ranks

Each placement has its own values, so that two placements may hold different versions of a value. Both placements take
part in a redistribution. Each process runs the stages of its placements in the order of the program. This order is the
same on all processes, so that there is no deadlock.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from airshed.core.errors import ProgramError
from airshed.core.text import suggestion
from airshed.program.stage import ALL_RANKS, BETWEEN, STATE, Program, Stage

CHEMISTRY_RANKS: Final = "chemistry ranks"
TRANSPORT_RANKS: Final = "transport ranks"

_DEVICE: Final = "device "


def device(name: str) -> str:
    """Return the placement on a device, such as ``device("cuda")``."""
    return _DEVICE + name


def placed(program: Program, where: Mapping[str, str], home: str = ALL_RANKS) -> Program:
    """Return a program whose stages have placements, with a redistribution of each value that another placement reads.

    A redistribution follows the stage that writes its value, and the last stage that the receiver runs before it reads
    the value. So the sender continues at once, and the receiver does not wait before it has to.

    Parameters
    ----------
    where
        Placements by operator or by the key of a stage; a key takes precedence.
    home
        Placement of all other stages, and of the state at both ends of a step.

    Raises
    ------
    ProgramError
        No stage has a name in `where`, or the operators of a fused stage have two placements.
    """
    # placements of stages
    known = {name for stage in program.stages for name in (stage.key, *stage.operators)}
    for name in where:
        if name not in known:
            raise ProgramError(f"{program.name} has no stage {name!r} to place; {suggestion(name, sorted(known))}")
    stages = [replace(stage, placement=_placement(stage, where, home)) for stage in program.stages]

    # redistributions between them
    found: list[Stage] = []
    moves = _moves(stages, home)
    for number in range(len(stages) + 1):
        found += [each.stage for each in moves if each.before == number]
        found += stages[number : number + 1]
    return replace(program, stages=tuple(found))


def on_groups(program: Program) -> Program:
    """Return a program whose horizontal transport runs on transport ranks, and all other stages on chemistry ranks."""
    transport = {stage.key: TRANSPORT_RANKS for stage in program.stages if "transport" in stage.operators}
    return placed(program, transport, home=CHEMISTRY_RANKS)


def placements(program: Program) -> tuple[str, ...]:
    """Return the placements of a program, in the order of their first stages."""
    return tuple(dict.fromkeys(each for stage in program.stages for each in stage.placements))


def check_devices(program: Program, offered: Collection[str]) -> None:
    """Raise ProgramError for a stage on a device that is not offered (names, such as "cuda")."""
    for place in placements(program):
        name = place.removeprefix(_DEVICE)
        if name != place and name not in offered:
            there = f"there is {', '.join(sorted(offered))}" if offered else "there is none but the processor"
            raise ProgramError(f"{program.name} runs stages on the device {name!r}; {there}")


@dataclass(frozen=True)
class _PlannedRedistribution:
    """Redistribution, the number of the stage that follows it, and that of the stage that reads its result."""

    before: int
    reader: int
    stage: Stage


def _placement(stage: Stage, where: Mapping[str, str], home: str) -> str:
    """Return the placement of a stage; raise ProgramError if its operators have two."""
    if stage.key in where:
        return where[stage.key]
    found = sorted({where.get(operator, home) for operator in stage.operators} or {home})
    if len(found) > 1:
        raise ProgramError(
            f"the stage {stage.key} runs in one pass, so it has one placement; got {' and '.join(found)}; "
            f"place {stage.key!r}"
        )
    return found[0]


def _moves(stages: Sequence[Stage], home: str) -> list[_PlannedRedistribution]:
    """Return the redistributions between stages that have placements, in their order."""
    written = {STATE: (-1, home)}  # by value, the stage that wrote its newest version, and its placement
    held = {STATE: {home}}  # the placements that hold this version
    found: list[_PlannedRedistribution] = []

    def read(name: str, reader: int, target: str) -> None:
        if target in held[name]:
            return
        number, source = written[name]
        own = [earlier for earlier in range(reader) if stages[earlier].placement == target]
        stage = Stage("redistribute", (name,), name, placement=source + BETWEEN + target)
        found.append(_PlannedRedistribution(max(number, *own, -1) + 1, reader, stage))
        held[name].add(target)

    for number, stage in enumerate(stages):
        for name in stage.reads:
            read(name, number, stage.placement)
        written[stage.writes], held[stage.writes] = (number, stage.placement), {stage.placement}
    read(STATE, len(stages), home)
    return sorted(found, key=lambda each: (each.before, each.reader))
