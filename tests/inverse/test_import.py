"""Modules of the package are attributes, without an explicit import."""

import pytest

import airshed


def test_a_module_is_an_attribute_and_another_name_is_not() -> None:
    assert airshed.inverse.fourdvar.__name__ == "airshed.inverse.fourdvar"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = airshed.inverse.nothing
