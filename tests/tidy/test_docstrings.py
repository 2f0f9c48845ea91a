"""Everything with a public name says what it does, and operations say where AWS says so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.tidy.source import PACKAGE, Function, Source, findings

CITATION = re.compile(r"^\s*Source: .*https://\S+", re.MULTILINE)


def undocumented(source: Source) -> Iterator[str]:
    """Modules, and public functions and classes at the top of them, have docstrings."""
    if ast.get_docstring(source.tree) is None:
        yield f"{source.path} has no docstring: why does it exist, and what must it not know?"
    for node in source.tree.body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        if ast.get_docstring(node) is None:
            yield f"{source.path}:{node.name} has no docstring"


def uncited_operations(source: Source) -> Iterator[str]:
    """An operation names the page of AWS that it follows: a line `Source: https://…` in its docstring."""
    for name, function in source.functions.items():
        cited = CITATION.search(ast.get_docstring(function) or "")
        if not cited and any(_is_operation(decorator) for decorator in function.decorator_list):
            yield f"{source.path}:{name} is an operation without `Source: https://…` in its docstring"


def _is_operation(decorator: ast.expr) -> bool:
    match decorator:
        case ast.Call(func=ast.Name(id="operation") | ast.Attribute(attr="operation")):
            return True
        case _:
            return False


def test_every_public_name_is_documented() -> None:
    assert findings(undocumented, PACKAGE) == []


def test_every_operation_cites_the_page_it_follows() -> None:
    assert findings(uncited_operations, PACKAGE) == []


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        '"""Doc."""\ndef f(): ...',
        '"""Doc."""\nasync def f(): ...',
        '"""Doc."""\nclass A:\n    x = 1',
    ],
)
def test_public_name_without_docstring_is_seen(text: str) -> None:
    assert len(list(undocumented(Source("a.py", text)))) == 1


def test_private_names_need_no_docstring() -> None:
    assert list(undocumented(Source("a.py", '"""Doc."""\ndef _f(): ...\nclass _A: ...'))) == []


@pytest.mark.parametrize(
    "docstring", ["", '"""Send."""', '"""Send.\n\n    Source: the manual\n    """', '"""See https://aws."""']
)
def test_operation_without_its_page_is_seen(docstring: str) -> None:
    text = f'@operation("SendMessage")\ndef send_message(tx):\n    {docstring}\n    return {{}}\n'

    assert len(list(uncited_operations(Source("services/sqs/operations/queues.py", text)))) == 1


def test_operation_with_its_page_passes() -> None:
    docstring = '"""Send.\n\n    Source: https://docs.aws.amazon.com/page.html\n    """'
    text = f'@operation("SendMessage")\ndef send_message(tx):\n    {docstring}\n    return {{}}\n'

    assert list(uncited_operations(Source("services/sqs/operations/queues.py", text))) == []
