"""The pages on AWS's behaviour say how sure each rule is in one set of words, and who has recorded what is recorded."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import pytest

from tests.tidy.source import ROOT

PAGES = ROOT / "docs" / "semantics"
LEGEND = PAGES / "README.md"
NAMED = re.compile(r"`(test_\w+)`")
DEFINED = re.compile(r"^ *def (test_\w+)", re.MULTILINE)
CELL = re.compile(r"(?<!\\)\|")
KEY = re.compile(r"^\| ([A-Z]{2,5}) \|", re.MULTILINE)
RECORDED = re.compile(r"\brecorded\b(?: \(([A-Z]+)\))?", re.IGNORECASE)
# Pages of AWS's documentation tell what is documented, not who has recorded an answer.
REPORT = re.compile(r"\]\(https://(?!docs\.aws\.amazon\.com)")
# `Follows` is for a rule that two others imply.
WORDS = re.compile(r"\b(documented|recorded|from memory|judgement|ours|deviation|not implemented|follows)\b|^[–—]$")
# Words of which each page once had its own; those of the legend say the same.
RETIRED = re.compile(r"\b(high|medium|low|judged|measured|observed|reported|experience)\b", re.IGNORECASE)


def rated_rows(page: str) -> Iterator[tuple[int, str, str]]:
    """Line, row and cell of confidence, for each row of a table that has such a column."""
    column: int | None = None
    for line, text in enumerate(page.splitlines(), 1):
        cells = [cell.strip() for cell in CELL.split(text)[1:-1]]
        if not text.startswith("|"):
            column = None
        elif "Confidence" in cells:
            column = cells.index("Confidence")
        elif column is not None and not set(text) <= set("|-: "):
            yield line, text, cells[column]


def unnamed_recorders(page: str, keys: Collection[str]) -> Iterator[str]:
    """Rows that call something recorded, and name neither a key of the legend nor link a report."""
    for line, text, confidence in rated_rows(page):
        for key in RECORDED.findall(confidence):
            if key not in keys and not REPORT.search(text):
                yield f"line {line}: recorded by whom? A key of the legend in brackets, a link, or: from memory"


def foreign_words(page: str) -> Iterator[str]:
    """Rows that say how sure they are in words that the legend does not have."""
    for line, _, confidence in rated_rows(page):
        if RETIRED.search(confidence) or not WORDS.search(confidence.lower()):
            yield f"line {line}: {confidence!r} is not said in the words of the legend"


def missing_tests(page: str, tests: Collection[str]) -> list[str]:
    """The tests that a page names in full and that do not exist. A name that ends in `…` is a beginning."""
    return sorted(set(NAMED.findall(page)) - set(tests))


def _tests() -> set[str]:
    files = (ROOT / "tests").rglob("test_*.py")
    return {name for file in files for name in DEFINED.findall(file.read_text(encoding="utf-8"))}


def _keys() -> list[str]:
    return KEY.findall(LEGEND.read_text(encoding="utf-8"))


pages = pytest.mark.parametrize("name", [path.name for path in sorted(PAGES.glob("*.md")) if path != LEGEND])


@pages
def test_row_that_says_recorded_names_who_has_recorded_it(name: str) -> None:
    assert list(unnamed_recorders((PAGES / name).read_text(encoding="utf-8"), _keys())) == []


@pages
def test_rows_say_how_sure_they_are_in_the_words_of_the_legend(name: str) -> None:
    page = (PAGES / name).read_text(encoding="utf-8")

    assert "(README.md)" in page
    assert list(foreign_words(page)) == []


def test_keys_of_the_legend_are_in_use() -> None:
    used = {
        key
        for path in PAGES.glob("*.md")
        for _, _, confidence in rated_rows(path.read_text(encoding="utf-8"))
        for key in RECORDED.findall(confidence)
    }

    assert [key for key in _keys() if key not in used] == []


def _page(confidence: str, source: str = "–") -> str:
    return f"| Rule | Source | Confidence | Test |\n|---|---|---|---|\n| a \\| b | {source} | {confidence} | x |\n"


@pytest.mark.parametrize(
    ("confidence", "source"),
    [
        ("recorded", "–"),
        ("documented; text recorded", "[page](https://docs.aws.amazon.com/x.html)"),
        ("recorded (XY)", "–"),
        ("Recorded (LS) for the one, recorded for the other", "–"),
    ],
)
def test_recorder_that_is_not_named_is_seen(confidence: str, source: str) -> None:
    assert len(list(unnamed_recorders(_page(confidence, source), ["LS"]))) == 1


def test_named_recorders_and_rules_that_speak_of_records_pass() -> None:
    linked = _page("recorded", "[answer](https://github.com/a/b/issues/1)")
    spoken = _page("ours").replace("a \\| b", "what was recorded")

    assert (
        list(unnamed_recorders(_page("documented; text recorded (LS)") + "\n" + linked + "\n" + spoken, ["LS"])) == []
    )


@pytest.mark.parametrize("confidence", ["high", "documented; texts low", "measured", "sure", ""])
def test_word_that_the_legend_does_not_have_is_seen(confidence: str) -> None:
    assert len(list(foreign_words(_page(confidence)))) == 1


def test_tests_that_the_pages_name_are_there() -> None:
    tests = _tests()

    assert {path.name: missing_tests(path.read_text("utf-8"), tests) for path in PAGES.glob("*.md")} == {
        path.name: [] for path in PAGES.glob("*.md")
    }


def test_row_whose_test_is_gone_is_seen() -> None:
    assert missing_tests("`test_here`, `test_gone`, `test_begins_…`", ["test_here"]) == ["test_gone"]
