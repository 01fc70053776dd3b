"""Placement: which ranks or which device run the stages of a program, and where values travel between them.

    print(placed(strang(), {"transport+column": TRANSPORT_RANKS}, home=CHEMISTRY_RANKS))

    strang: order 2
      1  cells             0 to 1/2  q -> q              chemistry ranks
      2  redistribute                q -> q              chemistry ranks to transport ranks
      3  transport+column  0 to 1    q -> q  ARS(2,2,2)  transport ranks
      4  redistribute                q -> q              transport ranks to chemistry ranks
      5  cells             1/2 to 1  q -> q              chemistry ranks

Each placement has values of its own, so that a value of one name may have another version elsewhere. In a
redistribution both placements take part; each process runs the stages that name its placements, in the order of the
program. Since all have the same order, they cannot wait for each other in a circle.
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
    """Return a program whose stages name their placement, with redistributions where a value is read elsewhere.

    A redistribution stands as early as its value exists and its receiver has no other stage to run before the one that
    reads it: the sender goes on at once, and the receiver has computed what it can.

    Parameters
    ----------
    where
        Placement by operator, or by the key of a stage, which takes precedence.
    home
        Placement of all other stages, and of the state at both ends of a step.

    Raises
    ------
    ProgramError
        For a name that no stage has, or a fused stage whose operators have two placements.
    """
    known = {name for stage in program.stages for name in (stage.key, *stage.operators)}
    for name in where:
        if name not in known:
            raise ProgramError(f"{program.name} has no stage {name!r} to place; {suggestion(name, sorted(known))}")
    stages = [replace(stage, placement=_placement(stage, where, home)) for stage in program.stages]
    found: list[Stage] = []
    moves = _moves(stages, home)
    for number in range(len(stages) + 1):
        found += [each.stage for each in moves if each.before == number]
        found += stages[number : number + 1]
    return replace(program, stages=tuple(found))


def on_groups(program: Program) -> Program:
    """Return a program whose stages with horizontal transport run on the transport ranks, all others on the others."""
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
class _Move:
    """A redistribution, the number of the stage that it stands before, and that of the stage that reads its result."""

    before: int
    reader: int
    stage: Stage


def _placement(stage: Stage, where: Mapping[str, str], home: str) -> str:
    if stage.key in where:
        return where[stage.key]
    found = sorted({where.get(operator, home) for operator in stage.operators} or {home})
    if len(found) > 1:
        raise ProgramError(
            f"the stage {stage.key} runs in one pass, so it has one placement; got {' and '.join(found)}; "
            f"place {stage.key!r}"
        )
    return found[0]


def _moves(stages: Sequence[Stage], home: str) -> list[_Move]:
    """Return the redistributions of a program whose stages have their placement, in their order."""
    written = {STATE: (-1, home)}  # the stage that wrote the newest version of a value, and its placement
    held = {STATE: {home}}  # the placements that hold it
    found: list[_Move] = []

    def read(name: str, reader: int, target: str) -> None:
        if target in held[name]:
            return
        number, source = written[name]
        own = [earlier for earlier in range(reader) if stages[earlier].placement == target]
        stage = Stage("redistribute", (name,), name, placement=source + BETWEEN + target)
        found.append(_Move(max(number, *own, -1) + 1, reader, stage))
        held[name].add(target)

    for number, stage in enumerate(stages):
        for name in stage.reads:
            read(name, number, stage.placement)
        written[stage.writes], held[stage.writes] = (number, stage.placement), {stage.placement}
    read(STATE, len(stages), home)
    return sorted(found, key=lambda each: (each.before, each.reader))
