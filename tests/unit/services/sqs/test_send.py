"""What may be sent, what AWS answers for it, and how a batch succeeds in part."""

from __future__ import annotations

import hashlib

import pytest

INVALID = "InvalidParameterValueException"


def text(value: str, data_type: str = "String") -> dict[str, str]:
    return {"DataType": data_type, "StringValue": value}


def test_sent_message_answers_its_id_and_digest(call, queue):
    sent = call("SendMessage", QueueUrl=queue, MessageBody="grüß dich")

    assert sent.keys() == {"MessageId", "MD5OfMessageBody"}
    assert sent["MD5OfMessageBody"] == hashlib.md5("grüß dich".encode()).hexdigest()


def test_digests_of_attributes_are_answered_only_for_those_sent(call, queue):
    sent = call(
        "SendMessage", QueueUrl=queue, MessageBody="1", MessageSystemAttributes={"AWSTraceHeader": text("Root=1")}
    )

    assert "MD5OfMessageAttributes" not in sent
    assert len(sent["MD5OfMessageSystemAttributes"]) == 32


def test_empty_body_is_a_missing_parameter(refusal, queue):
    answer = refusal("SendMessage", QueueUrl=queue, MessageBody="")

    assert answer == ("MissingRequiredParameterException", "The request must contain the parameter MessageBody.")


@pytest.mark.parametrize("body", ["a\x00", "\x1f", "\ufffe", "\uffff", "\x0b", "ü\x00"])
def test_character_that_xml_does_not_know_is_refused(refusal, queue, body):
    assert refusal("SendMessage", QueueUrl=queue, MessageBody=body)[0] == "InvalidMessageContents"


@pytest.mark.parametrize("body", ["\t\n\r", "\x20\x7f", "\ud7ff", "\ue000", "\ufffd", "\U00010000", "\U0010ffff"])
def test_characters_at_the_edges_of_the_allowed_ranges_are_taken(call, queue, body):
    call("SendMessage", QueueUrl=queue, MessageBody=body)

    assert call("ReceiveMessage", QueueUrl=queue)["Messages"][0]["Body"] == body


def test_messages_with_and_without_attributes_share_a_batch(call, queue):
    entries = [
        {"Id": "1", "MessageBody": "plain"},
        {"Id": "2", "MessageBody": "more", "MessageAttributes": {"a": text("b")}},
    ]

    call("SendMessageBatch", QueueUrl=queue, Entries=entries)

    received = call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, MessageAttributeNames=["All"])["Messages"]
    shown = [(message["Body"], message.get("MessageAttributes")) for message in received]
    assert shown == [("plain", None), ("more", {"a": text("b")})]


def test_body_of_the_maximum_size_is_taken_and_one_byte_more_refused(call, refusal, queue):
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"MaximumMessageSize": "1024"})

    call("SendMessage", QueueUrl=queue, MessageBody="ü" * 512)

    assert refusal("SendMessage", QueueUrl=queue, MessageBody="x" * 1025) == (
        INVALID,
        "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.",
    )


def test_size_counts_names_types_and_values_of_attributes(call, refusal, queue):
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"MaximumMessageSize": "1024"})
    attributes = {"name": text("value")}

    call("SendMessage", QueueUrl=queue, MessageBody="x" * (1024 - 15), MessageAttributes=attributes)

    assert refusal("SendMessage", QueueUrl=queue, MessageBody="x" * (1024 - 14), MessageAttributes=attributes)


def test_trace_header_does_not_count_toward_the_size(call, queue):
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"MaximumMessageSize": "1024"})

    header = {"AWSTraceHeader": text("Root=1")}

    assert call("SendMessage", QueueUrl=queue, MessageBody="x" * 1024, MessageSystemAttributes=header)


@pytest.mark.parametrize("delay", [-1, 901])
def test_delay_outside_its_range_is_refused(refusal, queue, delay):
    assert refusal("SendMessage", QueueUrl=queue, MessageBody="1", DelaySeconds=delay) == (
        INVALID,
        f"Value {delay} for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.",
    )


