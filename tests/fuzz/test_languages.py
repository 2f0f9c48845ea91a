"""The languages that users write: a text gives a value or that language's error, for work that its length bounds."""

from __future__ import annotations

import functools

import pytest

from tests.fuzz.conftest import Cases
from tests.fuzz.languages import LANGUAGES, Language
from tests.fuzz.shrinking import shrink
from tests.fuzz.values import Draw
from tests.fuzz.work import HangError, lines_run

PUMPED = 60
"""How often a piece of a text is repeated to see how its work grows; twice that is the second measurement."""

GROWTH_MAX = 3
"""Twice the text may be three times the work: linear work with something to spare, not quadratic, which is four."""

START_LINES = 2_000
"""Work that does not grow: lines below this say nothing."""

FLOOD = 20_000
"""How often a piece is repeated where work in C must show itself, which runs no lines."""

KNOWN: frozenset[str] = frozenset()
"""Languages that are being mended. Empty but while a mending is under way."""

every_language = pytest.mark.parametrize("name", sorted(LANGUAGES.keys() - KNOWN))


@every_language
def test_any_text_gives_a_value_or_the_error_of_its_language(name: str, cases: Cases) -> None:
    language = LANGUAGES[name]
    for seed in cases(700):
        draw = Draw(seed)
        text = _text(language, draw)
        try:
            language.holds(text)
        except (Exception, HangError) as error:
            smallest = shrink(text, functools.partial(_fails, language, type(error)))
            raise AssertionError(
                f"{type(error).__name__}: {error}\n\nLANGUAGES[{name!r}].holds({smallest!r})"
            ) from error


@every_language
def test_work_grows_with_the_text_and_no_faster(name: str, cases: Cases) -> None:
    """A piece that is repeated twice as often is at most three times the lines of Python."""
    language = LANGUAGES[name]
    measured: set[str] = set()
    for seed in cases(25):
        before, piece, after = _pumped(language, Draw(seed))
        texts = [before + piece * times + after for times in (PUMPED, 2 * PUMPED)]
        if not measured.isdisjoint(texts):
            continue  # What was read once may be kept, and is then no work at all.
        measured.update(texts)

        once, twice = (lines_run(functools.partial(language.holds, text)) for text in texts)

        assert twice <= START_LINES + GROWTH_MAX * once, f"{once} lines, then {twice}: {(before, piece, after)!r}"


@every_language
def test_flood_of_one_piece_is_read_or_refused(name: str, cases: Cases) -> None:
    """Work that is done in C, where no line is run, has an end too."""
    language = LANGUAGES[name]
    for seed in cases(6):
        before, piece, after = _pumped(language, Draw(seed))
        text = before + (piece * FLOOD)[:200_000] + after
        try:
            language.holds(text)
        except HangError as error:
            raise AssertionError(f"does not end: {(before, piece, after)!r}") from error


def _text(language: Language, draw: Draw) -> str:
    """A text of the language's words, with what belongs to none."""
    if language.sentence is not None and draw.chance(0.5):
        sentence = language.sentence(draw)
        return _changed(sentence, draw) if draw.chance(0.3) else sentence
    words = [draw.choice(language.words) for _ in range(draw.one_of(1, 2, 4, 8, 16, 40))]
    if draw.chance(0.3):
        words.insert(draw.randrange(len(words)), draw.text())
    text = draw.one_of("", "", " ").join(words)
    return (_changed(text, draw) if draw.chance(0.1) else text)[:20_000]


def _changed(text: str, draw: Draw) -> str:
    return draw.changed(text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


def _pumped(language: Language, draw: Draw) -> tuple[str, str, str]:
    """What stands before, is repeated, and stands after."""
    parts = ["".join(draw.choice(language.words) for _ in range(draw.randrange(limit))) for limit in (3, 4, 3)]
    return parts[0][:300], (parts[1] or draw.choice(language.words))[:300] or "a", parts[2][:300]


def _fails(language: Language, kind: type[BaseException], text: str) -> bool:
    try:
        language.holds(text)
    except (Exception, HangError) as error:  # noqa: BLE001 - as above.
        return isinstance(error, kind)
    return False
