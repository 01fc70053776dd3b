"""Generated text of a step: products of its terms, the same text each time, each reaction named."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from airshed.kernels.cpp import described
from airshed.kernels.rates import rate_table
from airshed.kernels.schedule import schedule
from airshed.kernels.step.emit import MechanismShape, emit
from airshed.mechanism import ReactionNetwork
from airshed.mechanism.network import Term


def test_equal_products_are_added_up(compiled: object, network: Callable[[str], ReactionNetwork]) -> None:
    toy = network("toy")
    table = rate_table(toy)
    number = next(i for i, reaction in enumerate(toy.reactions) if reaction.label == "cube")
    term = Term(1.5, number, (2, 2, 2))
    (key,) = table.products([term, term])
    assert table.products([term, term])[key] == pytest.approx(3.0 * table.rates[number].coefficient)
    assert [kind for kind, _ in key] == ["n", "n", "y", "y", "y"]


def test_generated_text_is_the_same_each_time_and_names_each_reaction(
    network: Callable[[str], ReactionNetwork],
) -> None:
    toy = network("toy")
    order = schedule(toy, 3)
    texts = [emit(toy, order, MechanismShape(8, "double", 4, ("N",))).text for _ in range(2)]
    assert texts[0] == texts[1]
    for reaction in toy.reactions:
        assert described(reaction) in texts[0]
        assert described(reaction).count(f"<{reaction.label}>") == 1
        assert described(replace(reaction, text="A = B\\")) == f"<{reaction.label}> A = B_"
    assert "typedef double real;" in texts[0]
    assert "typedef float real;" in emit(toy, order, MechanismShape(8, "single", 4)).text
