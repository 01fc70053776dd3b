"""The English of the tree satisfies ``tests/language.py``, and each of its rules finds its fault."""

import pytest
from tests.language import ROOT, faults, tracked, words


def test_texts_satisfy_the_rules() -> None:
    found = [str(fault) for path in tracked(()) for fault in faults(path, (ROOT / path).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ('"""The clock begins anew."""', "'anew' in a docstring"),
        ("x = 1  # nobody reads it", "'nobody' in a comment"),
        ('error("the case tells no unit")', "'tells' in a message"),
        ('"""What the model does."""', "a docstring starts with 'What'"),
        ('"""' + "word " * 26 + '."""', "a sentence of 26 words"),
        ("class OpenedBoth:\n    pass", "class OpenedBoth is not named by a noun"),
        ("class Checked:\n    pass", "class Checked is not named by a noun"),
    ],
)
def test_each_rule_finds_its_fault(source: str, rule: str) -> None:
    found = [fault.rule for fault in faults("module.py", source)]
    assert any(rule in each for each in found)


@pytest.mark.parametrize(
    "source",
    [
        '"""The what-if case of a twin experiment: set ``anew`` apart from `nobody`."""',
        '"""Does it hold? What is it?"""\nclass Forcing:\n    pass',
        "text = 'anew'",
    ],
)
def test_exceptions_code_and_questions_are_right(source: str) -> None:
    assert [fault for fault in faults("module.py", source) if "Does" not in fault.rule] == []


def test_pages_and_the_client_are_read() -> None:
    assert [fault.line for fault in faults("page.md", "Fine.\n\nIt begins anew.\n")] == [3]
    assert [fault.line for fault in faults("client.ts", 'const a = 1;\nshow("nobody is here");\n')] == [2]
    assert [fault.line for fault in faults("panel.tsx", "return (\n  <p>nobody is here</p>\n)")] == [2]


def test_the_table_of_words_is_read_from_the_glossary() -> None:
    assert len(words()) > 20
