"""The messages of a trigger: they are sent, doubled and redriven, and some are left."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.prove.stage.stage import Stage, Waiting
from redrive.prove.stage.trigger import Trigger

Left = tuple[int, Instant, Waiting]
"""What `save` keeps."""


class Messages:
    """What was sent of a trigger's messages, and what is left of them."""

    def __init__(self, stage: Stage, trigger: Trigger) -> None:
        self._stage = stage
        self._trigger = trigger
        self._sent = 0
        self.sent_at = stage.now
        """When the message was sent, or sent again from the dead-letter queue: its retention counts from then."""
        self.waiting = Waiting(is_pending=False, dead=0)
        """What was left in the queue, and among the dead letters, when the last leg had ended."""

    def save(self) -> Left:
        """All there is to know of them between two legs."""
        return self._sent, self.sent_at, self.waiting

    def load(self, left: Left) -> None:
        """Be again as it was then."""
        self._sent, self.sent_at, self.waiting = left

    def send(self, number: int) -> None:
        """Send the message of this number; once more, if it was sent before."""
        group = {"MessageGroupId": "prove", "MessageDeduplicationId": f"{number}"} if self._trigger.is_fifo else {}
        body = self._trigger.bodies[number]
        self._stage.send(self._sent, QueueUrl=self._trigger.queue_url, MessageBody=body, **group)
        self._sent += 1

    def redrive(self) -> None:
        """Send the dead letters back to their queue."""
        self.sent_at = self._stage.now
        self._stage.call("sqs", "StartMessageMoveTask", SourceArn=self._trigger.dead_letter_arn)

    def look(self) -> Waiting:
        """What is left now."""
        return self._stage.waiting(self._trigger.queue_arn, self._trigger.dead_letter_arn)

    def show_again(self, handle: str) -> bool:
        """Hand a message out once more that is in flight under this receipt; False if it is in flight no longer."""
        return self._stage.show_again(self._trigger.queue_url, handle)

    def hold_again(self, handle: str) -> None:
        """Let the older receipt hold the message once more."""
        self._stage.hold_again(self._trigger.queue_arn, handle)
