"""Dead letters, whoever writes them: cut to what a queue takes, with nothing in them that no message may contain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from redrive.delivery.sources.letters import Letter, attribute, cut, fit_letter, letter_bytes, writable
from redrive.languages.letters import LAMBDA, SCHEDULER, LetterNames

NAMES = LetterNames(code="CODE", message="WHY", truncated="CUT")


def a_letter(body: str, message: str) -> Letter:
    return Letter(NAMES, body, {"CODE": attribute("no"), "WHY": attribute(message), "CUT": attribute("false")})


def test_letter_that_fits_exactly_is_not_cut() -> None:
    letter = a_letter("body", "no")
    size = letter_bytes(letter.body, letter.attributes)

    assert fit_letter(letter, size) is letter
    assert fit_letter(letter, size - 1).body == "bod"


@given(body=some.text(min_size=1), message=some.text(), bytes_max=some.integers(60, 200))
def test_letter_that_is_cut_fits_and_says_so_by_the_names_of_its_source(
    body: str, message: str, bytes_max: int
) -> None:
    """The body is cut from its end, and IS_PAYLOAD_TRUNCATED, or what its source calls it, speaks of the body alone."""
    letter = a_letter(writable(body), message)

    fitted = fit_letter(letter, bytes_max)

    assert letter_bytes(fitted.body, fitted.attributes) <= max(bytes_max, letter_bytes("", a_letter("", "").attributes))
    assert letter.body.startswith(fitted.body)
    assert fitted.attributes["CUT"]["StringValue"] == ("false" if fitted.body == letter.body else "true")


def test_cut_text_ends_with_a_whole_character() -> None:
    assert cut("aä", 2) == "a"
    assert cut("aä", 3) == "aä"
    assert cut("a", -1) == ""


def test_writable_text_keeps_everything_that_a_message_may_contain() -> None:
    text = "\t\n\r ~\ud7ff\ue000\ufffd\U00010000\U0010ffff"

    assert writable(text) == text
    assert writable("a\x00b\x1fc\ufffed\uffffe") == r"a\u0000b\u001fc\ufffed\uffffe"


def test_reader_of_letters_finds_the_names_that_writers_use() -> None:
    """Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html and
    https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
    """
    assert sorted(SCHEDULER.all) == [
        "ERROR_CODE", "ERROR_MESSAGE", "EXECUTION_ID", "EXHAUSTED_RETRY_CONDITION", "IS_PAYLOAD_TRUNCATED",
        "RETRY_ATTEMPTS", "SCHEDULED_TIME", "SCHEDULE_ARN", "TARGET_ARN",
    ]  # fmt: skip
    assert sorted(LAMBDA.all) == ["ErrorCode", "ErrorMessage", "RequestID"]
