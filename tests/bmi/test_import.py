"""Only `airshed.bmi` imports bmipy; where bmipy is missing, a line of error names the package to install."""

import subprocess
import sys


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_airshed_imports_bmi_on_request_only() -> None:
    codes = ("airshed, airshed.runtime.simulation", "airshed.bmi")
    printed = python("".join(f"import {code}, sys; print('bmipy' in sys.modules)\n" for code in codes))
    assert printed.split() == ["False", "True"]


def test_without_bmipy_the_error_names_the_package() -> None:
    code = "import sys; sys.modules['bmipy'] = None\ntry: import airshed.bmi\nexcept Exception as e: print(repr(e))"
    assert python(code).strip() == """CaseError('airshed.bmi needs bmipy: pip install "airshed[bmi]"')"""
