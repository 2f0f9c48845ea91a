"""Hazards, one by one: the beats of two nodes in the order that hurts, and what must come of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from redrive.core.errors import Conflict
from redrive.delivery.faults import Fault, add_fault
from redrive.delivery.outside.invocation import InvocationStatus
from redrive.delivery.worker import Attempt
from redrive.sim.checkers.final_state import ALARMS
from redrive.sim.fleet.clients import SCOPE
from redrive.sim.users.acts import alarm_handler, batch_handler, event, message_handler, occurrence_handler, receive
from redrive.sim.users.workload import ALARM_FUNCTION, WAITING
from redrive.sim.weather import AnswerLost, Hazard
from redrive.store.sqlite import SqliteStore
from redrive.wire.model.files import Models
from tests.simulation.stage import LEASE_MINUTES, Stage


@pytest.fixture
def stage(models: Models) -> Iterator[Stage]:
    stage = Stage(models)
    yield stage
    stage.simulation.close()


def test_zombie_settles_after_lease_expired_and_changes_nothing(stage: Stage) -> None:
    """An attempt whose lease has passed to another node settles nothing."""
    stage.has_function()
    stage.event("poison-1")
    old = stage.claims(stage.first)
    answer = stage.simulation.beats.perform(stage.first, old)
    stage.passes(minutes=LEASE_MINUTES)
    new = stage.claims(stage.second)

    stage.simulation.beats.settle(stage.first, old, answer)

    assert new.key == old.key
    assert stage.verdicts(old) == []
    stage.runs_and_settles(stage.second, new)
    assert stage.verdicts(new) == ["retry"]
    stage.ends()


def test_zombie_that_succeeds_does_not_end_the_attempt_of_another(stage: Stage) -> None:
    """A late success is no success: the node that holds the lease decides."""
    stage.has_function()
    stage.event("letter")
    old = stage.claims(stage.first)
    stage.passes(minutes=LEASE_MINUTES)
    new = stage.claims(stage.second)

    stage.runs_and_settles(stage.first, old)

    assert stage.verdicts(old) == []
    stage.runs_and_settles(stage.second, new)
    assert stage.verdicts(new) == ["delivered"]
    stage.ends()


def test_crash_between_claim_and_attempt_loses_nothing(stage: Stage) -> None:
    """What a node had claimed when it crashed is attempted by another when the lease ends."""
    stage.has_function()
    stage.event("letter")
    stage.claims(stage.first)
    stage.simulation.crash(stage.first, for_ms=1)

    stage.passes(minutes=LEASE_MINUTES)
    stage.runs_and_settles(stage.second, stage.claims(stage.second))

    assert stage.runs == ["letter"]
    stage.ends()


def test_crash_between_attempt_and_settlement_runs_the_function_again(stage: Stage) -> None:
    """The outside is reached at least once: an answer that dies with its node is asked for again."""
    stage.has_function()
    stage.event("letter")
    stage.simulation.beats.perform(stage.first, stage.claims(stage.first))
    stage.simulation.crash(stage.first, for_ms=1)

    stage.ends()

    assert stage.runs == ["letter", "letter"]


def test_claim_that_conflicts_takes_nothing(stage: Stage) -> None:
    """A claim that does not commit leaves the work to the next one, at once."""
    stage.has_function()
    stage.event("letter")
    stage.weather.expect(Hazard.CONFLICT)

    with pytest.raises(Conflict):
        stage.simulation.beats.claim(stage.first)

    attempt = stage.claims(stage.second)
    assert attempt.fence == 1
    stage.runs_and_settles(stage.second, attempt)
    stage.ends()


def test_claim_that_conflicts_takes_nothing_for_any_worker(stage: Stage) -> None:
    """A claim of several workers is one transaction: what all of them took is due again."""
    stage.first.slots = 2
    stage.has_function()
    stage.event("letter")
    stage.message("order", _orders(stage))
    stage.weather.expect(Hazard.CONFLICT)

    with pytest.raises(Conflict):
        stage.simulation.beats.claim(stage.first)

    attempts = stage.simulation.beats.claim(stage.first).attempts
    assert sorted(attempt.worker for attempt in attempts) == ["delivery", "lambda.mapping"]
    for attempt in attempts:
        stage.runs_and_settles(stage.first, attempt)
    stage.ends()


def test_node_with_one_slot_leaves_the_rest_to_others(stage: Stage) -> None:
    """A claim takes no more than can start now, so that a crash costs no attempt of what was not begun."""
    stage.has_function()
    stage.event("letter")
    stage.event("another")

    first, second = stage.claims(stage.first), stage.claims(stage.second)

    assert first.key != second.key
    assert second.fence == 1
    assert not stage.simulation.beats.claim(stage.first).progressed
    stage.ends()


def test_claim_whose_answer_is_lost_comes_back_after_its_lease(stage: Stage) -> None:
    """Attempts that a node never heard of are performed by nobody until their lease ends."""
    stage.has_function()
    stage.event("letter")
    stage.weather.expect(Hazard.ANSWER_LOST)

    with pytest.raises(AnswerLost):
        stage.simulation.beats.claim(stage.first)

    assert not stage.simulation.beats.claim(stage.second).progressed
    stage.passes(minutes=LEASE_MINUTES)
    attempt = stage.claims(stage.second)
    assert attempt.fence == 2
    stage.runs_and_settles(stage.second, attempt)
    stage.ends()


def test_attempt_settled_twice_counts_one_failure(stage: Stage) -> None:
    """A node that was not told of its commit may settle again: the second time changes nothing."""
    stage.has_function()
    stage.event("poison-1")
    attempt = stage.claims(stage.first)
    answer = stage.simulation.beats.perform(stage.first, attempt)
    stage.weather.expect(Hazard.ANSWER_LOST)

    with pytest.raises(AnswerLost):
        stage.simulation.beats.settle(stage.first, attempt, answer)
    stage.simulation.beats.settle(stage.first, attempt, answer)

    assert stage.verdicts(attempt) == ["retry"]
    stage.ends()
    assert stage.runs == ["poison-1"] * 3


def test_lost_commit_answer_does_not_send_twice(stage: Stage) -> None:
    """A delivery inside the store happens exactly once, whatever the node is told of it."""
    url = stage.workload.queue("ticks")
    stage.workload.queue("ticks-dlq")
    stage.workload.schedule("noon", "rate(2 hours)", "UTC", target="ticks")
    stage.weather.expect(Hazard.ANSWER_LOST)

    with pytest.raises(AnswerLost):
        stage.simulation.beats.claim(stage.first)
    assert not stage.simulation.beats.claim(stage.second).progressed

    assert len(receive(stage.simulation, stage.simulation.reliable, url, visibility_s=0)) == 1
    stage.ends()


def test_fleet_sleeps_over_three_occurrences_and_fires_each_once(stage: Stage) -> None:
    """A cron schedule catches up: every occurrence that nobody was awake for is fired when somebody is."""
    url = stage.workload.queue("ticks")
    stage.workload.queue("ticks-dlq")
    stage.workload.schedule("tick", "cron(0/20 * * * ? *)", "UTC", target="ticks")
    stage.workload.consumer("clerk", url, occurrence_handler(stage.simulation))
    expected = [stage.instant(minutes=minutes) for minutes in (20, 40, 60)]
    stage.simulation.start()
    for node in stage.simulation.nodes:
        stage.simulation.pause(node, for_ms=70 * 60_000)

    stage.passes(minutes=69)
    assert stage.occurred == []
    stage.passes(minutes=4)

    assert sorted(stage.occurred) == expected
    stage.passes(minutes=24 * 60)
    stage.ends()


def test_lost_wakeups_only_delay(stage: Stage) -> None:
    """Wake-ups are hints: a node that hears none finds its work when it looks by itself."""
    stage.has_function()
    stage.simulation.start()
    stage.passes(minutes=2)
    stage.weather.rates[Hazard.WAKEUP_LOST] = 1.0
    stage.event("letter")

    stage.passes(minutes=1.1)

    assert stage.runs == ["letter"]
    stage.ends()


def test_duplicate_invocation_is_one_effect_with_a_conditional_handler(stage: Stage) -> None:
    """A function that is run twice for one batch records one effect, if its write is conditional."""
    url = _orders(stage)
    stage.message("order", url)
    attempt = stage.claims(stage.first)

    answer = stage.simulation.beats.perform(stage.first, attempt)
    again = stage.simulation.beats.perform(stage.first, attempt)
    stage.simulation.beats.settle(stage.first, attempt, again)
    stage.simulation.beats.settle(stage.first, attempt, answer)

    effects = stage.simulation.reliable.call("dynamodb", "Scan", TableName="effects")
    assert effects["Count"] == 1
    stage.ends()


def test_crash_under_a_batch_brings_its_messages_back(stage: Stage) -> None:
    """Messages of a batch that nobody answers for are received again after their visibility timeout."""
    url = _orders(stage)
    stage.message("order", url)
    stage.claims(stage.first)
    stage.simulation.crash(stage.first, for_ms=1)

    stage.passes(minutes=2)
    stage.runs_and_settles(stage.second, stage.claims(stage.second))

    assert stage.keys_in(url) == []
    stage.ends()


def test_crash_under_a_batch_of_a_fifo_queue_keeps_its_group_in_order(stage: Stage) -> None:
    """What was sent after the messages of a lost batch waits for them; another group does not."""
    stage.second.slots = 3
    url = _payroll(stage)
    for key in ("pay-1", "pay-2"):
        stage.message(key, url, MessageGroupId="g", MessageDeduplicationId=key)
    stage.claims(stage.first)
    stage.simulation.crash(stage.first, for_ms=1)
    stage.message("other-1", url, MessageGroupId="h", MessageDeduplicationId="other-1")

    other = stage.claims(stage.second)
    stage.runs_and_settles(stage.second, other)
    held_up = stage.simulation.beats.claim(stage.second).attempts
    stage.passes(minutes=2)
    again = stage.claims(stage.second)
    stage.runs_and_settles(stage.second, again)
    after = stage.claims(stage.second)
    stage.runs_and_settles(stage.second, after)

    assert not held_up
    assert [stage.keys_of(one) for one in (other, again, after)] == [["other-1"], ["pay-1"], ["pay-2"]]
    stage.ends()


def test_zombie_with_a_batch_of_a_fifo_queue_frees_no_group(stage: Stage) -> None:
    """A batch that settles after its lease deletes nothing, so that its group stays with the one who holds it now."""
    stage.first.slots = stage.second.slots = 2
    url = _payroll(stage)
    for key in ("pay-1", "pay-2", "pay-3"):
        stage.message(key, url, MessageGroupId="g", MessageDeduplicationId=key)
    old = stage.claims(stage.first)
    stage.passes(minutes=2)
    stage.runs_and_settles(stage.second, stage.claims(stage.second))
    current = stage.claims(stage.second)

    stage.runs_and_settles(stage.first, old)

    assert (stage.keys_of(old), stage.keys_of(current)) == (["pay-1"], ["pay-2"])
    assert not stage.simulation.beats.claim(stage.first).attempts
    stage.runs_and_settles(stage.second, current)
    assert stage.keys_in(url) == ["pay-3"]


def test_consumer_beyond_its_visibility_timeout_deletes_nothing_of_the_next(stage: Stage) -> None:
    """Whoever takes too long holds an old receipt: the message belongs to the one who received it since."""
    call = stage.simulation.reliable.call
    url = stage.workload.queue("mail")
    stage.message("letter", url)
    (slow,) = receive(stage.simulation, stage.simulation.reliable, url, visibility_s=30)
    stage.passes(minutes=1)
    receive(stage.simulation, stage.simulation.reliable, url, visibility_s=30)

    call("sqs", "DeleteMessage", QueueUrl=url, ReceiptHandle=slow["ReceiptHandle"])

    stage.passes(minutes=1)
    assert stage.keys_in(url) == ["letter"]


def test_client_that_is_not_answered_and_sends_again_loses_nothing(stage: Stage) -> None:
    """A send whose answer is lost did happen: asking again makes two messages, never none."""
    url = stage.workload.queue("mail")
    client = stage.simulation.client("sender")
    stage.weather.expect(Hazard.ANSWER_LOST)

    with pytest.raises(AnswerLost):
        client.call("sqs", "SendMessage", QueueUrl=url, MessageBody=event("letter"))
    client.call("sqs", "SendMessage", QueueUrl=url, MessageBody=event("letter"))

    assert stage.keys_in(url) == ["letter", "letter"]


def test_poison_goes_to_the_dead_letter_queue_and_no_further(stage: Stage) -> None:
    """A message that nobody can work on is received as often as allowed, then set aside with its origin."""
    url = stage.workload.queue("mail", receives_max=2)
    stage.workload.consumer("reader", url, message_handler(stage.simulation))
    stage.message("poison-1", url)

    stage.passes(minutes=30)

    assert stage.keys_in(stage.workload.url("mail-dlq")) == ["poison-1"]


@pytest.mark.parametrize("hears", [True, False])
def test_fault_that_was_ordered_at_another_node_strikes_the_next_run(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, hears: bool
) -> None:
    """A node that knows of no faults asks again once another process has committed; a node that does not is found."""
    if not hears:
        monkeypatch.setattr(SqliteStore, "on_others_commit", lambda store, listener: None)
        stage.simulation.crash(stage.first, for_ms=1)
        stage.passes(minutes=1)
    stage.has_function()
    stage.event("before")
    stage.runs_and_settles(stage.first, stage.claims(stage.first))
    stage.simulation.run(lambda tx: add_fault(tx, Fault("", "*:function:notify", "ThrottlingException", times=1)))

    stage.event("after")
    result = stage.runs_and_settles(stage.first, stage.claims(stage.first))

    assert (result.status is InvocationStatus.THROTTLED) is hears


def test_late_answer_does_not_settle_the_retry_that_a_slow_call_holds_up(stage: Stage) -> None:
    """A slow call is an attempt of its own: the echo of the attempt before it settles nothing."""
    simulation, workload = stage.simulation, stage.workload
    simulation.reliable.call("scheduler", "CreateScheduleGroup", Name=ALARMS)
    workload.function(ALARM_FUNCTION, alarm_handler(simulation))
    workload.alarm("bell", "at(2025-03-29T13:00:00)", WAITING, letters=None, retries_max=5, age_s_max=3_600)
    simulation.run(lambda tx: add_fault(tx, Fault("", f"*:function:{ALARM_FUNCTION}", "ThrottlingException", times=1)))
    stage.passes(minutes=60)
    attempt = _claimed(stage)
    answer = stage.runs_and_settles(stage.first, attempt)
    simulation.run(lambda tx: add_fault(tx, Fault("", WAITING, latency_ms=30_000, times=1)))
    stage.passes(minutes=0.05)
    while simulation.beats.claim(stage.first).progressed:
        pass

    simulation.beats.settle(stage.first, attempt, answer)

    assert stage.verdicts(attempt) == ["retry"]
    stage.ends()


def _claimed(stage: Stage) -> Attempt:
    """The first attempt outside that a node gets, once it has done what is due inside."""
    while not (attempts := stage.simulation.beats.claim(stage.first).attempts):
        pass
    return attempts[0]


def _orders(stage: Stage) -> str:
    """A queue that is mapped to a function with a conditional effect; answers the queue's URL."""
    simulation, workload = stage.simulation, stage.workload
    url = workload.queue("orders")
    workload.table("effects")
    workload.function("charge", batch_handler(simulation, simulation.reliable, "effects", reports_failures=True))
    workload.mapping("orders", "charge", batch_size=10, reports_failures=True)
    return url


