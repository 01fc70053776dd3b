"""Modules of the package are reached as attributes, without an import of their own."""

import pytest

import airshed


def test_a_module_is_an_attribute_and_another_name_is_not() -> None:
    assert airshed.inverse.fourdvar.__name__ == "airshed.inverse.fourdvar"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = airshed.inverse.nothing
