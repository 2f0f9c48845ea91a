"""The words of a story about what triggers a handler: of FIFO queues, topics, schedules, tasks and APIs."""

from __future__ import annotations

from redrive.prove.play.faults import Act
from redrive.prove.stage.trigger import Kind

_KEPT = "Lambda keeps its event for a retry"
_INVOKED_AGAIN = "the function is invoked again with the events of the dead letters"
_AS_REQUEST = "event, as the request"

KEYS = {
    Kind.FIFO: "take the key from the message's body: after 5 minutes a producer's duplicate is a message of its own, "
    "with another message id, and what comes back from a dead-letter queue has another deduplication id",
    Kind.SNS: "take the key from the message, where its publisher says what it is about; the MessageId is the same "
    "when SNS delivers twice, and another one when the publisher publishes twice; never take the request id",
    Kind.SCHEDULE: "take <aws.scheduler.execution-id> or <aws.scheduler.scheduled-time> of the schedule's Input as the "
    "key; never the request id, which a second delivery changes",
    Kind.TASK: "take a part of the input as the key, such as $$.Execution.Id with the state's name; never the request "
    "id, which each retry of the task changes",
    Kind.API: "take the key from what the client sends, such as an Idempotency-Key header; requestContext.requestId "
    "and the request id are others when the client asks again",
}
GIVEN = {
    Kind.FIFO: "message", Kind.SNS: _AS_REQUEST, Kind.SCHEDULE: _AS_REQUEST,
    Kind.TASK: "input of the task, as the request",
    Kind.API: "client's request, as the request",
}  # fmt: skip
AFTER_FAILURE = {
    Kind.FIFO: "its message stays in the queue, and blocks its group", Kind.SNS: _KEPT, Kind.SCHEDULE: _KEPT,
    Kind.TASK: "the state's Retry says what follows", Kind.API: "the client is told of a server's error",
}  # fmt: skip
COMES = {
    (Act.DUPLICATE, Kind.FIFO): "the producer sends the message a second time, under its deduplication id, which the "
    "queue knows again for 5 minutes",
    (Act.DUPLICATE, Kind.SNS): "the topic delivers the message a second time: the same MessageId, and another request "
    "id",
    (Act.DUPLICATE, Kind.SCHEDULE): "Scheduler invokes the function a second time: the same input, and another request "
    "id",
    (
        Act.DUPLICATE,
        Kind.TASK,
    ): "Step Functions gets no answer of the run (Lambda.SdkClientException): the state's "
    "Retry says whether the task runs again, with the same input and another request id",
    (Act.DUPLICATE, Kind.API): "the client gets no answer, and sends its request once more, under another id",
    (
        Act.REPUBLISH,
        Kind.SNS,
    ): "the publisher publishes the message a second time: the same text, and another MessageId",
    (Act.REDRIVE, Kind.FIFO): "the dead letters are redriven: they return to the queue in their order",
    (Act.REDRIVE, Kind.SNS): _INVOKED_AGAIN,
    (Act.REDRIVE, Kind.SCHEDULE): _INVOKED_AGAIN,
    (Act.REDRIVE, Kind.TASK): "somebody redrives the execution, or starts it anew: the task runs again, with the same "
    "input",
    (Act.REDRIVE, Kind.API): "the client's user sends the request again",
}
REPUBLISHED = {
    Kind.SNS: "A publisher that gets no answer publishes its message again, under another MessageId: take the key from "
    "the message, where its publisher says what it is about, and not from the MessageId.",
}
GIVEN_UP = {
    Kind.TASK: "no Retry takes the error, or its attempts are used up: the state fails, and the execution with it, if "
    "no Catch goes on elsewhere",
    Kind.API: "the client gives up: it was told that the request has failed",
}
"""What became of what somebody awaited, and was not answered."""
