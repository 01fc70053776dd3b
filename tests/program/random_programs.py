"""Programs that are time steps, by chance."""

from itertools import pairwise

from hypothesis import strategies as st

from airshed.program.stage import CELLS, COLUMN, EVERYTHING, TRANSPORT, Program, Stage, add


def step(*stages, order=1):
    return Program("planted", order, stages)


KERNELS = st.sampled_from([(EVERYTHING,), (("transport", "column"), CELLS), (TRANSPORT, COLUMN, CELLS), (CELLS,)])
CUTS = st.sets(st.integers(1, 15), max_size=2).map(lambda cuts: [0.0, *(each / 16 for each in sorted(cuts)), 1.0])


@st.composite
def sequences(draw, first, value, kernels):
    """Stages that advance a value over a whole step, in random pieces and a random order."""
    left = {}
    for kernel in kernels:
        ends = draw(CUTS)
        left[kernel] = list(pairwise(ends))
    stages, reads = [], first
    while left:
        kernel = draw(st.sampled_from(list(left)))
        begin, end = left[kernel].pop(0)
        weights = "own" if kernel == CELLS else "ARS(2,2,2)"
        stages.append(Stage(kernel, (reads,), value, (begin, end), weights))
        reads = value
        if not left[kernel]:
            del left[kernel]
    return stages


@st.composite
def programs(draw):
    """A splitting, or a sum of splittings that start from the same value."""
    kernels = draw(KERNELS)
    branches = draw(st.integers(0, 3))
    stages, terms = [], []
    for number in range(branches):
        stages += draw(sequences("q", f"v{number}", kernels))
        terms.append((draw(st.floats(-1.0, 1.0).filter(lambda c: abs(c) > 0.01)), f"v{number}"))
    stages += draw(sequences("q", "q", kernels))
    if terms:
        stages.append(add([*terms, (1.0 - sum(c for c, _ in terms), "q")]))
    return step(*stages)
