"""The document that processors work on, and the paths of its fields: `outer.inner`, at most three names deep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.core.documents import Document

MESSAGE = "@message"
DEPTH_MAX = 3

Metadata = Mapping[str, str]
"""What `copyValue` copies of an event's origin, by names that begin with @."""

NO_METADATA: Metadata = {}


class MalformedTransformer(ValueError):
    """The transformer cannot be; the text says why."""


class NotFitting(Exception):
    """An event does not fit a processor, which then changes nothing."""


@dataclass(slots=True)
class Transformed:
    """A log event under transformation. `document` is what it has become so far."""

    message: str
    metadata: Metadata
    document: Document = field(default_factory=dict)

    def get(self, path: Path) -> object:
        """The value of a field. Errors: NotFitting."""
        value: object = self.document
        for name in path:
            if not isinstance(value, dict) or name not in value:
                raise NotFitting
            value = value[name]
        return value

    def text(self, path: Path) -> str:
        """The text of a field. Errors: NotFitting."""
        value = self.get(path)
        if not isinstance(value, str):
            raise NotFitting
        return value

    def source(self, path: Path | None) -> str:
        """What a parser reads: a field, or the message. Errors: NotFitting."""
        return self.message.rstrip("\n") if path is None else self.text(path)

    def put(self, path: Path, value: object, *, overwrite: bool) -> None:
        """Set a field, with the objects that it is in. Errors: NotFitting (it may not be overwritten)."""
        parent = self.parent(path)
        if path[-1] in parent and not overwrite:
            raise NotFitting
        parent[path[-1]] = value

    def take(self, path: Path) -> object:
        """Remove a field. Returns its value. Errors: NotFitting."""
        value = self.get(path)
        parent = self.get(path[:-1])
        assert isinstance(parent, dict)
        del parent[path[-1]]
        return value

    def parent(self, path: Path) -> Document:
        """The object that a field is in, or will be in. Errors: NotFitting (something else is in its place)."""
        value = self.document
        for name in path[:-1]:
            inner = value.setdefault(name, {})
            if not isinstance(inner, dict):
                raise NotFitting
            value = inner
        return value

    def put_all(self, destination: Path | None, fields: Mapping[str, object], *, overwrite: bool) -> None:
        """Set fields under a destination, or at the root; those that are there stay, unless they are overwritten."""
        parent = self.document if destination is None else self.parent((*destination, ""))
        for name, value in fields.items():
            if overwrite or name not in parent:
                parent[name] = value


Path = tuple[str, ...]
"""The names on the way to a field."""


def read_path(text: str, where: str) -> Path:
    """A field's path. Errors: MalformedTransformer (an empty name, too deep)."""
    path = tuple(text.split("."))
    if not all(path):
        raise MalformedTransformer(f"{where} {text} has an empty name in its path")
    if len(path) > DEPTH_MAX:
        raise MalformedTransformer(f"{where} {text} is more than {DEPTH_MAX} names deep")
    return path


def read_source(settings: Document, where: str) -> Path | None:
    """What a parser reads: the path of a field; None for the message. Errors: MalformedTransformer."""
    source = settings.get("source", MESSAGE)
    return None if source == MESSAGE else read_path(str(source), f"{where}.source")


def read_destination(settings: Document, where: str) -> Path | None:
    """Where a parser puts what it finds; None for the root. Errors: MalformedTransformer."""
    destination = settings.get("destination")
    return None if destination is None else read_path(str(destination), f"{where}.destination")
