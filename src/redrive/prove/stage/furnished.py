"""What is there before the first run: rows, objects, messages, secrets and parameters, as they are given or guessed."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import cast
from urllib.parse import urlencode

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from redrive.core.documents import Document
from redrive.core.errors import ServiceError, UserError
from redrive.prove.calls.calls import Call
from redrive.prove.calls.given import Given
from redrive.prove.stage.stage import SCOPE, Stage
from redrive.prove.stage.tables import Improvised

_QUEUES = f"https://sqs.{SCOPE.region}.amazonaws.com/{SCOPE.account}/"
_TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"})


def furnish(stage: Stage, given: Given, improvised: Improvised | None = None) -> None:
    """Write all of it. Without a template, tables and buckets are made where they are not there. Errors: UserError."""
    for table, rows in given.rows.items():
        for row in rows:
            item = typed_row(row)
            if improvised is not None:
                improvised.provide_table_for(stage, table, item)
                item = {**_missing_key(stage, table, item), **item}
            _write(stage, f"A row of {table}", "dynamodb", "PutItem", TableName=table, Item=item)
    for one in given.objects:
        if improvised is not None:
            improvised.provide_bucket(stage, one.bucket)
        what = f"The object {one.bucket}/{one.key}"
        more: Document = {"Metadata": dict(one.metadata), **({"Tagging": urlencode(one.tags)} if one.tags else {})}
        _write(stage, what, "s3", "PutObject", Bucket=one.bucket, Key=one.key, Body=one.body, **more)
    for queue, bodies in given.messages.items():
        if improvised is not None:
            improvised.provide(stage, Call("sqs", "SendMessage", queue, {"QueueUrl": f"{_QUEUES}{queue}"}))
        for body in bodies:
            _write(stage, f"A message of {queue}", "sqs", "SendMessage", QueueUrl=f"{_QUEUES}{queue}", MessageBody=body)
    for name, text in given.secrets.items():
        try:
            stage.call("secretsmanager", "CreateSecret", Name=name, SecretString=text)
        except ServiceError:  # The template makes it, with another value.
            _write(stage, f"The secret {name}", "secretsmanager", "PutSecretValue", SecretId=name, SecretString=text)
    for name, value in given.parameters.items():
        kind, text = ("String", value) if isinstance(value, str) else ("StringList", ",".join(value))
        what = f"The parameter {name}"
        _write(stage, what, "ssm", "PutParameter", Name=name, Value=text, Type=kind, Overwrite=True)


def _missing_key(stage: Stage, table: str, item: Mapping[str, object]) -> Document:
    """Attributes of a guessed table's key that a row has not."""
    described = stage.look_up("dynamodb", "DescribeTable", TableName=table)["Table"]
    types = {one["AttributeName"]: one["AttributeType"] for one in described["AttributeDefinitions"]}
    names = [one["AttributeName"] for one in described["KeySchema"] if one["AttributeName"] not in item]
    samples: Mapping[str, object] = {"N": "1", "B": b"sample"}
    return {name: {types[name]: samples.get(types[name], f"sample-{name}")} for name in names}


def _write(stage: Stage, what: str, service: str, operation: str, **params: object) -> None:
    try:
        stage.call(service, operation, **params)
    except ServiceError as error:
        raise UserError(
            f"{what} cannot be written: {error.message}", next_step="Change it in the file of --given.", exit_code=2
        ) from error


def typed_row(row: Mapping[str, object]) -> Document:
    """A row as DynamoDB writes it; one that is written so already stays."""
    if all(isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _TYPES for value in row.values()):
        return dict(row)
    return {str(name): cast("Document", TypeSerializer().serialize(_exact(value))) for name, value in row.items()}


def plain_row(item: Mapping[str, object]) -> Document:
    """A row in plain values."""
    return {name: TypeDeserializer().deserialize(value) for name, value in item.items()}


def _exact(value: object) -> object:
    """The value with decimal numbers, as DynamoDB has no others."""
    match value:
        case float():
            return Decimal(str(value))
        case dict():
            return {str(name): _exact(member) for name, member in value.items()}
        case list():
            return [_exact(member) for member in value]
        case bool() | int() | str() | bytes() | Decimal() | None:
            return value
        case _:
            return str(value)  # A date of YAML.
