"""The matcher of a bus follows the changes of its rules, and is compiled once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.core.scope import Scope
from redrive.services.events.matchers import all_rules, delete_rule, rules_of, store_rule
from redrive.services.events.model.bus import BusReference
from redrive.services.events.model.rule import Rule, RuleState, RulesVersion
from redrive.testing.world import World

SCOPE = Scope("000000000000", "us-east-1")
BUS = BusReference(SCOPE, "default")
EVENTS = [{"source": source} for source in "abc"]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


def rule(name: str, source: str, state: RuleState = RuleState.ENABLED) -> Rule:
    return Rule("default", name, 0, pattern=f'{{"source":["{source}"]}}', state=state)


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["r1", "r2", "r3"]), st.sampled_from(["a", "b", "c", None]), st.sampled_from(list(RuleState))
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(CHANGES)
def test_any_changes_leave_the_matcher_that_the_rules_ask_for(world: World, changes: Any) -> None:
    """After each change, the matcher finds what the stored rules say, also in a transaction that compiled it before."""

    def step(tx: Any) -> list[tuple[list[frozenset[str]], list[frozenset[str]]]]:
        for left in all_rules(tx, SCOPE, "default"):
            delete_rule(tx, SCOPE, left)
        found = []
        for name, source, state in changes:
            known = tx.resources.get(Rule, SCOPE, f"default/{name}")
            if source is not None:
                store_rule(tx, SCOPE, rule(name, source, state))
            elif known is not None:
                delete_rule(tx, SCOPE, known)
            active = rules_of(tx, BUS)
            assert active is not None or known is None
            stored = [one for one in all_rules(tx, SCOPE, "default") if one.is_enabled]
            wanted = [frozenset(one.rule_name for one in stored if event["source"] in (one.pattern or ""))
                      for event in ({"source": f'"{letter}"'} for letter in "abc")]  # fmt: skip
            found.append(
                ([active.matcher.matching(event) for event in EVENTS] if active else [frozenset()] * 3, wanted)
            )
        return found

    assert all(matched == wanted for matched, wanted in world.store.run(step))


def test_matcher_is_compiled_once_for_equal_rules() -> None:
    world = World()
    world.store.run(lambda tx: store_rule(tx, SCOPE, rule("r", "a")))

    first = world.store.run(lambda tx: rules_of(tx, BUS))
    second = world.store.run(lambda tx: rules_of(tx, BUS))

    assert first is second
    world.close()


def test_change_that_is_rolled_back_changes_no_matcher() -> None:
    world = World()
    world.store.run(lambda tx: store_rule(tx, SCOPE, rule("r", "a")))

    def step(tx: Any) -> None:
        assert rules_of(tx, BUS) is not None
        store_rule(tx, SCOPE, rule("s", "b"))
        assert rules_of(tx, BUS) is not None
        raise LookupError

    with pytest.raises(LookupError):
        world.store.run(step)

    active = world.store.run(lambda tx: rules_of(tx, BUS))
    assert active is not None
    assert list(active.rules) == ["r"]
    world.close()


def test_bus_that_never_had_a_rule_has_no_matcher() -> None:
    world = World()

    assert world.store.run(lambda tx: rules_of(tx, BUS)) is None
    world.close()


def test_versions_of_rules_stand_for_their_content() -> None:
    first = RulesVersion("default").after("put a").after("put b")

    assert first == RulesVersion("default").after("put a").after("put b")
    assert first != RulesVersion("default").after("put b").after("put a")
