"""``docs/explanation/verification.md`` has every check, and ``validation/transport`` the results of its script."""

from pathlib import Path

from airshed.verify import checks

ROOT = Path(__file__).parents[2]


def test_every_check_is_explained():
    text = (ROOT / "docs" / "explanation" / "verification.md").read_text(encoding="utf-8")
    for name in [*checks.checks(), "comparison with GRASP"]:  # a check only if its outputs exist
        assert f"| {name} |" in text


def test_the_study_has_its_pictures_and_no_gaps():
    folder = ROOT / "validation" / "transport"
    text = (folder / "README.md").read_text(encoding="utf-8")
    for picture in ("swirl.png", "errors.png", "courant.png", "sphere.png", "turn.png", "mixing.png", "comparison.png"):
        assert f"({picture})" in text
        assert (folder / picture).stat().st_size < 200_000
    assert "{" not in text
