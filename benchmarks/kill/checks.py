"""What has to be true of the clients' memory and of what is left in the store. Each check lists what is wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise

from benchmarks.kill.memory import NEVER, Memory, Received

CLOCK_S = 0.25
"""Instants closer than this are not told apart: the clients and the store read their clocks at different moments."""


def lost(memory: Memory, queue: str, found: set[str]) -> Iterator[str]:
    """Everything that was acknowledged is there."""
    for body in memory.sent[queue]:
        if body not in found:
            yield f"{queue}: {body} was acknowledged and is lost"


def bodies(memory: Memory, queue: str) -> set[str]:
    """What was received from a queue."""
    return {one.body for one in memory.received[queue]}


def twice(memory: Memory, queue: str) -> Iterator[str]:
    """One send is one message: no two messages have the same body."""
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for one in memory.received[queue]:
        ids[one.body].add(one.id)
    for body, known in ids.items():
        if len(known) > 1:
            yield f"{queue}: {body} is in {len(known)} messages"


def returned(memory: Memory, queue: str) -> Iterator[str]:
    """A message whose deletion was acknowledged is not received any more."""
    for one in memory.received[queue]:
        if memory.deleted.get(one.id, NEVER) < one.asked_at:
            yield f"{queue}: {one.body} was received after it was deleted"


def visible_too_early(memory: Memory, queue: str, visibility_s: float) -> Iterator[str]:
    """A message that was received is in nobody else's hands until its visibility timeout has passed."""
    by_id: defaultdict[str, list[Received]] = defaultdict(list)
    for one in memory.received[queue]:
        by_id[one.id].append(one)
    for known in by_id.values():
        for first, second in pairwise(sorted(known, key=lambda one: one.answered_at)):
            if second.answered_at < first.asked_at + visibility_s - CLOCK_S:
                early_s = first.asked_at + visibility_s - second.answered_at
                yield f"{queue}: {first.body} was received again {early_s:.1f} s too early"


def disorder(memory: Memory, queue: str) -> Iterator[str]:
    """A message of a group is received when all before it are deleted, or in the same answer before it."""
    begun: defaultdict[str, dict[int, float]] = defaultdict(dict)
    answers: defaultdict[tuple[str, int], list[Received]] = defaultdict(list)
    for one in memory.received[queue]:
        begun[one.group][number_of(one)] = memory.delete_begun.get(one.id, NEVER)
        answers[one.group, one.answer].append(one)
    settled = {group: _latest_before(numbers) for group, numbers in begun.items()}
    for (group, _), messages in answers.items():
        numbers = [number_of(one) for one in messages]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            yield f"{queue}: an answer holds {group}'s messages {numbers}"
        if settled[group].get(numbers[0], NEVER) > messages[0].answered_at:
            yield f"{queue}: {group}-{numbers[0]} was received while an earlier message was not deleted"


def number_of(one: Received) -> int:
    """The place of a message in its group."""
    return int(one.body.rpartition("-")[2])


def _latest_before(begun: Mapping[int, float]) -> dict[int, float]:
    """For each number, when the last of the numbers before it began to be deleted."""
    latest: dict[int, float] = {}
    so_far = 0.0
    for number in range(max(begun) + 1):
        latest[number] = so_far
        so_far = max(so_far, begun.get(number, NEVER))
    return latest


def early(memory: Memory, queue: str) -> Iterator[str]:
    """No schedule sends its message before it is due."""
    for one in memory.received[queue]:
        due_ms = memory.due_ms.get(one.body)
        if due_ms is not None and one.sent_ms < due_ms:
            yield f"{queue}: {one.body} was sent {due_ms - one.sent_ms} ms before it was due"


def lag_ms(memory: Memory, queue: str) -> list[int]:
    """How late the messages of schedules were sent."""
    return sorted(one.sent_ms - memory.due_ms[one.body] for one in memory.received[queue] if one.body in memory.due_ms)


def miscounted(memory: Memory, values: Mapping[str, int]) -> Iterator[str]:
    """A counter is the number of increments that were acknowledged, and of those in doubt as many as you like."""
    for counter, acknowledged in memory.counted.items():
        value, doubt = values.get(counter, 0), memory.in_doubt[counter]
        if not acknowledged <= value <= acknowledged + doubt:
            yield f"{counter}: is {value} after {acknowledged} acknowledged increments and {doubt} in doubt"


def ill_won(memory: Memory, winners: Mapping[str, str]) -> Iterator[str]:
    """A conditional put is won once, and the item is the winner's."""
    for item, tries in memory.puts.items():
        results = Counter(result for _, result in tries)
        winner = winners.get(item)
        if results["won"] > 1:
            yield f"{item}: won {results['won']} times"
        for name, result in tries:
            if (result == "won") > (winner == name):
                yield f"{item}: {name} has won, but it holds {winner}"
            if result == "lost" and winner == name:
                yield f"{item}: {name} was refused, but it holds {winner}"
        if results["lost"] and winner is None:
            yield f"{item}: a put was refused, but there is no item"
