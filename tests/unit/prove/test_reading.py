"""What a handler reads is found in its source: keys of the event, values that they are compared with, variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive.prove.guess.reading import Reading, read_handler

HANDLER = "def handler(event, context):\n"


def read(tmp_path: Path, code: str, function: str = "handler") -> Reading:
    file = tmp_path / "app.py"
    file.write_text(code)
    return read_handler(file, function)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("event['detail']['a']['b']", ("detail", "a", "b")),
        ("event.get('detail').get('a')", ("detail", "a")),
        ("event.get('detail', {}).get('a', {})['b']", ("detail", "a", "b")),
        ("detail = event['detail']; detail['a']", ("detail", "a")),
        ("(event.get('detail') or {})['a']", ("detail", "a")),
        ("event['detail']['items'][0]['id']", ("detail", "items", 0, "id")),
        ("for one in event['detail']['items']:\n        one['id']", ("detail", "items", 0, "id")),
        ("if (a := event['detail'])['b']: pass", ("detail", "b")),
        ("work(event['detail'])\ndef work(order): order['id']", ("detail", "id")),
        ("work(order=event['detail'])\ndef work(order): order['id']", ("detail", "id")),
    ],
)
def test_keys_of_the_event_are_followed(tmp_path: Path, body: str, path: tuple[str | int, ...]) -> None:
    assert path in read(tmp_path, f"{HANDLER}    {body}\n").paths


@pytest.mark.parametrize(
    "body", ["event.get('detail', {}).get('a', 1)", "other['detail']['a']", "event = {}\n    event['detail']['a']"]
)
def test_keys_with_a_default_and_of_other_objects_are_not_asked_for(tmp_path: Path, body: str) -> None:
    assert ("detail", "a") not in read(tmp_path, f"{HANDLER}    {body}\n").paths


def test_a_function_that_calls_itself_is_read_once(tmp_path: Path) -> None:
    code = f"{HANDLER}    walk(event)\ndef walk(node): walk(node['next'])\n"

    assert ("next",) in read(tmp_path, code).paths


def test_texts_that_a_value_is_compared_with_are_kept(tmp_path: Path) -> None:
    code = f"{HANDLER}    if event['source'] == 'aws.s3' or event['detail-type'] in ('A', 'B'): pass\n"

    assert read(tmp_path, code).compared == {("source",): ["aws.s3"], ("detail-type",): ["A", "B"]}


def test_variables_without_a_default_are_found_also_in_modules_beside(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("from os import environ, getenv\nA = environ['A']\nB = getenv('B')\n")
    code = f"import os, settings\nC = os.getenv('C', None)\nD = os.getenv('D', 'x')\n{HANDLER}    os.environ['E']\n"

    assert read(tmp_path, code).variables.keys() == {"A", "B", "C", "E"}


def test_source_that_cannot_be_parsed_says_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "def handler(:\n") == Reading()


def test_loop_in_a_loop_gives_its_name_another_meaning(tmp_path: Path) -> None:
    inner = "for record in json.loads(record['body'])['Records']: x = record['s3']"
    code = f"import json\n{HANDLER}    for record in event['Records']:\n        {inner}\n"

    paths = read(tmp_path, code).paths

    assert ("Records", 0, "body", "Records", 0, "s3") in paths
    assert ("Records", 0, "s3") not in paths


@pytest.mark.parametrize(
    "body", ["sum([i['n'] for i in event['items']])", "{k: i['n'] for k, i in enumerate(event['items'])}"]
)
def test_members_of_a_list_are_read_in_comprehensions(tmp_path: Path, body: str) -> None:
    assert ("items", 0, "n") in read(tmp_path, f"{HANDLER}    {body}\n").paths
