"""Conditions for writes of DynamoDB: the message's key in the item, or a version."""

from __future__ import annotations

import ast

from redrive.prove.calls.calls import mapping_of
from redrive.prove.tell.advice.changes.source import Edit, Source, Spot, keyword

_APPLIED = "applied"
GROWS = (
    "The item remembers each message, and holds 400 KB at most: where there are many, keep a record of each in a table "
    "of its own, written in the same transaction."
)
_COLUMNS = 100
"""A dictionary that is longer has a line for each member."""
_VERSIONS = ("version", "revision", "sequence", "sequence_number", "seq", "updated_at", "timestamp")


def recorded_in_the_item(spot: Spot) -> str:
    """An update that adds to a number, with the message's key in a set of the same item, and a condition on the set."""
    source = spot.source
    call = source.call_at(spot.line, "update_item")
    statement = None if call is None else source.statement(call)
    if call is None or not isinstance(statement, ast.Expr) or keyword(call, "ConditionExpression") is not None:
        return ""
    update, values = keyword(call, "UpdateExpression"), keyword(call, "ExpressionAttributeValues")
    key = spot.key(statement)
    if update is None or values is None or not key or not isinstance(values.value, ast.Dict):
        return ""
    if not isinstance(update.value, ast.Constant) or not isinstance(update.value.value, str):
        return ""
    text = update.value.value
    added = (
        f"{text}, {_APPLIED} :applied"
        if text.lstrip().upper().startswith("ADD ")
        else f"{text} ADD {_APPLIED} :applied"
    )
    if " ADD " in f" {text.upper()}" and not text.lstrip().upper().startswith("ADD "):
        return ""
    is_client = keyword(call, "TableName") is not None
    one, many = (f'{{"S": {key}}}', f'{{"SS": [{key}]}}') if is_client else (key, f"{{{key}}}")
    inner = source.margin(values) if _is_wide(call) else source.indent(statement)
    edits = [
        source.replaced(update.value, f'"{added}"'),
        _before(source, values, f'ConditionExpression="NOT contains({_APPLIED}, :key)"'),
        source.replaced(
            values.value, _with_members(source, values.value, [f'":applied": {many}', f'":key": {one}'], inner)
        ),
    ]
    return _refusal_passed(source, statement, call, edits, "It is counted already.")


def older_refused(spot: Spot) -> str:
    """A write of an item with a version, under the condition that the version is newer than what is there."""
    source = spot.source
    call = source.call_at(spot.line, "put_item")
    statement = None if call is None else source.statement(call)
    if call is None or not isinstance(statement, ast.Expr):
        return ""
    item = keyword(call, "Item")
    names = {"ConditionExpression", "ExpressionAttributeValues", "ExpressionAttributeNames"}
    if item is None or any(one.arg in names for one in call.keywords):
        return ""
    written = mapping_of(spot.params.get("Item"))
    version = next((name for name in _VERSIONS if "N" in mapping_of(written.get(name))), None)
    value = None if version is None else _member(source, item.value, version)
    if version is None or value is None:
        return ""
    condition = ['ConditionExpression="attribute_not_exists(#version) OR #version < :version"']
    condition += [f'ExpressionAttributeNames={{"#version": "{version}"}}']
    condition += [f'ExpressionAttributeValues={{":version": {value}}}']
    edits = [_after(source, call, item, condition)]
    return _refusal_passed(source, statement, call, edits, "A newer one is there.")


