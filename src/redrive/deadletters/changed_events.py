"""A gate for letters of rules: the letter holds the event as it came to the rule, not what the target gets.

A target that changes the event first (Input, InputPath, InputTransformer), or that takes it with a message group, would
get something that it has never seen.
"""

from __future__ import annotations

from botocore.exceptions import ClientError

from redrive.deadletters.destinations import Destination
from redrive.deadletters.gates import Refusal
from redrive.deadletters.letter import Letter, Origin
from redrive.deadletters.sources import Client, rule_of

_CHANGES = ("Input", "InputPath", "InputTransformer", "SqsParameters")


class UnchangedEvents:
    """Refuses a letter of a rule whose target changes events. Asks for each target once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reasons: dict[tuple[str, str], str] = {}

    def refusal(self, letter: Letter, to: Destination) -> Refusal | None:
        """The reason against sending; None for other letters, other destinations, and targets that change nothing."""
        target_arn = letter.work.target_arn
        if letter.origin is not Origin.RULE or to.name != target_arn:
            return None
        key = (letter.source_arn, target_arn)
        if key not in self._reasons:
            self._reasons[key] = self._asked(*key)
        return Refusal("target", self._reasons[key]) if self._reasons[key] else None

    def _asked(self, rule_arn: str, target_arn: str) -> str:
        bus, rule = rule_of(rule_arn)
        pages = self._client("events").get_paginator("list_targets_by_rule")
        try:
            targets = [
                target
                for page in pages.paginate(Rule=rule, EventBusName=bus)
                for target in page["Targets"]
                if target["Arn"] == target_arn
            ]
        except ClientError as error:
            if error.response["Error"].get("Code") != "ResourceNotFoundException":
                raise
            targets = []
        if not targets:
            return f"rule {rule} does not have this target any more: whether it changed events is not known"
        changes = sorted({name for target in targets for name in _CHANGES if name in target})
        return f"rule {rule} changes events for this target ({', '.join(changes)})" if changes else ""
