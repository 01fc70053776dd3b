"""``docs/explanation/verification.md`` names every check; ``validation/transport`` is up to date with its script."""

from pathlib import Path

from airshed.verify import checks

ROOT = Path(__file__).parents[2]


def test_every_check_is_explained():
    text = (ROOT / "docs" / "explanation" / "verification.md").read_text(encoding="utf-8")
    for name in [*checks.checks(), "pasture beside GRASP"]:  # which is there where its outputs are
        assert f"| {name} |" in text


def test_the_study_has_its_pictures_and_no_gaps():
    folder = ROOT / "validation" / "transport"
    text = (folder / "README.md").read_text(encoding="utf-8")
    for picture in ("swirl.png", "errors.png", "courant.png", "sphere.png", "turn.png", "mixing.png", "comparison.png"):
        assert f"({picture})" in text
        assert (folder / picture).stat().st_size < 200_000
    assert "{" not in text
