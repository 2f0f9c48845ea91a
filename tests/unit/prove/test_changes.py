"""A change of the source follows from the place of the call, and is shown only if it ends the history."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.advice.changes.changes import Change
from redrive.prove.tell.advice.changes.source import Edit, Source
from tests.unit.prove.truth.known import Known, known_handlers

CHANGED = [known for known in known_handlers() if "change" in known.facts]
ORDER = ('{"id": "order-1", "amount": 5}',)


@pytest.mark.parametrize("known", [pytest.param(one, id=one.name) for one in CHANGED])
def test_changed_source_is_acquitted_or_breaks_no_rule_in_that_history(known: Known, tmp_path: Path) -> None:
    found = prove(known.subject, known.options).counterexample
    assert found is not None
    assert found.change is not None
    (tmp_path / f"{known.name}.py").write_text(found.change.after, "utf-8")

    again = prove(subject_of(f"{known.name}:handler", tmp_path), known.options).counterexample

    assert (again is None) == (known.facts["change"] == "safe")
    assert again is None or again.history != found.history
    assert known.facts["change"] == "safe" or "prove it again" in found.tried


def test_no_change_is_shown_that_does_not_end_the_history() -> None:
    """A set in one of four shards knows nothing of the other shards, so the derived condition does not help."""
    (known,) = [one for one in known_handlers() if one.name == "random_shard"]

    found = prove(known.subject, known.options).counterexample

    assert found is not None
    assert found.cause == "unrecorded"
    assert found.change is None


def test_diff_names_the_file_and_its_lines(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import json\nimport uuid\n\nimport boto3\n\n\ndef handler(event, context):\n"
        "    order = json.loads(event['Records'][0]['body'])\n"
        "    token = uuid.uuid4().hex\n"
        "    boto3.client('dynamodb').put_item(TableName='invoices', Item={'id': {'S': token}})\n",
        "utf-8",
    )

    found = prove(subject_of("app:handler", tmp_path), Options(faults=1, bodies=ORDER)).counterexample

    assert found is not None
    assert found.change is not None
    assert found.change.diff.splitlines() == [
        "--- a/app.py", "+++ b/app.py", "@@ -7,4 +7,4 @@", " def handler(event, context):",
        "     order = json.loads(event['Records'][0]['body'])", "-    token = uuid.uuid4().hex",
        '+    token = order["id"]',
        "     boto3.client('dynamodb').put_item(TableName='invoices', Item={'id': {'S': token}})",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message", "key"),
    [
        ("def f(event, c):\n  for r in event['Records']:\n    o = loads(r['body'])\n    use(o['id'])", {}, "o['id']"),
        ("def f(event, c):\n  for r in event['Records']:\n    use(r['messageId'])", {}, ""),
        ("def f(event, c):\n  o = json.loads(b)\n  use(o['amount'])", {"id": 1}, 'o["id"]'),
        ("def f(event, c):\n  o = json.loads(b)['orderId']\n  use(o)", {}, "o"),
        ("def f(event, c):\n  use(event['id'])", {}, ""),
    ],
)
def test_key_of_the_message_is_one_that_the_body_names(text: str, message: dict[str, object], key: str) -> None:
    source = Source(text)
    call = [node for node in ast.walk(source.tree) if isinstance(node, ast.Expr)][-1]

    assert source.message_key(call, message, is_plain=False) == key


def test_edits_count_in_characters_where_the_tree_counts_in_bytes() -> None:
    source = Source("name = 'Zoë'; other = 'x'\n")
    (value,) = [node for node in ast.walk(source.tree) if isinstance(node, ast.Constant) and node.value == "x"]

    assert source.edited([source.replaced(value, "'y'"), Edit(0, 4, "word")]) == "word = 'Zoë'; other = 'y'\n"


def test_diff_says_that_the_last_line_does_not_end(tmp_path: Path) -> None:
    """`patch` refuses a hunk that takes the last line for one that ends."""
    change = Change(tmp_path / "app.py", "app.py", "a\nb", "a\nc")

    assert change.diff.splitlines()[3:] == [
        " a", "-b", "\\ No newline at end of file", "+c", "\\ No newline at end of file",
    ]  # fmt: skip
    assert "newline" not in Change(tmp_path / "app.py", "app.py", "a\nb\n", "a\nc\n").diff
