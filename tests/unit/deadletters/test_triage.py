"""Groups of letters by cause."""

from __future__ import annotations

from dataclasses import replace

from redrive.deadletters.causes import Class
from redrive.deadletters.letter import Failure, Form, Letter, Origin, Work
from redrive.deadletters.triage import GROUPS_MAX, SAMPLES_MAX, Triage

RULE = Letter("", Origin.RULE, "arn:aws:events:us-east-1:1:rule/r", Failure("NO_PERMISSIONS"), Work("{}", Form.JSON))


def test_letters_of_one_cause_are_one_group_with_its_span_and_samples() -> None:
    triage = Triage()
    for number in range(5):
        triage.add(replace(RULE, message_id=f"m{number}", sent_at=1_000 + number))
    triage.add(replace(RULE, failure=Failure("THROTTLING"), work=replace(RULE.work, is_cut=True)))

    largest, other = triage.groups
    assert (triage.count, largest.count, other.count) == (6, 5, 1)
    assert (largest.first_at, largest.last_at) == (1_000, 1_004)
    assert largest.samples == ["m0", "m1", "m2"][:SAMPLES_MAX]
    assert (largest.judgement.kind, other.judgement.kind) == (Class.PERMISSION, Class.THROTTLED)
    assert (largest.cut, other.cut) == (0, 1)


def test_number_of_groups_is_bounded_whatever_messages_say() -> None:
    triage = Triage()
    for first in "abcdefghijklmnopqrstuvwxyz":
        for second in "abcdefghijklmnopqrstuvwxyz":
            for third in "ab":
                message = f"what {first}{second}{third}"
                triage.add(replace(RULE, failure=Failure("ERROR_FROM_TARGET", message)))

    assert len(triage.groups) == GROUPS_MAX + 1
    assert sum(group.count for group in triage.groups) == triage.count == 26 * 26 * 2
