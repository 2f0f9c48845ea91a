"""The templates of EventBridge's input transformers: texts with `<placeholders>`, which values of an event replace.

A placeholder outside of quotes becomes a JSON value. Inside quotes it becomes text: a string without quotes, another
value as its JSON. There are two kinds of templates. One that begins with a quote is a string, or several in lines: no
value in it brings quotes along. Every other template has to give JSON. Values are not escaped, as on AWS.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html and
docs/semantics/events.md for what was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from redrive.core.documents import dump_json, load_json
from redrive.languages.json_path import MISSING

TEMPLATES_KEPT = 4_096

RESERVED = frozenset(
    {
        "aws.events.rule-arn", "aws.events.rule-name", "aws.events.event.ingestion-time", "aws.events.event",
        "aws.events.event.json",
    }
)  # fmt: skip
"""The placeholders that every template may use."""

_PLACEHOLDER = re.compile(r"<([A-Za-z0-9_.\-]+)>")
_KEY_FOLLOWS = re.compile(r"\s*:")

Lookup = Callable[[str], object]
"""Returns the value of a placeholder, or MISSING."""


class UnusableOutput(ValueError):
    """A template and these values give no JSON; EventBridge delivers nothing then."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder: its name, whether it stands inside of a JSON string, and whether it is a key of an object."""

    name: str
    is_quoted: bool
    is_key: bool


@dataclass(frozen=True, slots=True)
class Template:
    """A template as texts and placeholders in turn. `is_string`: it begins with a quote."""

    parts: tuple[str | Placeholder, ...]
    is_string: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all placeholders, in order, each once."""
        return tuple(dict.fromkeys(part.name for part in self.parts if isinstance(part, Placeholder)))

    @property
    def has_key(self) -> bool:
        """Whether a placeholder is the key of an object, which AWS refuses."""
        return any(isinstance(part, Placeholder) and part.is_key for part in self.parts)

    def render(self, lookup: Lookup) -> str:
        """The text with all placeholders replaced. Errors: UnusableOutput."""
        text = "".join(part if isinstance(part, str) else self._replaced(part, lookup) for part in self.parts)
        if not self.is_string:
            try:
                load_json(text)
            except ValueError as error:
                raise UnusableOutput(f"The transformed input is not valid JSON: {error}") from error
        return text

    def _replaced(self, part: Placeholder, lookup: Lookup) -> str:
        value = lookup(part.name)
        if not part.is_quoted:
            return '""' if value is MISSING else dump_json(value)
        if value is MISSING:
            return ""
        if isinstance(value, str):
            return value
        return dump_json(value).replace('"', "") if self.is_string else dump_json(value)


@lru_cache(TEMPLATES_KEPT)
def parse_template(text: str) -> Template:
    """The parts of a template. Every text is a template."""
    parts: list[str | Placeholder] = []
    at, is_quoted = 0, False
    for found in _PLACEHOLDER.finditer(text):
        between = text[at : found.start()]
        is_quoted = _quoted_after(between, is_quoted)
        parts += [between] if between else []
        parts.append(Placeholder(found[1], is_quoted, _is_key(text, found, is_quoted)))
        at = found.end()
    if at < len(text):
        parts.append(text[at:])
    return Template(tuple(parts), text.lstrip().startswith('"'))


def _quoted_after(text: str, is_quoted: bool) -> bool:
    """Whether a JSON string is open after a text."""
    is_escaped = False
    for character in text:
        if is_escaped:
            is_escaped = False
        elif character == "\\":
            is_escaped = is_quoted
        elif character == '"':
            is_quoted = not is_quoted
    return is_quoted


def _is_key(text: str, found: re.Match[str], is_quoted: bool) -> bool:
    """Whether a colon follows a placeholder, or the string that it alone makes."""
    end = found.end()
    if is_quoted:
        if text[found.start() - 1 : found.start()] != '"' or text[end : end + 1] != '"':
            return False
        end += 1
    return not text.lstrip().startswith('"') and _KEY_FOLLOWS.match(text, end) is not None
