"""The messages of a trigger: sent, duplicated, redriven, and left."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.prove.stage.stage import Stage, Waiting
from redrive.prove.stage.trigger import Trigger

Left = tuple[int, Instant, Waiting]
"""The type of a saved state."""


class Messages:
    """Which of a trigger's messages were sent, and which are left."""

    def __init__(self, stage: Stage, trigger: Trigger) -> None:
        self._stage = stage
        self._trigger = trigger
        self._sent = 0
        self.sent_at = stage.now
        """When the message was sent, or redriven from the dead-letter queue: its retention counts from then."""
        self.waiting = Waiting(is_pending=False, dead=0)
        """The messages left in the queue, and in the dead-letter queue, at the end of the last leg."""

    def save(self) -> Left:
        """Save the state between two legs."""
        return self._sent, self.sent_at, self.waiting

    def load(self, left: Left) -> None:
        """Restore a saved state."""
        self._sent, self.sent_at, self.waiting = left

    def send(self, number: int) -> None:
        """Send the message with this number; once more, if it was sent before."""
        group = {"MessageGroupId": "prove", "MessageDeduplicationId": f"{number}"} if self._trigger.is_fifo else {}
        body = self._trigger.bodies[number]
        self._stage.send(self._sent, QueueUrl=self._trigger.queue_url, MessageBody=body, **group)
        self._sent += 1

    def redrive(self) -> None:
        """Redrive the dead letters to their queue."""
        self.sent_at = self._stage.now
        self._stage.call("sqs", "StartMessageMoveTask", SourceArn=self._trigger.dead_letter_arn)

    def look(self) -> Waiting:
        """Read what is left now."""
        return self._stage.waiting(self._trigger.queue_arn, self._trigger.dead_letter_arn)

    def show_again(self, handle: str) -> bool:
        """Deliver again a message in flight under this receipt; False if it is not in flight any more."""
        return self._stage.show_again(self._trigger.queue_url, handle)

    def hold_again(self, handle: str) -> None:
        """Make the older receipt valid for the message again."""
        self._stage.hold_again(self._trigger.queue_arn, handle)
