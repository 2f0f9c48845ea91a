"""A transformer: its processors, the rules for them, and what becomes of an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redrive.core.documents import Document, dump_json
from redrive.languages.log_transform.conversions import CONVERTERS
from redrive.languages.log_transform.documents import MalformedTransformer, Metadata, NotFitting, Transformed
from redrive.languages.log_transform.mutators import MUTATORS
from redrive.languages.log_transform.parsers import PARSERS, Processor

PROCESSORS_MAX = 20
PARSERS_MAX = 5
_ONLY_ONCE = ("grok", "addKeys", "copyValue")
_OF_VENDED_LOGS = ("parseCloudfront", "parsePostgres", "parseRoute53", "parseToOCSF", "parseVPC", "parseWAF")

_READERS: dict[str, Callable[[Document], Processor]] = {**PARSERS, **MUTATORS, **CONVERTERS}


@dataclass(frozen=True, slots=True)
class Transformer:
    """Processors, in order; the first of them is a parser."""

    processors: tuple[Processor, ...]

    def transform(self, message: str, metadata: Metadata) -> str | None:
        """What a message becomes, as JSON; None if the first parser cannot read it, or nothing is left."""
        event = Transformed(message, metadata)
        for number, processor in enumerate(self.processors):
            try:
                processor(event)
            except NotFitting:
                if number == 0:
                    return None
        return dump_json(event.document) if event.document else None


def read_transformer(config: Sequence[Document]) -> Transformer:
    """The transformer of a configuration, checked against AWS's model. Errors: MalformedTransformer."""
    named = [_named(number, document) for number, document in enumerate(config, start=1)]
    names = [name for name, _ in named]
    if names and names[0] not in PARSERS:
        raise MalformedTransformer("the first processor is a parser: parseJSON, grok, csv or parseKeyValue")
    if sum(name in PARSERS for name in names) > PARSERS_MAX:
        raise MalformedTransformer(f"there are more than {PARSERS_MAX} parsers")
    for name in _ONLY_ONCE:
        if names.count(name) > 1:
            raise MalformedTransformer(f"there is more than one {name}")
    if not 0 < len(names) <= PROCESSORS_MAX:
        raise MalformedTransformer(f"there are 1 to {PROCESSORS_MAX} processors")
    return Transformer(tuple(_READERS[name](settings) for name, settings in named))


def _named(number: int, document: Document) -> tuple[str, Document]:
    given = [(name, settings) for name, settings in document.items() if settings is not None]
    if len(given) != 1:
        raise MalformedTransformer(f"processor {number} is one processor, not {len(given)}")
    name, settings = given[0]
    if name in _OF_VENDED_LOGS:
        raise MalformedTransformer(f"redrive has no {name}: no service here writes such logs")
    if name not in _READERS or not isinstance(settings, dict):
        raise MalformedTransformer(f"processor {number}, {name}, is none that redrive knows")
    return name, settings
