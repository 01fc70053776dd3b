"""The documentation site requests nothing from other machines, pages name files that exist, and versions agree."""

import re
import runpy
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from changes.__main__ import CHANGELOG, fragments, released, section
from tests.site import main, of_page, of_style, requests

from airshed.core.version import __version__

ROOT = Path(__file__).parents[1]
EXTENSIONS = ROOT / "docs" / "extensions"


# ---- requests to other machines --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example.org/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/a.css">',
        '<link rel="preconnect" href="https://fonts.example.org">',
        '<img src="http://example.org/a.png">',
        '<p style="background: url(https://example.org/a.png)">',
        "<style>@import 'https://example.org/a.css';</style>",
    ],
)
def test_a_request_of_a_page_is_found(text: str) -> None:
    assert len(of_page(text)) == 1


def test_links_and_own_files_are_no_requests() -> None:
    own = (
        '<script src="../_static/a.js"></script><link rel="stylesheet" href="a.css"><img src="data:image/png;base64,">'
    )
    assert of_page(f'{own}<a href="https://example.org">x</a><link rel="next" href="https://example.org">') == []
    assert of_style("src: url('../fonts/a.woff2')") == []


def test_a_request_of_a_style_sheet_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tmp_path) == 1
    assert "there is no site" in capsys.readouterr().out
    (tmp_path / "index.html").write_text("<p>")
    assert main(tmp_path) == 0
    (tmp_path / "a.css").write_text("@font-face { src: url(https://example.org/a.woff2) }")
    assert main(tmp_path) == 1
    assert list(requests(tmp_path)) == ["a.css requests https://example.org/a.woff2"]


# ---- pages -----------------------------------------------------------------------------------------------------------


def tracked(*patterns: str) -> list[Path]:
    answer = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / line for line in answer.stdout.splitlines()]


def missing_pages(text: str) -> set[str]:
    """Return the pages of docs/ that a text names and that do not exist."""
    return {name for name in re.findall(r"(?<![\w/.-])docs/[\w/-]+\.md", text) if not (ROOT / name).is_file()}


def test_pages_that_code_names_exist() -> None:
    exempt = {"tests/test_site.py", "tests/test_readme.py"}
    files = tracked("*.py", "*.toml", "*.ts", "*.tsx", "*.html", "*.csv", "*.md", "Makefile")
    wrong = {
        name: missing
        for path in files
        if (name := path.relative_to(ROOT).as_posix()) not in exempt and path.is_file()
        and (missing := missing_pages(path.read_text(encoding="utf-8", errors="replace")))
    }  # fmt: skip
    assert wrong == {}


def test_a_missing_page_is_found() -> None:
    assert missing_pages("see docs/library.md and docs/how-to/library.md") == {"docs/library.md"}


def test_every_page_is_in_a_folder_by_purpose() -> None:
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in tracked("docs/*.md")}
    assert {page for page in pages if "/" not in page} == {"architecture.md", "gallery.md", "glossary.md", "index.md"}
    folders = {page.partition("/")[0] for page in pages if "/" in page}
    assert folders == {"decisions", "explanation", "history", "how-to", "project", "reference", "tutorials"}


def listed(index: Path) -> set[Path]:
    """Return the pages in the lists of an index."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", index.read_text(encoding="utf-8"), re.DOTALL)
    names = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    return {path.resolve() for name in names for path in index.parent.glob(f"{name}.md")}


def test_every_page_is_in_an_index() -> None:
    indexes = [path for path in tracked("docs/*.md") if path.name == "index.md"]
    found = {path for index in indexes for path in listed(index)}
    pages = {path.resolve() for path in tracked("docs/*.md") if path.is_file()}
    assert pages - found == {ROOT / "docs" / "index.md"}


def test_pages_of_an_index_are_found(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.md").touch()
    (tmp_path / "index.md").write_text("[c](c.md)\n```{toctree}\n:maxdepth: 1\n\na\nb*\n```\n")
    assert {path.name for path in listed(tmp_path / "index.md")} == {"a.md", "b.md"}


def test_links_out_of_the_pages_become_paths() -> None:
    with_inner_links = runpy.run_path(str(EXTENSIONS / "links.py"))["with_inner_links"]

    code = "\n```\n[b](../../c)\n```\n"
    text = f"[a](fields.md#x) [io.md](io.md) [`README.md`](../../README.md) [data](../../cases/DATA.md){code}"
    shown = f"[a](fields.md#x) [](io.md) `README.md` data (`cases/DATA.md`){code}"
    assert with_inner_links(text, "docs/reference", "docs/reference/output.md") == shown
    assert with_inner_links("[a](docs/how-to/b.md)", ".", "docs/project/c.md") == "[a](../how-to/b.md)"


def test_tables_of_docstrings_are_literal() -> None:
    with_literal_tables = runpy.run_path(str(EXTENSIONS / "docstrings.py"))["with_literal_tables"]

    assert with_literal_tables(["Do it.", "", "case   a path", "       or a name"]) == [
        "Do it.", "", "::", "", "    case   a path", "           or a name", "",
    ]  # fmt: skip
    numpydoc = ["Do it.", "", "Parameters", "----------", "case", "    A path."]
    assert with_literal_tables(numpydoc) == numpydoc


# ---- versions and changes --------------------------------------------------------------------------------------------


def test_versions_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert citation["version"] == recipe["context"]["version"] == __version__
    assert citation["license"] == recipe["about"]["license"] == "Apache-2.0"


def test_the_recipe_has_the_dependencies_of_the_package() -> None:
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    renamed = {"matplotlib": "matplotlib-base", "tzdata": "python-tzdata"}
    names = {re.split(r"[<>=]", each)[0].lower() for each in project["dependencies"]}
    required = {renamed.get(name, name) for name in names} | {"python", "cxx-compiler", "__linux"}
    assert {each.split()[0] for each in recipe["requirements"]["run"]} == required
    assert f"python {project['requires-python']}" in recipe["requirements"]["run"]
    assert recipe["build"]["python"]["entry_points"] == [f"{name} = {at}" for name, at in project["scripts"].items()]
    assert recipe["about"]["license_file"] == project["license-files"]
    assert all((ROOT / name).is_file() for name in project["license-files"])


def test_the_lock_of_the_site_has_its_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["docs"]]
    lock = (ROOT / ".ci" / "docs.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([\w-]+)==", lock, re.MULTILINE))
    assert {re.split(r"[<>=]", each)[0].lower() for each in needed} <= locked
    assert "http" not in lock


def test_fragments_of_the_changelog_have_names() -> None:
    text = section(fragments())
    assert text.startswith("### Added\n\n- ")
    assert released(CHANGELOG.read_text(encoding="utf-8"), fragments(), "9.9.9", "2030-01-01").count("9.9.9") == 1


def test_a_release_collects_fragments(tmp_path: Path) -> None:
    (tmp_path / "b.fixed.md").write_text("An error\nis gone.\n")
    (tmp_path / "a.added.md").write_text("A feature.\n")
    text = released("# Changelog\n<!-- next version above -->\n", fragments(tmp_path), "1.0.0", "2030-01-01")
    assert "## 1.0.0 (2030-01-01)\n\n### Added\n\n- A feature.\n\n### Fixed\n\n- An error is gone.\n" in text
    with pytest.raises(ValueError, match="already has a section"):
        released(text, [], "1.0.0", "2030-01-01")
    (tmp_path / "c.odd.md").write_text("x")
    with pytest.raises(ValueError, match=r"changes/c\.odd\.md: name it"):
        fragments(tmp_path)
