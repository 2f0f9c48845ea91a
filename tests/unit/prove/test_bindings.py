"""The value of a variable fits the call that it ends in, wherever the source takes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive.prove.guess.bindings import variables_for


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("c.put_item(TableName=os.environ['NAME'])", "sample-table"),
        ("N = os.environ['NAME']\ntable = dynamodb.Table(N)", "sample-table"),
        ("class A:\n def __init__(self): self.n = os.getenv('NAME')\n def f(self): q.send(QueueUrl=self.n)", "https://sqs."),
        ("def save(where): s3.put_object(Bucket=where)\nsave(os.environ['NAME'])", "sample-bucket"),
        ("n = os.environ['NAME']\nx = int(n)", "10"),
        ("x = json.loads(os.environ['NAME'])", "{}"),
        ("sns.publish(**{'TopicArn': os.environ['NAME']})", ":sns:"),
        ("requests.post(os.environ['NAME'], json={})", "https://example.com"),
        ("sm.get_secret_value(SecretId=os.environ['NAME'])", "sample-secret"),
        ("ssm.get_parameter(Name=os.environ['NAME'])", "/sample/parameter"),
        ("sqs.delete_message(QueueUrl=os.environ['NAME'], ReceiptHandle=r)", "https://own"),
    ],
)  # fmt: skip
def test_value_fits_the_call_that_it_ends_in(tmp_path: Path, code: str, part: str) -> None:
    file = tmp_path / "app.py"
    file.write_text(code)

    fitting = variables_for(file, ["NAME"], own_queue="https://own")["NAME"]

    assert part in fitting.value
    assert "app.py:" in fitting.because("")


def test_value_is_followed_into_a_module_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("import os\nPLACE = os.environ['NAME']\n")
    (tmp_path / "app.py").write_text("import settings\nclient.get_item(TableName=settings.PLACE)\n")

    assert variables_for(tmp_path / "app.py", ["NAME"])["NAME"].value == "sample-table"


def test_name_decides_where_no_use_is_found(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import os\nos.environ['ALERT_TOPIC']\n")

    fitting = variables_for(tmp_path / "app.py", ["ALERT_TOPIC"])["ALERT_TOPIC"]

    assert ":sns:" in fitting.value
    assert fitting.because("app.py:2") == "because app.py:2 reads it"
