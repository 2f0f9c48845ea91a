"""Publishing messages, to topics and to phones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.entropy import new_row_id
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import Beforehand, operation
from redrive.services.sns import limits
from redrive.services.sns.access import authorize, existing_topic
from redrive.services.sns.encryption import check_key
from redrive.services.sns.mailbox import capture
from redrive.services.sns.model.message import Draft, read_draft
from redrive.services.sns.model.requests import invalid
from redrive.services.sns.model.topic import Topic
from redrive.services.sns.publish import publish as accept
from redrive.services.sns.publish import work_before_publishing
from redrive.services.sns.rates import check_fifo_rate
from redrive.services.sns.subscribers import subscribers_of
from redrive.store.api import Transaction

_BATCH_ID = re.compile(r"[A-Za-z0-9_-]+")
_PHONE = re.compile(r"\+[1-9][0-9]{1,14}", re.ASCII)
_LARGE_PROTOCOLS = frozenset({"sqs", "lambda", "firehose"})
_LARGE_SUBSCRIPTIONS_MAX = 100


@operation("Publish")
def publish(
    tx: Transaction, caller: Caller, *, message: str, topic_arn: str | None = None, target_arn: str | None = None,
    phone_number: str | None = None, subject: str | None = None, message_structure: str | None = None,
    message_attributes: Mapping[str, Document] | None = None, message_deduplication_id: str | None = None,
    message_group_id: str | None = None,
) -> Document | Beforehand:  # fmt: skip
    """Publish a message to a topic, or send a text message to a phone, which the mailbox captures.

    Errors: InvalidParameterException; InvalidParameterValueException; NotFoundException; AuthorizationErrorException;
    KMSDisabledException and others of the topic's key; ThrottledException (a FIFO topic).
    Source: https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
    """
    entry: Document = {
        "Message": message, "Subject": subject, "MessageStructure": message_structure,
        "MessageAttributes": message_attributes, "MessageDeduplicationId": message_deduplication_id,
        "MessageGroupId": message_group_id,
    }  # fmt: skip
    given = [one for one in (topic_arn, target_arn, phone_number) if one]
    if len(given) != 1:
        what = "TopicArn or TargetArn Reason: no value for required parameter"
        raise invalid(what if not given else "TopicArn, TargetArn and PhoneNumber cannot be given together")
    if phone_number:
        return _send_text(tx, caller, phone_number, entry)
    if target_arn and ":endpoint/" in target_arn:
        raise invalid("TargetArn Reason: No endpoint found for the target arn specified")
    parameter = "TopicArn" if topic_arn else "TargetArn"
    topic = existing_topic(tx, caller, given[0], "sns:Publish", parameter=parameter)
    draft = read_draft(topic, entry)
    _check_large(tx, topic, draft)
    check_fifo_rate(tx, topic, [draft])
    check_key(tx, caller, topic)
    return work_before_publishing(tx, topic) or accept(tx, caller, topic, [draft])[0]


@operation("PublishBatch")
def publish_batch(
    tx: Transaction, caller: Caller, *, topic_arn: str, publish_batch_request_entries: Sequence[Document]
) -> Document | Beforehand:
    """Publish up to ten messages; each is accepted or refused by itself.

    Errors: EmptyBatchRequestException; TooManyEntriesInBatchRequestException; BatchEntryIdsNotDistinctException;
    InvalidBatchEntryIdException; BatchRequestTooLongException; as Publish.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html
    """
    entries = publish_batch_request_entries
    topic = existing_topic(tx, caller, topic_arn, "sns:Publish")
    _check_entries(entries)
    drafts: dict[str, Draft] = {}
    failed: list[Document] = []
    for entry in entries:
        try:
            draft = read_draft(topic, entry)
            _check_large(tx, topic, draft)
        except ServiceError as error:
            if topic.is_fifo and "MessageGroupId parameter is required" in error.message:
                raise
            failed.append(_failed(entry["Id"], error))
        else:
            drafts[entry["Id"]] = draft
    if sum(draft.size for draft in drafts.values()) > topic.bytes_max:
        message = "The length of all the messages put together is more than the limit."
        raise ServiceError("BatchRequestTooLongException", message)
    check_fifo_rate(tx, topic, list(drafts.values()))
    check_key(tx, caller, topic)
    work = work_before_publishing(tx, topic)
    if work is not None:
        return work
    answers = accept(tx, caller, topic, list(drafts.values())) if drafts else []
    successful = [{"Id": entry_id, **answer} for entry_id, answer in zip(drafts, answers, strict=True)]
    return {"Successful": successful, "Failed": failed}


def _check_entries(entries: Sequence[Document]) -> None:
    """Errors: ServiceError for a batch that is refused as a whole."""
    if not entries:
        raise ServiceError("EmptyBatchRequestException", "The batch request doesn't contain any entries.")
    if len(entries) > limits.BATCH_ENTRIES_MAX:
        message = "The batch request contains more entries than permissible."
        raise ServiceError("TooManyEntriesInBatchRequestException", message)
    ids = [str(entry["Id"]) for entry in entries]
    if len(set(ids)) < len(ids):
        message = "Two or more batch entries in the request have the same Id."
        raise ServiceError("BatchEntryIdsNotDistinctException", message)
    for entry_id in ids:
        what = "The Id of a batch entry in the batch request"
        if len(entry_id) > limits.BATCH_ID_LENGTH_MAX:
            raise ServiceError("InvalidBatchEntryIdException", f"{what} is too long: {entry_id}")
        if not _BATCH_ID.fullmatch(entry_id):
            raise ServiceError(
                "InvalidBatchEntryIdException", f"{what} contains an impermissible character: {entry_id}"
            )


_ENTRY_CODES = {
    "InvalidParameterException": "InvalidParameter",
    "InvalidParameterValueException": "ParameterValueInvalid",
}


def _failed(entry_id: str, error: ServiceError) -> Document:
    code = _ENTRY_CODES.get(error.code, error.code)
    return {"Id": entry_id, "Code": code, "Message": error.message, "SenderFault": error.fault == "client"}


def _check_large(tx: Transaction, topic: Topic, draft: Draft) -> None:
    """Refuse a message of more than 256 KiB where a subscription cannot take it. Errors: InvalidParameterException."""
    if draft.size <= limits.MESSAGE_BYTES_DEFAULT:
        return
    subscriptions = subscribers_of(tx, topic.scope, topic.name).subscriptions
    protocols = {one.protocol for one in subscriptions.values()}
    if len(subscriptions) > _LARGE_SUBSCRIPTIONS_MAX or not protocols <= _LARGE_PROTOCOLS:
        raise invalid("Message too long")


def _send_text(tx: Transaction, caller: Caller, phone: str, entry: Document) -> Document:
    if not _PHONE.fullmatch(phone):
        raise invalid(f"PhoneNumber Reason: {phone} is not valid to publish to")
    authorize(tx, caller, "sns:Publish", phone)
    draft = read_draft(None, entry)
    text = draft.texts.get("sms", draft.texts.get("default", draft.text))
    message_id = new_row_id(tx.entropy, tx.now)
    return capture(
        tx, caller.scope, protocol="sms", address=phone, topic_arn="", text=text, message_id=message_id
    )  # fmt: skip
