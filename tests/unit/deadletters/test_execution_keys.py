"""The key of a letter is the key under which its function has the execution."""

from __future__ import annotations

import base64
import gzip
import json

import pytest
from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig
from aws_lambda_powertools.utilities.idempotency.persistence.dynamodb import DynamoDBPersistenceLayer
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.errors import UserError
from redrive.deadletters.execution_keys import KeySource, powertools_id
from tests.unit.deadletters.makers import of_function, of_queue, of_schedule

BODY = json.dumps({"order": {"id": "o-7"}, "text": "ä"})


def keys(source: KeySource, letter: object) -> list[str]:
    return [key.value for key in source.texts(letter)]  # type: ignore[arg-type]


def test_key_of_a_schedule_is_its_execution_id_for_certain() -> None:
    first = KeySource().texts(of_schedule("e-1"))[0]

    assert (first.value, first.is_certain) == ("e-1", True)


def test_execution_id_in_a_body_is_tried_before_the_message_id() -> None:
    letter = of_queue(json.dumps({"context": {"execution_id": "e-2"}}))

    assert keys(KeySource(), letter) == ["e-2", "m-1"]


def test_message_id_alone_is_not_certain() -> None:
    assert [key.is_certain for key in KeySource().texts(of_queue("hello"))] == [False]


@pytest.mark.parametrize(
    "expression",
    [
        "Records[0].powertools_json(body).order.id", "powertools_json(body).order.id", "body.order.id", "order.id",
        "powertools_json(Records[0].body).order.id",
    ],
)  # fmt: skip
def test_expression_is_applied_to_what_the_function_may_be_given(expression: str) -> None:
    assert keys(KeySource(expression, "orders:"), of_queue(BODY)) == ["orders:o-7"]


def test_each_source_may_have_an_expression_of_its_own() -> None:
    letter = of_queue(BODY)
    name = letter.source_arn.rsplit(":", 1)[-1]

    assert keys(KeySource("text", by_source={name: "order.id", "other": "no"}), letter) == ["o-7"]
    assert keys(KeySource("text", by_source={letter.source_arn: "order.id"}), letter) == ["o-7"]
    assert keys(KeySource("text", by_source={"other": "order.id"}), letter) == ["ä"]


def test_expression_on_the_event_of_a_function() -> None:
    assert keys(KeySource("order.id"), of_function({"order": {"id": 7}})) == ["7"]


def test_packed_texts_are_unpacked() -> None:
    packed = base64.b64encode(gzip.compress(b'{"id": "o-8"}')).decode()

    found = keys(KeySource("powertools_json(powertools_base64_gzip(data)).id"), of_function({"data": packed}))

    assert found == ["o-8"]


@pytest.mark.parametrize("body", ["no JSON", "{}", '{"order": {"id": true}}', '{"order": {"id": ""}}', '{"order": []}'])
def test_letter_without_the_key_has_none(body: str) -> None:
    assert keys(KeySource("order.id"), of_queue(body)) == []


def test_expression_that_is_no_jmespath_is_refused() -> None:
    with pytest.raises(UserError, match=r"'body\.\[' is not JMESPath"):
        KeySource("body.[")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda some: st.lists(some) | st.dictionaries(st.text(), some),
    )
)
def test_id_of_powertools_is_what_powertools_computes(value: object) -> None:
    layer = DynamoDBPersistenceLayer(table_name="t", boto3_client=object())
    layer.configure(IdempotencyConfig(), key_prefix="f.app.handler")
    theirs = f"{layer.function_name}#{layer._generate_hash(value)}"  # noqa: SLF001 - Their own computation is the oracle.

    assert powertools_id("f.app.handler", value) == theirs


@given(
    st.text(),
    st.sampled_from(
        ["order.id", "body.order.id", "Records[0].powertools_json(body).a", "powertools_base64_gzip(body)"]
    ),
)
def test_no_body_breaks_the_search_for_a_key(body: str, expression: str) -> None:
    assert len(keys(KeySource(expression), of_queue(body))) <= 1
