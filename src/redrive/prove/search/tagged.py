"""Tags of objects that a handler asks for: which ones it reads, and objects that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.prove.calls.calls import Call, mapping_of
from redrive.prove.guess.hints import overlaid
from redrive.prove.guess.mends import Content, Mend
from redrive.prove.guess.watched import At, Observations

TAGS_OF = "tags of the object "
"""How the source of an object's tags begins. A place in it is a tag's key: its value stands there."""
_LIST = "TagSet"
_FIRST = "sample"


def tags_source(call: Call) -> str:
    """The source of the answer to GetObjectTagging."""
    return f"{TAGS_OF}{call.target}/{call.params.get('Key')}"


def watched_tags(answer: Document, watch: Observations, at: At) -> Document:
    """The answer with tags that know their places: the key says that it is one, and the value which key it has."""
    tags = [
        {"Key": watch.wrap(tag["Key"], at.below(_LIST).below(0).below("Key")),
         "Value": watch.wrap(tag["Value"], at.below(tag["Key"]))}
        for tag in answer.get(_LIST, ())
    ]  # fmt: skip
    return {**answer, _LIST: tags or watch.wrap([], at.below(_LIST))}


def as_tag(mend: Mend) -> Mend:
    """The change as one of a tag: a key that is asked for becomes a tag with that key, beside the others."""
    source, path = mend.at.source, mend.at.path
    if not source.startswith(TAGS_OF) or path[:1] != (_LIST,):
        return mend
    wanted = mend.value if path[-1:] == ("Key",) and isinstance(mend.value, str) else _FIRST
    return replace(mend, at=At(source, (str(wanted),)), value=Content.ANY)


def tags_of(mends: Sequence[Mend]) -> Mapping[str, str]:
    """The tags that changes make."""
    made = mapping_of(overlaid({}, [as_tag(mend) for mend in mends if mend.at.path]))
    return {str(key): str(value) for key, value in made.items()}
