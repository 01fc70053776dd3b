"""Nodes: equal nodes are one object, however they are created."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given

from airshed.formula.tree import (
    ONE,
    ZERO,
    Binary,
    Call,
    Compare,
    Expression,
    Logic,
    NamedValue,
    Negate,
    Number,
    Symbol,
    depth,
    operations,
    ordered,
    rewrite,
    substitute,
    symbols,
    walk,
    with_children,
)

from .trees import any_trees

A, B = Symbol("a"), Symbol("b")


def test_equal_nodes_are_one() -> None:
    assert Binary("+", A, Call("exp", (B,))) is Binary("+", Symbol("a"), Call("exp", (Symbol("b"),)))
    assert Number(1) is ONE
    assert len({Number(float("nan")), Number(float("nan"))}) == 1


def test_what_differs_is_two() -> None:
    class OtherName(NamedValue):
        """Another kind of name."""

    different = [
        A, B, OtherName("a"), ZERO, Number(-0.0), Negate(A), Binary("-", A, B), Binary("-", B, A), Binary("<", A, B),
        Compare("<", A, B), Call("and", (A, B)), Logic("and", (A, B)), Logic("or", (A, B)),
    ]  # fmt: skip
    assert len(set(different)) == len(different)


@given(any_trees())
def test_a_copy_is_the_same(tree: Expression) -> None:
    assert copy.deepcopy(tree) is tree
    assert pickle.loads(pickle.dumps(tree)) is tree
    assert with_children(tree, tree.children) is tree


def test_threads_make_the_same_node() -> None:
    def make(seed: int) -> list[Expression]:
        return [Binary("*", Number(seed % 3 + 0.125 * n), Call("min", (A, Number(n)))) for n in range(300)]

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(make, range(30)))
    assert all(one is other for trees in made for one, other in zip(trees, made[made.index(trees) % 3], strict=True))


def test_walk_order_depth_and_names() -> None:
    product = Binary("*", A, B)
    tree = Binary("+", Call("exp", (product,)), Compare("<", product, ONE))
    assert [type(node) for node in walk(tree)] == [
        Binary,
        Call,
        Binary,
        Symbol,
        Symbol,
        Compare,
        Binary,
        *[Symbol] * 2,
        Number,
    ]
    assert [str(node) for node in ordered([tree])] == [
        "a",
        "b",
        "a*b",
        "exp(a*b)",
        "1.0",
        "a*b < 1.0",
        "exp(a*b) + (a*b < 1.0)",
    ]
    assert depth(tree) == 4
    assert symbols(tree) == ("a", "b")
    assert operations(tree) == 3


def test_a_tree_of_which_everything_is_shared_is_small() -> None:
    tree: Expression = A
    for _ in range(200):
        tree = Binary("+", tree, tree)
    assert (depth(tree), len(ordered([tree])), operations(tree)) == (201, 201, 2**200 - 1)


@given(any_trees())
def test_substitution_and_rewriting(tree: Expression) -> None:
    assert rewrite(tree, lambda node: node) is tree
    assert substitute(tree, {"d": ONE}) is tree
    swapped = substitute(tree, {"a": B, "b": A})
    assert substitute(swapped, {"a": B, "b": A}) is tree
    assert substitute(Binary("-", A, B), {"a": B, "b": A}) is Binary("-", B, A)
    assert "a" not in symbols(substitute(tree, {"a": Call("exp", (B,))}))