def _payroll(stage: Stage) -> str:
    """A FIFO queue that is mapped, message by message, to a function with a conditional effect; answers its URL."""
    simulation, workload = stage.simulation, stage.workload
    url = workload.queue("payroll.fifo", is_fifo=True)
    workload.table("payslips")
    handler = batch_handler(simulation, simulation.reliable, "payslips", reports_failures=True, in_order=True)
    workload.function("pay", handler)
    workload.mapping("payroll.fifo", "pay", batch_size=1, reports_failures=True)
    return url


def test_crash_inside_a_move_task_neither_loses_nor_doubles_a_message(stage: Stage) -> None:
    """A move task is taken further step by step, each in one transaction: whoever is left goes on where it stood."""
    url = stage.workload.queue("orders", receives_max=3)
    dead_url = url + "-dlq"
    keys = [f"order-{number:02}" for number in range(30)]
    for key in keys:
        stage.message(key, dead_url)
    arn = f"arn:aws:sqs:{SCOPE.region}:{SCOPE.account}:"
    stage.simulation.reliable.call(
        "sqs", "StartMessageMoveTask", SourceArn=f"{arn}orders-dlq", DestinationArn=f"{arn}orders",
        MaxNumberOfMessagesPerSecond=5,
    )  # fmt: skip
    stage.simulation.start()

    stage.passes(minutes=0.04)
    stage.simulation.crash(stage.first, for_ms=60_000)
    stage.passes(minutes=0.03)
    stage.simulation.crash(stage.second, for_ms=20_000)
    stage.passes(minutes=5)

    assert sorted(stage.keys_in(url)) == keys
    assert stage.keys_in(dead_url) == []
