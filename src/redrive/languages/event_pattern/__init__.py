"""Event patterns of EventBridge: which events a rule is for.

    pattern = parse('{"source": ["shop"], "detail": {"total": [{"numeric": [">", 100]}]}}')
    matches(pattern, {"source": "shop", "detail": {"total": 120}})                          →  True
    Matcher.of({"large": pattern}).matching({"source": "shop", "detail": {"total": 120}})   →  frozenset({"large"})

`matches` is the definition; `Matcher` finds the same for all patterns of a bus at once. `sample` makes an event that a
pattern matches.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns.html
"""

from __future__ import annotations

from redrive.languages.event_pattern.errors import PatternError
from redrive.languages.event_pattern.explanation import Explanation, FieldExplanation, explain
from redrive.languages.event_pattern.matcher import Matcher, matches
from redrive.languages.event_pattern.pattern import Pattern
from redrive.languages.event_pattern.reading import parse
from redrive.languages.event_pattern.sample import sample

__all__ = [
    "Explanation", "FieldExplanation", "Matcher", "Pattern", "PatternError", "explain", "matches", "parse", "sample",
]  # fmt: skip
