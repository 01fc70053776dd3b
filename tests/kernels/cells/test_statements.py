"""Groups of statements: all loads precede the first store, and later statements use local numbers of earlier ones."""

import pytest

from airshed.kernels.cells.statements import group

SOLUTION = ["x[1] += a[0] * x[0];   // NO", "x[2] += a[1] * x[0] + a[2] * x[1];", "x[0] = (x[0] + a[3] * x[2]) * a[4];"]


def test_a_group_computes_before_it_stores() -> None:
    (found,) = group(SOLUTION, 100)
    assert found == (
        "{ const pack new_x_1 = x[1] + (a[0] * x[0]); const pack new_x_2 = x[2] + (a[1] * x[0] + a[2] * new_x_1);"
        " const pack new_x_0 = (x[0] + a[3] * new_x_2) * a[4];"
        " x[1] = new_x_1; x[2] = new_x_2; x[0] = new_x_0; }   // NO"
    )
    (rates,) = group(["store(k, 0, parameter[3] * 2.0);   // A = B", "store(k, 1, dsplat(1.0));"], 100)
    assert rates == (
        "{ const dpack new_k_0 = parameter[3] * 2.0; const dpack new_k_1 = dsplat(1.0);"
        " store(k, 0, new_k_0); store(k, 1, new_k_1); }   // A = B"
    )


@pytest.mark.parametrize(("most", "sizes"), [(0, [1, 1, 1]), (1, [1, 1, 1]), (8, [2, 1]), (13, [3])])
def test_the_number_of_loads_limits_a_group(most: int, sizes: list[int]) -> None:
    found = group(SOLUTION, most)
    assert [max(each.count("const pack"), 1) for each in found] == sizes
    assert (found == SOLUTION) == (most == 0)


def test_other_statements_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be in a group: y"):
        group(["y[0] = x[1];"], 10)
