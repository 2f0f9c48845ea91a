from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.handlers.judged import Judgement, Proof, judged
from benchmarks.handlers.listed import Listed, defects, read_list
from benchmarks.handlers.page import page
from benchmarks.handlers.running import Outcome, outcome_of

HANDLER = Listed(
    repository="https://github.com/someone/orders", commit="0" * 40, folder=".", file="src/app.py",
    function="handler", licence="MIT", trigger="queue", truth=["repeated"], why="Publishes each time.",
)  # fmt: skip
VERDICT = """\
hello from the handler
{
  "handler": "app:handler",
  "verdict": "repeated: in a history with 1 fault, found after 3 histories",
  "ok": false,
  "effects": {"sns Publish": 1},
  "trigger": "sqs",
  "counterexample": {"rule": "repeated", "summary": "sns Publish on orders was to happen once and happened twice."}
}
"""


def outcome(verdict: str, sentence: str = "") -> Outcome:
    return Outcome(verdict, sentence, "sqs", 0, 1.0, sentence)


def test_the_list_that_is_published_has_no_defect() -> None:
    assert list(defects(read_list())) == []


def test_the_list_is_wide_enough_to_speak_for_strangers() -> None:
    handlers = read_list()

    assert len(handlers) >= 100
    assert len({handler.repository for handler in handlers}) >= 25
    assert Counter(handler.trigger for handler in handlers)["api"] <= 10


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (replace(HANDLER, repository="https://example.com/orders"), "no repository of GitHub"),
        (replace(HANDLER, commit="main"), "no whole commit id"),
        (replace(HANDLER, function="app.handler"), "a function in a file"),
        (replace(HANDLER, folder="../elsewhere"), "not in the repository"),
        (replace(HANDLER, licence="free"), "no licence"),
        (replace(HANDLER, trigger="mail"), "no trigger"),
        (replace(HANDLER, truth=["good"]), "no verdicts"),
        (replace(HANDLER, truth=[]), "no verdicts"),
        (replace(HANDLER, why="because"), "one sentence"),
    ],
)
def test_a_defect_of_a_listed_handler_is_told(changed: Listed, told: str) -> None:
    (defect,) = defects([changed])

    assert told in defect


def test_a_handler_that_is_listed_twice_is_told() -> None:
    assert [defect for defect in defects([HANDLER, HANDLER]) if "listed twice" in defect]
    assert list(defects([HANDLER, replace(HANDLER, function="other")])) == []


def test_the_verdict_is_found_behind_what_the_handler_prints() -> None:
    found = outcome_of(1, VERDICT, "", 1.0)

    assert (found.verdict, found.trigger) == ("repeated", "sqs")
    assert found.sentence.startswith("sns Publish on orders")


@pytest.mark.parametrize(
    ("stderr", "verdict"),
    [
        ("redrive: The handler changes nothing that can be seen, so nothing can be lost.\n  Only …", "nothing"),
        ("redrive: The handler fails although nothing goes wrong: KeyError: 'id'\n    app.py:3: …", "refused"),
    ],
)
def test_a_message_without_a_verdict_is_taken_by_its_first_sentence(stderr: str, verdict: str) -> None:
    found = outcome_of(2, "", stderr, 1.0)

    assert found.verdict == verdict
    assert found.sentence.startswith("The handler")


@pytest.mark.parametrize(
    ("handler", "verdict", "judgement"),
    [
        (HANDLER, outcome("repeated"), Judgement.FINDING),
        (HANDLER, outcome("lost"), Judgement.OTHER),
        (HANDLER, outcome("safe"), Judgement.MISSED),
        (HANDLER, outcome("nothing"), Judgement.UNSEEN),
        (HANDLER, outcome("refused"), Judgement.FAILED),
        (HANDLER, outcome("unfinished"), Judgement.UNFINISHED),
        (replace(HANDLER, told="sns Publish"), outcome("repeated", "sns Publish on orders …"), Judgement.FINDING),
        (replace(HANDLER, told="sns Publish"), outcome("repeated", "item in orders …"), Judgement.CULPRIT),
        (replace(HANDLER, truth=["safe"]), outcome("safe"), Judgement.ACQUITTAL),
        (replace(HANDLER, truth=["safe"]), outcome("repeated"), Judgement.ALARM),
        (replace(HANDLER, truth=["nothing"]), outcome("nothing"), Judgement.NOTHING),
        (replace(HANDLER, truth=["nothing"]), outcome("lost"), Judgement.ALARM),
        (replace(HANDLER, truth=["fails"], told="BytesIO"), outcome("refused", "… BytesIO …"), Judgement.REFUSAL),
        (replace(HANDLER, truth=["fails"], told="BytesIO"), outcome("refused", "KeyError"), Judgement.FAILED),
    ],
)
def test_a_verdict_is_judged_by_what_a_reader_says(handler: Listed, verdict: Outcome, judgement: Judgement) -> None:
    assert judged(handler, verdict) is judgement


def test_the_page_counts_what_is_right_with_and_without_options() -> None:
    later = Proof(HANDLER, outcome("refused", "It fails: KeyError | 'id'"), outcome("repeated"))
    never = Proof(replace(HANDLER, file="other.py"), outcome("safe", "no counterexample"), None)

    text = page([later, never], seconds=20, faults=1, python="3.12.1")

    assert "| **right** | **0** (0%) | **1** (50%) | |" in text
    assert "| **wrong** | **1** (50%) | **1** (50%) | |" in text
    assert f"](https://github.com/someone/orders/blob/{'0' * 40}/src/app.py) | queue | refused | repeated |" in text
    assert "KeyError \\| 'id' |" in text
    assert "A reader: repeated. Publishes each time." in text
