"""Defects to plant that a bucket that tells shows: lost, repeated and premature notifications."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any
from unittest.mock import patch

from redrive.core.scope import Caller
from redrive.services.s3 import deleting, telling, writing
from redrive.sim.checkers.uploads import ChangesTold
from redrive.sim.fleet.clients import SCOPE, Client
from redrive.store.api import Transaction
from tests.simulation.planted import Plant


def losing_what_the_target_refuses() -> AbstractContextManager[object]:
    """A notification that its queue does not accept at once is not promised."""
    return patch.object(telling, "_promise", lambda *_: None)


def numbering_several_changes_alike() -> AbstractContextManager[object]:
    """Four changes in a row have one sequencer."""

    def sequencer_of(number: int) -> str:
        return f"{number // 4:016X}"

    stack = ExitStack()
    stack.enter_context(patch.object(writing, "sequencer_of", sequencer_of))
    stack.enter_context(patch.object(deleting, "sequencer_of", sequencer_of))
    return stack


def numbering_changes_backwards() -> AbstractContextManager[object]:
    """Later changes have smaller sequencers."""

    def sequencer_of(number: int) -> str:
        return f"{2**40 - number:016X}"

    stack = ExitStack()
    stack.enter_context(patch.object(writing, "sequencer_of", sequencer_of))
    stack.enter_context(patch.object(deleting, "sequencer_of", sequencer_of))
    return stack


class _RolledBack(Exception):
    """The first try of an operation ends."""


def telling_before_the_commit() -> AbstractContextManager[object]:
    """What an operation will tell is told in a commit of its own, and then the operation runs."""
    original, call_seen = telling.tell, Client.call_seen
    kept: list[tuple[Any, ...]] = []

    def call_in_two(client: Client, seen: Any, service: str, operation: str, **params: object) -> Any:
        if service == "s3":
            told = _rehearsed(client, kept, operation, params)
            vars(client)["_silent"].run(lambda tx: [original(tx, *one) for one in told])
        return call_seen(client, seen, service, operation, **params)

    return _telling_in_its_own_commit(kept, call_in_two)


def telling_after_the_commit() -> AbstractContextManager[object]:
    """What an operation tells is told in the next commit, unless the node crashes or the answer is lost."""
    original, call_seen = telling.tell, Client.call_seen
    kept: list[tuple[Any, ...]] = []

    def call_in_two(client: Client, *request: Any, **params: Any) -> Any:
        kept.clear()
        answer = call_seen(client, *request, **params)
        told = list(kept)
        vars(client)["_silent"].run(lambda tx: [original(tx, *one) for one in told])
        return answer

    return _telling_in_its_own_commit(kept, call_in_two)


def _rehearsed(client: Client, kept: list[tuple[Any, ...]], operation: str, params: Mapping[str, object]) -> list[Any]:
    """What an operation would tell."""
    engine = vars(client)["_silent"]

    def rehearse(tx: Transaction) -> None:
        kept.clear()
        engine.registry.begin(tx, Caller(SCOPE, "rehearsed"), "s3", operation, params)
        raise _RolledBack

    with suppress(_RolledBack):
        engine.run(rehearse)
    return list(kept)


def _telling_in_its_own_commit(kept: list[tuple[Any, ...]], call: Callable[..., Any]) -> AbstractContextManager[object]:
    def keep(_tx: Transaction, *told: Any) -> None:
        kept.append(told)

    stack = ExitStack()
    stack.enter_context(patch.object(writing, "tell", keep))
    stack.enter_context(patch.object(deleting, "tell", keep))
    stack.enter_context(patch.object(Client, "call_seen", call))
    return stack


UPLOAD_PLANTS: Mapping[Plant, tuple[str, ...]] = {
    losing_what_the_target_refuses: (ChangesTold.rule,),
    numbering_several_changes_alike: (ChangesTold.order_rule,),
    numbering_changes_backwards: (ChangesTold.order_rule,),
    telling_before_the_commit: (ChangesTold.invented_rule,),
    telling_after_the_commit: (ChangesTold.rule,),
}
"""Each defect, and the rules of which it breaks one."""
