"""The messages of a trigger of any kind."""

from __future__ import annotations

from redrive.prove.stage.awaited import AwaitedCalls
from redrive.prove.stage.messages import AsynchronousEvents, Messages, QueueMessages, StreamRecords
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.trigger import Trigger


def messages_of(stage: Stage, trigger: Trigger) -> Messages:
    """The messages of a trigger."""
    if trigger.is_stream:
        return StreamRecords(stage, trigger)
    if trigger.is_awaited:
        return AwaitedCalls(stage, trigger)
    return AsynchronousEvents(stage, trigger) if trigger.is_direct else QueueMessages(stage, trigger)