def test_parameter_of_fifo_queues_is_refused(refusal, queue):
    assert refusal("SendMessage", QueueUrl=queue, MessageBody="1", MessageDeduplicationId="x") == (
        INVALID,
        (
            "Value x for parameter MessageDeduplicationId is invalid. "
            "Reason: The request include parameter that is not valid for this queue type."
        ),
    )


def test_group_id_on_a_standard_queue_is_kept_with_the_message(call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1", MessageGroupId="tenant-1")

    received = call("ReceiveMessage", QueueUrl=queue, MessageSystemAttributeNames=["MessageGroupId"])

    assert received["Messages"][0]["Attributes"] == {"MessageGroupId": "tenant-1"}


@pytest.mark.parametrize("group", ["", "a b", "x" * 129, "ä"])
def test_group_id_outside_its_charset_or_length_is_refused(refusal, queue, group):
    assert refusal("SendMessage", QueueUrl=queue, MessageBody="1", MessageGroupId=group) == (
        INVALID,
        (
            f"Value {group} for parameter MessageGroupId is invalid. Reason: "
            "MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length."
        ),
    )


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        (text(""), "Message (user) attribute 'x' must contain a non-empty value of type 'String'."),
        (
            {"DataType": "Binary", "BinaryValue": b"", "StringValue": "a"},
            "Message (user) attribute 'x' must contain a non-empty value of type 'Binary'.",
        ),
        ({"StringValue": "a"}, "The message (user) attribute 'x' must contain non-empty message attribute type."),
        (text("a", "Number"), "Can't cast the value of message (user) attribute 'x' to a number."),
        (text("٣", "Number"), "Can't cast the value of message (user) attribute 'x' to a number."),
        # Digits that were divided among two parts of a pattern in all ways: quadratic work over 250,000 characters.
        (text("1" * 250_000 + "x", "Number"), "Can't cast the value of message (user) attribute 'x' to a number."),
        (text("\x00"), "Message (user) attribute 'x' contains invalid characters."),
        (
            text("a", "Text"),
            ("The type of message (user) attribute 'x' is invalid. "
             "You must use only the following supported type prefixes: Binary, Number, String."),
        ),
    ],
)  # fmt: skip
def test_attribute_whose_value_does_not_fit_its_type_is_refused(refusal, queue, attribute, message):
    answer = refusal("SendMessage", QueueUrl=queue, MessageBody="1", MessageAttributes={"x": attribute})

    assert answer == (INVALID, message)


@pytest.mark.parametrize("number", ["0", "-1", "+1.5", ".5", "5.", "1e10", "1E-3"])
def test_number_attribute_takes_every_spelling_of_a_number(call, queue, number):
    call("SendMessage", QueueUrl=queue, MessageBody="1", MessageAttributes={"x": text(number, "Number.float")})

    received = call("ReceiveMessage", QueueUrl=queue, MessageAttributeNames=["x"])

    assert received["Messages"][0]["MessageAttributes"] == {"x": text(number, "Number.float")}


@pytest.mark.parametrize("name", ["", ".a", "a.", "a..b", "AWS.a", "aws.a", "Amazon.a", "a b", "x" * 257])
def test_attribute_name_outside_the_rules_is_refused(refusal, queue, name):
    code, message = refusal("SendMessage", QueueUrl=queue, MessageBody="1", MessageAttributes={name: text("v")})

    assert code == INVALID
    assert message.startswith(f"Message (user) attribute name '{name}' is invalid.")


def test_more_than_ten_attributes_are_refused(refusal, queue):
    attributes = {f"a{number}": text("v") for number in range(11)}

    answer = refusal("SendMessage", QueueUrl=queue, MessageBody="1", MessageAttributes=attributes)

    assert answer == (INVALID, "Number of message attributes [11] exceeds the allowed maximum [10].")


def test_list_values_are_refused_as_unsupported(refusal, queue):
    attribute = {"DataType": "String", "StringListValues": ["a"]}

    answer = refusal("SendMessage", QueueUrl=queue, MessageBody="1", MessageAttributes={"x": attribute})

    assert answer[0] == "UnsupportedOperation"


