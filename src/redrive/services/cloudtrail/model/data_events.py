"""Events of data: calls about what is in a resource, which a trail records if its selectors ask for them.

Source: https://docs.aws.amazon.com/awscloudtrail/latest/userguide/logging-data-events-with-cloudtrail.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from redrive.core.documents import Document
from redrive.core.scope import Scope

TYPES: Mapping[str, str] = MappingProxyType(
    {
        "dynamodb": "AWS::DynamoDB::Table",
        "lambda": "AWS::Lambda::Function",
        "s3": "AWS::S3::Object",
        "sqs": "AWS::SQS::Queue",
    }
)
"""The services whose events of data can be recorded here, with their types of resources."""

SHOWN: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "dynamodb": frozenset({"tableName", "key", "indexName", "consistentRead", "returnValues", "requestItems"}),
        "lambda": frozenset({"functionName", "qualifier", "invocationType"}),
        # S3's records have the names of the wire: of the path, the query and the headers.
        "s3": frozenset(
            {
                "bucketName",
                "Host",
                "key",
                "uploadId",
                "partNumber",
                "versionId",
                "x-amz-acl",
                "x-amz-copy-source",
                "x-amz-server-side-encryption",
                "x-amz-storage-class",
            }
        ),
        "sqs": frozenset({"queueUrl", "messageBody", "delaySeconds", "maxNumberOfMessages", "waitTimeSeconds"}),
    }
)
"""The parameters that a record of data shows; what is in messages and items is in none."""

HIDDEN = frozenset({"messageBody"})
"""Those of them whose value is hidden."""

_READS = frozenset({"BatchGetItem", "GetItem", "Query", "Scan", "SelectObjectContent", "TransactGetItems"})
_FUNCTION_PARTS = 7
_BUCKETS = "arn:aws:s3:::"


def reads(operation: str) -> bool:
    """Whether an operation about data only reads."""
    return operation in _READS or operation.startswith(("Get", "Head", "List"))


def arns_of(service: str, params: Mapping[str, object], scope: Scope) -> tuple[str, ...]:
    """The resources that a call is about; empty if it names none."""
    match service:
        case "sqs":
            account, _, name = str(params.get("QueueUrl", "")).removesuffix("/").rpartition("/")
            account = account.rpartition("/")[2] or scope.account
            return (f"arn:aws:sqs:{scope.region}:{account}:{name}",) if name else ()
        case "lambda":
            name = str(params.get("FunctionName", ""))
            return (_function_arn(name, scope),) if name else ()
        case "dynamodb":
            found = dict.fromkeys(_tables(params))
            return tuple(name if name.startswith("arn:") else _table_arn(name, scope) for name in found)
        case "s3":
            return tuple(f"{_BUCKETS}{params.get('Bucket', '')}/{key}" for key in _keys(params))
        case _:
            return ()


def told(service: str, arns: Sequence[str], scope: Scope) -> list[Document]:
    """The `resources` of a record. S3 names one object, or what the names of several begin with, and the bucket."""
    if service == "s3":
        bucket, _, key = arns[0].partition("/")
        objects = {"ARN": arns[0]} if key and len(arns) == 1 else {"ARNPrefix": f"{bucket}/"}
        owned = {"accountId": scope.account, "type": "AWS::S3::Bucket", "ARN": bucket}
        return [{"type": TYPES[service], **objects}, owned]
    return [{"accountId": scope.account, "type": TYPES[service], "ARN": arn} for arn in arns]


def _keys(params: Mapping[str, object]) -> list[str]:
    """The keys of objects that a call of S3 names; the empty one if it is about a bucket's objects as a whole."""
    deleted = params.get("Delete")
    if isinstance(deleted, Mapping):
        return [str(one["Key"]) for one in deleted.get("Objects", ())]
    return [str(params.get("Key", ""))]


def _tables(params: Mapping[str, object]) -> list[str]:
    """The tables that the parameters of a call of DynamoDB name."""
    names = [str(params["TableName"])] if "TableName" in params else []
    items = params.get("RequestItems")
    names += list(items) if isinstance(items, Mapping) else []
    actions = params.get("TransactItems")
    for action in actions if isinstance(actions, Sequence) else ():
        names += [str(one["TableName"]) for one in action.values() if isinstance(one, Mapping) and "TableName" in one]
    return names


def _table_arn(name: str, scope: Scope) -> str:
    return f"arn:aws:dynamodb:{scope.region}:{scope.account}:table/{name}"


def _function_arn(written: str, scope: Scope) -> str:
    """The ARN of a function, without its version, from a name, a partial ARN or an ARN."""
    if written.startswith("arn:"):
        return ":".join(written.split(":")[:_FUNCTION_PARTS])
    parts = written.split(":")
    is_partial = len(parts) > 2 and parts[1] == "function"
    account, name = (parts[0], parts[2]) if is_partial else (scope.account, parts[0])
    return f"arn:aws:lambda:{scope.region}:{account}:function:{name}"
