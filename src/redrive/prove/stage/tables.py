"""Tables, queues, buckets and objects that no template declares: made at the handler's first call, to fit that call.

A guess is good enough for a search, and is reported to the user, who can declare the resource in a template instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote_plus, unquote, unquote_plus

from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.prove.calls.calls import Call, Params, mapping_of, parts_of
from redrive.prove.guess.binaries import archive
from redrive.prove.guess.contents import PLAIN_FILE, FileContent
from redrive.prove.guess.keys import UNNAMED, KeyShown, key_of_item
from redrive.prove.stage.queried_keys import queried_key
from redrive.prove.stage.stage import SCOPE, Stage

_EXPIRY_NAMES = ("ttl", "expires_at", "expiresAt", "expiration", "expire_at", "expiry", "time_to_live")
_UNCONDITIONED = re.compile(r"attribute_not_exists\s*\(\s*([#\w.-]+)\s*\)")
_KEY_LIKE = re.compile(r"(?i)(?:^|[_-])(?:pk|id|key)$|Id$|Key$")


_SERVICES = {"Queue": "sqs", "Bucket": "s3", "Object": "s3", "Role": "iam", "Function": "lambda"}
_ROLE_OF_FUNCTIONS = f"arn:aws:iam::{SCOPE.account}:role/sample-function-role"
"""The services of what is made, by the noun in the operation that makes it; tables else."""
_READS_OBJECT = frozenset(
    {
        "DeleteObject", "DeleteObjectTagging", "GetObject", "GetObjectAcl", "GetObjectAttributes", "GetObjectTagging",
        "HeadObject", "PutObjectAcl", "PutObjectTagging",
    }
)  # fmt: skip
"""Operations on an object that is there."""


_QUOTED = (
    ". The handler asks for the key as the event writes it: the object whose name has a space or another special "
    "character has another key, which urllib.parse.unquote_plus gives"
)


class Improvised:
    """What was made so far. `texts` are those of the event: a key is probably one of them, and an object that the event
    tells of has the content of `file`.
    """

    def __init__(
        self, texts: tuple[str, ...], file: FileContent = PLAIN_FILE, *, earlier: Improvised | None = None
    ) -> None:  # fmt: skip
        """`earlier` has seen the keys of earlier tries, which made other guesses."""
        self.shown: Mapping[str, KeyShown] = {}
        """The keys that the handler's source shows."""
        self.seen: dict[str, Mapping[str, str]] = {} if earlier is None else dict(earlier.seen)
        """The keys with which the handler has asked for items, by table."""
        self.assumptions: dict[str, str] = {}
        self._texts = texts
        self._file = file
        self._made: list[tuple[str, str, Params]] = []
        self._known: set[tuple[str, str]] = set()
        self._kept = 0

    def provide(self, stage: Stage, call: Call) -> None:
        """Make the resource of a call, if it does not exist."""
        for arn in _roles_in(call.params):
            self._provide_role(stage, arn, call.service)
        for part in parts_of(call):
            self._provide_part(stage, part)

    def provide_table_for(self, stage: Stage, table: str, item: Params) -> None:
        """Make the table of an item that is to be there beforehand, if it does not exist."""
        self.provide(stage, Call("dynamodb", "PutItem", table, {"TableName": table, "Item": item}))

    def keep(self) -> None:
        """What was made so far is there beforehand: it is not made again."""
        self._kept = len(self._made)

    def repeat(self, stage: Stage) -> None:
        """Make all of them again on another stage, before any call needs them."""
        for service, operation, params in self._made[self._kept :]:
            stage.call(service, operation, **params)

    def _provide_part(self, stage: Stage, call: Call) -> None:
        place = (call.service, call.target)
        if not call.target and not _queue_of(call):
            return
        if call.service == "dynamodb" and call.operation.endswith(("Item", "Query", "Scan")):
            if (key := mapping_of(call.params.get("Key"))) and len(key) <= 2:
                self.seen[call.target] = {name: _type_of(value) for name, value in key.items()}
            if place not in self._known:
                self._known.add(place)
                self._provide_table(stage, call)
            self._provide_index(stage, call)
            self._provide_expiry(stage, call)
        elif call.service == "sqs" and (name := _queue_of(call)) and ("sqs", name) not in self._known:
            self._known.add(("sqs", name))
            self._provide_queue(stage, name)
        elif call.service == "lambda" and call.operation.startswith("Invoke"):
            self._provide_function(stage, call)
        elif call.service == "s3":
            self.provide_bucket(stage, call.target)
            self._provide_object(stage, call)

    def _provide_table(self, stage: Stage, call: Call) -> None:
        if _exists(stage, "dynamodb", "DescribeTable", TableName=call.target):
            return
        key, why = self._key_of(call.target, call.params)
        roles = ("HASH", "RANGE")
        schema = [{"AttributeName": name, "KeyType": role} for name, role in zip(key, roles, strict=False)]
        definitions = [{"AttributeName": name, "AttributeType": kind} for name, kind in key.items()]
        is_made = self._make(
            stage, "CreateTable",
            {"TableName": call.target, "KeySchema": schema[:2], "AttributeDefinitions": definitions[:2],
             "BillingMode": "PAY_PER_REQUEST"},
        )  # fmt: skip
        if is_made:
            self.assumptions[f"table {call.target}"] = f"key {', '.join(list(key)[:2])}{why}"

    def _provide_index(self, stage: Stage, call: Call) -> None:
        """Make the index of a query of a table that was made here."""
        name = call.params.get("IndexName")
        place = ("index", f"{call.target}/{name}")
        key = queried_key(call.params)
        if name is None or not key or place in self._known or f"table {call.target}" not in self.assumptions:
            return
        self._known.add(place)
        schema = [{"AttributeName": each, "KeyType": role} for each, role in zip(key, ("HASH", "RANGE"), strict=False)]
        index = {"IndexName": name, "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}
        definitions = [{"AttributeName": each, "AttributeType": kind} for each, kind in key.items()]
        change = {
            "TableName": call.target, "AttributeDefinitions": definitions,
            "GlobalSecondaryIndexUpdates": [{"Create": index}],
        }  # fmt: skip
        if self._make(stage, "UpdateTable", change):
            self.assumptions[f"table {call.target}"] += f", index {name} on {', '.join(key)}"

    def _provide_expiry(self, stage: Stage, call: Call) -> None:
        place = ("expiry", call.target)
        name = _expiry_name(call.params)
        if name is None or place in self._known or f"table {call.target}" not in self.assumptions:
            return
        self._known.add(place)
        specification = {"Enabled": True, "AttributeName": name}
        if self._make(stage, "UpdateTimeToLive", {"TableName": call.target, "TimeToLiveSpecification": specification}):
            self.assumptions[f"table {call.target}"] += f", items expire by {name}"

    def _provide_queue(self, stage: Stage, name: str) -> None:
        if _exists(stage, "sqs", "GetQueueUrl", QueueName=name):
            return
        fifo = {"FifoQueue": "true", "ContentBasedDeduplication": "true"} if name.endswith(".fifo") else {}
        if self._make(stage, "CreateQueue", {"QueueName": name, "Attributes": fifo}):
            self.assumptions[f"queue {name}"] = "a FIFO queue" if fifo else "a standard queue"

    def _provide_function(self, stage: Stage, call: Call) -> None:
        """Make the function that a call invokes: it does nothing, and answers nothing."""
        name = str(call.params.get("FunctionName", "")).rpartition(":function:")[2].partition(":")[0]
        if not name or ("lambda", name) in self._known:
            return
        self._known.add(("lambda", name))
        if _exists(stage, "lambda", "GetFunctionConfiguration", FunctionName=name):
            return
        self._provide_role(stage, _ROLE_OF_FUNCTIONS, "lambda")
        function = {
            "FunctionName": name, "Role": _ROLE_OF_FUNCTIONS, "Runtime": "python3.12", "Handler": "index.handler",
            "Code": {"ZipFile": archive(b"")},
        }  # fmt: skip
        if self._make(stage, "CreateFunction", function):
            self.assumptions[f"function {name}"] = "it does nothing"

    def _provide_role(self, stage: Stage, arn: str, service: str) -> None:
        """Make a role that a call hands on: the service may take it on, and it may do everything."""
        name = arn.rpartition("/")[2]
        if ("role", name) in self._known or f":{SCOPE.account}:" not in arn:
            return
        self._known.add(("role", name))
        if _exists(stage, "iam", "GetRole", RoleName=name):
            return
        trusted = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": "sts:AssumeRole"}
        allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        made = self._make(
            stage, "CreateRole", {"RoleName": name, "AssumeRolePolicyDocument": _policy(trusted)}
        ) and self._make(
            stage, "PutRolePolicy", {"RoleName": name, "PolicyName": "all", "PolicyDocument": _policy(allowed)}
        )  # fmt: skip
        if made:
            self.assumptions[f"role {name}"] = f"{service} may take it on, and it may do everything"

    def provide_bucket(self, stage: Stage, name: str) -> None:
        """Make a bucket, if it does not exist."""
        if ("s3", name) in self._known:
            return
        self._known.add(("s3", name))
        if not _exists(stage, "s3", "HeadBucket", Bucket=name) and self._make(stage, "CreateBucket", {"Bucket": name}):
            self.assumptions[f"bucket {name}"] = "empty, but for what the event tells of"

    def _provide_object(self, stage: Stage, call: Call) -> None:
        """Make the object that a call reads, if the event tells of it: another one may be absent for good reason."""
        bucket, key = _read_object(call)
        if not key or ("object", f"{bucket}/{key}") in self._known or not self._is_told(key):
            return
        self._known.add(("object", f"{bucket}/{key}"))
        self.provide_bucket(stage, bucket)
        made = {"Bucket": bucket, "Key": key, "Body": self._file.body}
        if not _exists(stage, "s3", "HeadObject", Bucket=bucket, Key=key) and self._make(stage, "PutObject", made):
            is_quoted = key != unquote_plus(key)
            self.assumptions[f"object {bucket}/{key}"] = self._file.told + (_QUOTED if is_quoted else "")

    def _is_told(self, key: str) -> bool:
        return any(key in text or quote_plus(key, safe="/") in text for text in self._texts)

    def _make(self, stage: Stage, operation: str, params: Params) -> bool:
        """Make a resource, and remember how. If that fails (a bad name), the call itself gets the error."""
        service = next((one for noun, one in _SERVICES.items() if noun in operation), "dynamodb")
        try:
            stage.call(service, operation, **params)
        except ServiceError:
            return False
        self._made.append((service, operation, params))
        return True

    def _key_of(self, table: str, params: Params) -> tuple[Mapping[str, str], str]:
        """Key attributes and their types, and where they come from: those of a Key in a call or in the source, or the
        most probable ones of an item.
        """
        if table in self.seen:
            return self.seen[table], ""
        shown = self.shown.get(table) or self.shown.get(UNNAMED)
        item = {name: _type_of(value) for name, value in mapping_of(params.get("Item")).items()}
        queried = queried_key(params) if "IndexName" not in params else {}
        if shown is not None:
            names = key_of_item(shown, item) if item else _completed(shown, queried)
            if names and all(kind in ("S", "N", "B") for kind in names.values()):
                return names, f", as {shown.place} has it"
        if queried:
            return queried, ""
        return self._likely_key(params)

    def _likely_key(self, params: Params) -> tuple[Mapping[str, str], str]:
        """The most probable key of an item."""
        item = mapping_of(params.get("Item"))
        names = mapping_of(params.get("ExpressionAttributeNames"))
        found = _UNCONDITIONED.search(str(params.get("ConditionExpression")))
        conditioned = str(names.get(found[1], found[1])) if found else ""
        scalars = {name: _type_of(value) for name, value in item.items() if _type_of(value) in ("S", "N", "B")}
        if conditioned in scalars:
            return {conditioned: scalars[conditioned]}, ""
        given = [name for name in scalars if self._is_given(mapping_of(item[name]))]
        like_keys = [name for name in scalars if _KEY_LIKE.search(name)]
        best = [name for name in like_keys if name in given] or like_keys or given or list(scalars) or ["id"]
        others = [name for name in scalars if name != best[0]]
        is_clear = [best[0]] == like_keys or not others
        return {best[0]: scalars.get(best[0], "S")}, "" if is_clear else f", a guess: it may be {others[0]} as well"

    def _is_given(self, value: Params) -> bool:
        text = str(next(iter(value.values()), ""))
        return bool(text) and any(text in given for given in self._texts)


def _completed(shown: KeyShown, queried: Mapping[str, str]) -> Mapping[str, str]:
    """The key that the source shows, for a request that names a part of it or none; texts where no type shows."""
    if any(name not in shown.names for name in queried):
        return {}
    return {name: queried.get(name) or kind or "S" for name, kind in shown.names.items()}


def _roles_in(value: object, name: str = "") -> Iterator[str]:
    """The ARNs of roles in the parameters of a call."""
    match value:
        case Mapping():
            for key, member in value.items():
                yield from _roles_in(member, str(key))
        case list():
            for member in value:
                yield from _roles_in(member, name)
        case str() if value.startswith("arn:aws:iam:") and ":role/" in value and "rolearn" in name.lower():
            yield value
        case _:
            pass


def _policy(statement: Document) -> str:
    return dump_json({"Version": "2012-10-17", "Statement": [statement]})


def _read_object(call: Call) -> tuple[str, str]:
    """The bucket and the key of the object that a call reads; empty if it reads none."""
    source = call.params.get("CopySource")
    if isinstance(source, str):
        bucket, _, key = unquote(source.partition("?")[0]).lstrip("/").partition("/")
        return bucket, key
    if isinstance(source, Mapping):
        return str(source.get("Bucket", "")), str(source.get("Key", ""))
    return (call.target, str(call.params.get("Key", ""))) if call.operation in _READS_OBJECT else ("", "")


def _queue_of(call: Call) -> str:
    """The name of the queue that a call sends to, or asks for by its name; empty if it means no single one."""
    named = call.params.get("QueueName") if call.operation == "GetQueueUrl" else call.params.get("QueueUrl")
    return str(named).rpartition("/")[2] if call.service == "sqs" and isinstance(named, str) else ""


def _exists(stage: Stage, service: str, operation: str, **params: object) -> bool:
    try:
        stage.call(service, operation, **params)
    except ServiceError:
        return False
    return True


def _type_of(value: object) -> str:
    return next(iter(mapping_of(value)), "")


def _expiry_name(params: Params) -> str | None:
    names = {str(name) for name in mapping_of(params.get("ExpressionAttributeNames")).values()}
    names |= {name for name, value in mapping_of(params.get("Item")).items() if _type_of(value) == "N"}
    names |= set(re.findall(r"\w+", str(params.get("UpdateExpression", ""))))
    return next((name for name in _EXPIRY_NAMES if name in names), None)