@pytest.mark.parametrize(
    "attributes", [{"Other": text("v")}, {"AWSTraceHeader": text("1", "Number")}, {"AWSTraceHeader": text("")}]
)
def test_system_attribute_other_than_a_trace_header_of_text_is_refused(refusal, queue, attributes):
    answer = refusal("SendMessage", QueueUrl=queue, MessageBody="1", MessageSystemAttributes=attributes)

    assert answer[0] == INVALID


def test_batch_answers_each_entry_by_its_id(call, queue):
    entries = [{"Id": "a", "MessageBody": "1"}, {"Id": "b", "MessageBody": "2", "MessageAttributes": {"x": text("v")}}]

    answer = call("SendMessageBatch", QueueUrl=queue, Entries=entries)

    assert [entry["Id"] for entry in answer["Successful"]] == ["a", "b"]
    assert "MD5OfMessageAttributes" in answer["Successful"][1]
    assert "Failed" not in answer


def test_failed_entries_do_not_keep_others_from_being_sent(call, queue):
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"MaximumMessageSize": "1024"})
    entries = [
        {"Id": "long", "MessageBody": "x" * 1025},
        {"Id": "fine", "MessageBody": "fine"},
        {"Id": "late", "MessageBody": "x", "DelaySeconds": 901},
    ]

    answer = call("SendMessageBatch", QueueUrl=queue, Entries=entries)

    assert [entry["Id"] for entry in answer["Successful"]] == ["fine"]
    assert sorted(answer["Failed"], key=lambda entry: entry["Id"]) == [
        {
            "Id": "late",
            "SenderFault": True,
            "Code": "InvalidParameterValue",
            "Message": "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.",
        },
        {
            "Id": "long",
            "SenderFault": True,
            "Code": "InvalidParameterValue",
            "Message": "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.",
        },
    ]
    assert [one["Body"] for one in call("ReceiveMessage", QueueUrl=queue)["Messages"]] == ["fine"]


def test_batch_of_more_bytes_than_allowed_is_refused_whole(call, refusal, queue):
    entries = [{"Id": "a", "MessageBody": "x" * 1_048_576}, {"Id": "b", "MessageBody": "x"}]

    assert refusal("SendMessageBatch", QueueUrl=queue, Entries=entries) == (
        "BatchRequestTooLong",
        "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.",
    )
    assert call("ReceiveMessage", QueueUrl=queue) == {}


@pytest.mark.parametrize(
    ("ids", "refused"),
    [
        ([], ("EmptyBatchRequest", "There should be at least one SendMessageBatchRequestEntry in the request.")),
        (
            [str(number) for number in range(11)],
            ("TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. You have sent 11."),
        ),
        (["a", "a"], ("BatchEntryIdsNotDistinct", "Id a repeated.")),
        (
            ["a b"],
            (
                "InvalidBatchEntryId",
                (
                    "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
                    "It can be at most 80 letters long."
                ),
            ),
        ),
    ],
)
def test_batch_with_odd_ids_is_refused_whole(refusal, queue, ids, refused):
    entries = [{"Id": entry_id, "MessageBody": "1"} for entry_id in ids]

    assert refusal("SendMessageBatch", QueueUrl=queue, Entries=entries) == refused


@pytest.mark.parametrize(
    ("entry", "missing"),
    [({"MessageBody": "1"}, "Id"), ({"Id": "b"}, "MessageBody"), ({"Id": "b", "MessageBody": ""}, "MessageBody")],
)
def test_batch_entry_without_a_required_member_refuses_the_whole(refusal, queue, entry, missing):
    assert refusal("SendMessageBatch", QueueUrl=queue, Entries=[{"Id": "a", "MessageBody": "1"}, entry]) == (
        "MissingRequiredParameterException",
        f"The request must contain the parameter SendMessageBatchRequestEntry.2.{missing}.",
    )


def test_character_that_no_message_may_have_is_named(refusal, queue):
    assert refusal("SendMessage", QueueUrl=queue, MessageBody="a\x07\x01")[1] == (
        "Invalid binary character '#x7' was found in the message body, the set of allowed characters is #x9 | #xA | "
        "#xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]."
    )  # fmt: skip
