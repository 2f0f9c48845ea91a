"""The matcher of a bus: the patterns of its enabled rules, compiled together.

A matcher is kept by the version of the bus's rules. A version follows from the content of the rules, so a matcher that
is found is right. A change of a rule makes the next matcher from the present one; nothing is compiled twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from redrive.core.documents import dump_dataclass
from redrive.core.scope import Scope
from redrive.languages.event_pattern import Matcher, parse
from redrive.services.events.limits import RULES_READ_PAGE
from redrive.services.events.model.bus import BusReference
from redrive.services.events.model.rule import Rule, RuleState, RulesVersion
from redrive.store.api import Transaction

_WITH_READ_CALLS = RuleState.ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS


@dataclass(frozen=True, slots=True)
class BusRules:
    """The enabled rules of a bus that have a pattern, by name, and the matcher of their patterns.

    `with_read_calls` are the names of those that also match records of calls that only read.
    """

    matcher: Matcher
    rules: Mapping[str, Rule]
    with_read_calls: frozenset[str] = frozenset()

    @classmethod
    def of(cls, matcher: Matcher, rules: Mapping[str, Rule]) -> BusRules:
        """These rules, whose patterns the matcher has."""
        return cls(matcher, rules, frozenset(name for name, rule in rules.items() if rule.state is _WITH_READ_CALLS))

    def with_rule(self, rule: Rule) -> BusRules:
        """These rules with one more, or with another content of one; a rule that events cannot match is left out."""
        if rule.pattern is None or not rule.is_enabled:
            return self.without(rule.rule_name)
        known = self.rules.get(rule.rule_name)
        is_same = known is not None and known.pattern == rule.pattern
        matcher = self.matcher if is_same else self.matcher.with_pattern(rule.rule_name, parse(rule.pattern))
        return BusRules.of(matcher, {**self.rules, rule.rule_name: rule})

    def without(self, rule_name: str) -> BusRules:
        """These rules without one."""
        if rule_name not in self.rules:
            return self
        left = {name: rule for name, rule in self.rules.items() if name != rule_name}
        return BusRules.of(self.matcher.without(rule_name), left)


_Change = Callable[[BusRules], BusRules]


def rules_of(tx: Transaction, bus: BusReference) -> BusRules | None:
    """The rules that match events of a bus; None if the bus never had a rule."""
    version = tx.resources.get(RulesVersion, bus.scope, bus.name)
    if version is None:
        return None
    key = _key(bus, version)
    found = tx.resources.memo.get(key)
    if found is None:
        found = _compiled(tx, bus)
        tx.resources.memo.put(key, found)
    return cast(BusRules, found)


def store_rule(tx: Transaction, scope: Scope, rule: Rule) -> None:
    """Store a rule. The next event of its bus meets it."""
    tx.resources.put(scope, rule)
    bus = BusReference(scope, rule.bus_name)
    _changed(tx, bus, f"put {dump_dataclass(rule)}", lambda rules: rules.with_rule(rule))


def delete_rule(tx: Transaction, scope: Scope, rule: Rule) -> None:
    """Delete a rule and its targets."""
    tx.resources.delete(Rule, scope, rule.name)
    bus = BusReference(scope, rule.bus_name)
    _changed(tx, bus, f"delete {rule.rule_name}", lambda rules: rules.without(rule.rule_name))


def all_rules(tx: Transaction, scope: Scope, bus_name: str) -> list[Rule]:
    """All rules of a bus, sorted by name."""
    found: list[Rule] = []
    after = ""
    while True:
        page = tx.resources.list(Rule, scope, prefix=f"{bus_name}/", after=after, limit=RULES_READ_PAGE)
        found += page
        if len(page) < RULES_READ_PAGE:
            return found
        after = page[-1].name


def _changed(tx: Transaction, bus: BusReference, change: str, apply: _Change) -> None:
    version = tx.resources.get(RulesVersion, bus.scope, bus.name) or RulesVersion(bus.name)
    following = version.after(change)
    tx.resources.put(bus.scope, following)
    present = tx.resources.memo.get(_key(bus, version))
    if present is not None:
        tx.resources.memo.put(_key(bus, following), apply(cast(BusRules, present)))
        tx.resources.memo.forget(_key(bus, version))


def _compiled(tx: Transaction, bus: BusReference) -> BusRules:
    rules = {
        rule.rule_name: rule
        for rule in all_rules(tx, bus.scope, bus.name)
        if rule.is_enabled and rule.pattern is not None
    }
    patterns = {name: parse(rule.pattern) for name, rule in rules.items() if rule.pattern is not None}
    return BusRules.of(Matcher.of(patterns), rules)


def _key(bus: BusReference, version: RulesVersion) -> tuple[str, BusReference, str]:
    return (Rule.KIND, bus, version.version)