def read_modify_write_tied(spot: Spot) -> str:
    """A write of what was read before, with the messages that it has in a list of the same item."""
    source = spot.source
    call = source.call_at(spot.line, "put_item")
    statement = None if call is None else source.statement(call)
    item = None if call is None else keyword(call, "Item")
    if call is None or statement is None or item is None or keyword(call, "TableName") is not None:
        return ""
    if not isinstance(statement, ast.Expr) or not isinstance(item.value, ast.Dict):
        return ""
    key = spot.key(statement)
    read = next((name for name in _names(item.value) if _is_read(source.assigned(name, statement))), None)
    if not key or read is None:
        return ""
    indent = source.indent(statement)
    leave = "continue" if source.loop_of(statement) else "return"
    start = source.start(statement)
    known = f'{read}.get("{_APPLIED}", [])'
    condition = []
    if keyword(call, "ConditionExpression") is None:
        condition = [f'ConditionExpression="attribute_not_exists({_APPLIED}) OR {_APPLIED} = :applied"']
        condition += [f'ExpressionAttributeValues={{":applied": {known}}}']
    inner = " " * item.col_offset if _is_wide(call) else f"{indent}    "
    value = _with_members(source, item.value, [f'"{_APPLIED}": [*{known}, {key}]'], inner)
    skip = Edit(start, start, f"if {key} in {known}:\n{indent}    {leave}\n{indent}")
    return source.edited([skip, _after(source, call, item, condition, value)])


def _names(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _is_read(value: ast.expr | None) -> bool:
    return value is not None and any(
        isinstance(node, ast.Attribute) and node.attr in {"get_item", "query", "scan"} for node in ast.walk(value)
    )


def _member(source: Source, item: ast.expr, name: str) -> str | None:
    """The value of a member of an item that is written."""
    if isinstance(item, ast.Name):
        return f'{item.id}["{name}"]'
    if isinstance(item, ast.Dict):
        for key, value in zip(item.keys, item.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == name:
                return source.told(value)
    return None


def _is_wide(call: ast.Call) -> bool:
    """Whether a call has a line for each argument."""
    return bool(call.keywords) and call.keywords[0].value.lineno > call.lineno


def _separator(call: ast.Call) -> str:
    if not _is_wide(call):
        return ", "
    return ",\n" + " " * call.keywords[0].col_offset


def _before(source: Source, argument: ast.keyword, text: str) -> Edit:
    call = source.parent(argument)
    start = source.start(argument.value) - len(f"{argument.arg}=")
    return Edit(start, start, text + (_separator(call) if isinstance(call, ast.Call) else ", "))


def _after(source: Source, call: ast.Call, argument: ast.keyword, texts: list[str], value: str = "") -> Edit:
    """An edit that puts further arguments behind one, on lines of their own; `value` is the new value of that one."""
    value = value or source.told(argument.value)
    if _is_wide(call):
        separator = _separator(call)
        return source.replaced(argument.value, value + "".join(separator + text for text in texts))
    outer = " " * (source.statement(call) or call).col_offset
    others = [source.told(one) for one in call.args]
    others += [f"{one.arg}={source.told(one.value)}" for one in call.keywords if one is not argument]
    lines = "".join(f"\n{outer}    {text}," for text in [*others, f"{argument.arg}={value}", *texts])
    return Edit(source.end(call.func) + 1, source.end(call) - 1, f"{lines}\n{outer}")


def _with_members(source: Source, node: ast.Dict, added: list[str], indent: str) -> str:
    """A dictionary with further members, on lines of their own if one is too long; `indent` is that of its line."""
    members = [
        f"**{source.told(value)}" if key is None else f"{source.told(key)}: {source.told(value)}"
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    joined = f"{{{', '.join([*members, *added])}}}"
    if node.lineno == node.end_lineno and len(joined) + len(indent) <= _COLUMNS:
        return joined
    lines = "".join(f"\n{indent}    {member}," for member in [*members, *added])
    return f"{{{lines}\n{indent}}}"


def _refusal_passed(source: Source, statement: ast.Expr, call: ast.Call, edits: list[Edit], why: str) -> str:
    """The statement, changed and inside of a `try` that takes the refusal of its condition for work that is done."""
    if not isinstance(call.func, ast.Attribute):
        return ""
    client = source.told(call.func.value) + ("" if keyword(call, "TableName") is not None else ".meta.client")
    start, end, indent = source.start(statement), source.end(statement), source.indent(statement)
    changed = source.edited(edits)
    inside = changed[start : end + len(changed) - len(source.text)]
    body = inside.replace("\n", "\n    ")
    refused = f"except {client}.exceptions.ConditionalCheckFailedException:"
    text = f"try:\n{indent}    {body}\n{indent}{refused}\n{indent}    pass  # {why}"
    return source.text[:start] + text + source.text[end:]
