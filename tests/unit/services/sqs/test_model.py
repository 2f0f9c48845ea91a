"""The rules of SQS that need no store: queue URLs, receipt handles, digests, the choice of attributes."""

from __future__ import annotations

import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.documents import dump_dataclass, load_dataclass
from redrive.core.errors import ServiceError
from redrive.services.sqs.model.messages import digest_attributes, select_attributes
from redrive.services.sqs.model.queue import Queue, QueueAttributes, RedriveAllowPolicy, RedrivePolicy, parse_queue_url
from redrive.services.sqs.model.receipts import Receipt, decode_receipt, encode_receipt

STRINGS = st.fixed_dictionaries(
    {"DataType": st.sampled_from(["String", "String.x", "Number", "Number.int"]), "StringValue": st.text(min_size=1)}
)
BINARIES = st.fixed_dictionaries(
    {"DataType": st.sampled_from(["Binary", "Binary.png"]), "BinaryValue": st.binary(min_size=1)}
)
ATTRIBUTES = st.dictionaries(st.text(min_size=1), STRINGS | BINARIES, min_size=1, max_size=10)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://127.0.0.1:4566/123456789012/orders", ("", "123456789012", "orders")),
        ("https://sqs.eu-west-1.amazonaws.com/123456789012/orders", ("", "123456789012", "orders")),
        ("http://localhost/queue/eu-west-1/123456789012/orders", ("eu-west-1", "123456789012", "orders")),
        ("123456789012/orders", ("", "123456789012", "orders")),
        ("orders", ("", "", "orders")),
        ("http://localhost/orders", ("", "", "orders")),
        ("http://localhost/", ("", "", "")),
        ("http://123456789012/orders", ("", "", "orders")),
    ],
)
def test_queue_url_means_the_end_of_its_path(url, place):
    assert parse_queue_url(url) == place


@given(st.text(alphabet="0123456789abcdef", min_size=12, max_size=12), st.integers(1, 2**63 - 1))
def test_receipt_handle_reads_back_as_it_was_written(queue_id, seq):
    receipt = Receipt(queue_id, seq, "0123456789abcdef")

    assert decode_receipt(encode_receipt(receipt), queue_id) == receipt


@given(st.text(min_size=1))
def test_text_of_any_kind_is_no_receipt_handle(text):
    with pytest.raises(ServiceError, match="ReceiptHandleIsInvalid"):
        decode_receipt(text, "0" * 12)


def test_digest_of_one_attribute_is_that_of_the_published_encoding():
    """Name, type and value each come behind their length in 4 bytes; one byte of transport type precedes the value."""
    encoded = b"\0\0\0\x04city\0\0\0\x06String\x01\0\0\0\x06London"

    attributes = {"city": {"DataType": "String", "StringValue": "London"}}

    assert digest_attributes(attributes) == hashlib.md5(encoded).hexdigest()


def test_message_without_attributes_has_no_digest_of_them():
    assert digest_attributes({}) is None


@given(ATTRIBUTES)
def test_digest_agrees_with_the_published_encoding_for_every_type(attributes):
    encoded = hashlib.md5()
    for name, attribute in sorted(attributes.items()):
        binary = attribute.get("BinaryValue")
        content = attribute["StringValue"].encode() if binary is None else binary
        for part in (name.encode(), attribute["DataType"].encode()):
            encoded.update(struct.pack(f">I{len(part)}s", len(part), part))
        encoded.update(struct.pack(f">BI{len(content)}s", 1 if binary is None else 2, len(content), content))

    assert digest_attributes(attributes) == encoded.hexdigest()


@given(ATTRIBUTES)
def test_digest_does_not_depend_on_the_order_of_attributes(attributes):
    assert digest_attributes(attributes) == digest_attributes(dict(reversed(attributes.items())))


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "missing"], "a"),
        (["ab.*"], "ab abc"),
        (["b.*", "a"], "a b"),
        (["All"], "a ab abc b"),
        ([".*"], "a ab abc b"),
    ],
)
def test_attributes_are_chosen_by_name_or_by_start_of_name(names, chosen):
    attributes = {name: {"StringValue": name} for name in ("a", "ab", "abc", "b")}

    assert " ".join(select_attributes(attributes, names)) == chosen


@pytest.mark.parametrize(
    ("policy", "allowed"),
    [
        (RedriveAllowPolicy("allowAll"), True),
        (RedriveAllowPolicy("denyAll"), False),
        (RedriveAllowPolicy("byQueue", ("a", "b")), True),
        (RedriveAllowPolicy("byQueue", ("b",)), False),
    ],
)
def test_redrive_allow_policy_decides_by_permission_and_source(policy, allowed):
    assert policy.allows("a") is allowed


def test_queue_with_everything_set_reads_back_as_it_was_stored():
    attributes = QueueAttributes(redrive=RedrivePolicy("arn", 3), redrive_allow=RedriveAllowPolicy("byQueue", ("a",)))
    queue = Queue("q", "id", "arn:aws:sqs:r:a:q", attributes, 1, 2, {"k": "v"}, 3)

    assert load_dataclass(Queue, dump_dataclass(queue)) == queue
