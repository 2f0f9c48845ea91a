"""A key that is drawn, or that is one of the delivery, replaced by what the message says."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.advice.changes.source import Source, Spot

_DRAWS = frozenset({"uuid1", "uuid4", "token_hex", "token_urlsafe", "getrandbits", "urandom", "randrange", "randint"})
_IDS = frozenset({"messageId", "receiptHandle", "sequenceNumber", "eventID", "MessageId"})
_WRAPPERS = frozenset({"str", "repr"})


def keyed(spot: Spot) -> str:
    """The source with the message's own key in the place of the one that changes; empty if there is none in reach."""
    source = spot.source
    call = source.call_at(spot.line)
    statement = None if call is None else source.statement(call)
    if statement is None:
        return ""
    key = spot.key(statement)
    changing = next(_changing(source, statement, spot.kind), None)
    if not key or changing is None:
        return ""
    return source.edited([source.replaced(changing, key)])


def _changing(source: Source, statement: ast.stmt, kind: Kind) -> Iterator[ast.expr]:
    """The expressions of a statement, and of the names in it, that are other ones at each delivery."""
    for node in ast.walk(statement):
        if isinstance(node, ast.expr) and _changes(node, kind):
            yield _whole(source, node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            value = source.assigned(node.id, statement)
            for inner in () if value is None else ast.walk(value):
                if isinstance(inner, ast.expr) and _changes(inner, kind):
                    yield _whole(source, inner)


def _changes(node: ast.expr, kind: Kind) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in _DRAWS
        case ast.Attribute(attr="aws_request_id"):
            return True
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            is_event_id = kind is Kind.EVENTBRIDGE and name == "id" and isinstance(node.value, ast.Name)
            return name in _IDS or is_event_id
        case _:
            return False


def _whole(source: Source, node: ast.expr) -> ast.expr:
    """The expression with what makes a text of it: `str(uuid4())`, `uuid4().hex`."""
    parent = source.parent(node)
    if isinstance(parent, ast.Attribute) and parent.attr == "hex":
        return _whole(source, parent)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in _WRAPPERS:
        return parent
    return node
