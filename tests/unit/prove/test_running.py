"""Two runs that have met the same go on alike, as far as what they have met can be compared."""

from __future__ import annotations

import io

from redrive.prove.play.running import Run
from redrive.prove.process.subject import GivenSubject


def met(*told: object) -> Run:
    run = Run(1, 30_000, GivenSubject(met), "handler")
    for one in told:
        run.meet(1_000, one)
    return run


def test_how_a_request_went_is_not_what_a_run_is_told() -> None:
    first = {"Item": {"id": {"S": "a"}}, "ResponseMetadata": {"RequestId": "1"}}
    second = {"Item": {"id": {"S": "a"}}, "ResponseMetadata": {"RequestId": "2"}}
    other = {"Item": {"id": {"S": "b"}}, "ResponseMetadata": {"RequestId": "1"}}

    assert met(first).met == met(second).met
    assert met(first).met != met(other).met


def test_stream_among_the_answers_keeps_a_run_from_being_compared() -> None:
    assert met({"Item": {"n": [1, None, b"x"]}}).is_told_all
    assert not met({"Payload": io.BytesIO(b"x")}).is_told_all
    assert not met("plain", object(), "plain").is_told_all
