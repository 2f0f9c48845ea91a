"""What an expression sees besides the data it is applied to: the context object, variables, randomness, time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Bindings:
    """The surroundings of a state: `$$` (in JSONata `$states.context`), and variables by name, without the dollar.

    `entropy` gives States.UUID and its relatives their values; `now` is what $now() and $millis() say.
    """

    context: Document
    entropy: Entropy
    now: Instant
    variables: Mapping[str, object] = field(default_factory=dict)
