"""What Lambda refuses of versions, aliases and principals, and what it takes without a word."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import Outside
from tests.unit.services.lambda_.functions import ARN, QUEUE_ARN, Rig, archive

INVALID = "InvalidParameterValueException"
UNKNOWN_RUNTIME = "Value Python3.12 at 'runtime' failed to satisfy constraint: Member must satisfy enum value set: ["
STRANGER = Caller(Scope("111111111111", "us-east-1"), "request", None, "test")


def allow(rig: Rig, **params: Any) -> None:
    """Let the other account invoke the function, by a statement of the function's policy."""
    rig.call(
        "AddPermission", FunctionName="worker", StatementId="other", Action="lambda:InvokeFunction",
        Principal="111111111111", **params,
    )  # fmt: skip


def begin(rig: Rig, **params: Any) -> object:
    """Invoke the function as the other account, by its ARN."""
    given = {"FunctionName": f"{ARN}worker", **params}
    return rig.store.run(lambda tx: rig.registry.begin(tx, STRANGER, "lambda", "Invoke", given))


def test_runtime_is_named_as_aws_names_it(rig: Rig) -> None:
    """The model of boto3 does not look at the case; Lambda does, with the list of those it knows."""
    rig.create_function()

    code, message = rig.refusal("UpdateFunctionConfiguration", FunctionName="worker", Runtime="Python3.12")

    assert code == INVALID
    assert message.startswith(UNKNOWN_RUNTIME)
    assert message.endswith("] or be a valid ARN")
    assert "nodejs24.x, " in message


@pytest.mark.parametrize(
    ("operation", "params"), [("Invoke", {}), ("PutFunctionConcurrency", {"ReservedConcurrentExecutions": 1})]
)
def test_missing_function_is_named_with_its_version(rig: Rig, operation: str, params: dict[str, object]) -> None:
    assert rig.refusal(operation, FunctionName="ghost", **params)[1] == f"Function not found: {ARN}ghost:$LATEST"


@pytest.mark.parametrize(
    ("operation", "params", "message"),
    [
        (
            "AddPermission",
            {"FunctionName": "worker", "Qualifier": "$LATEST", "StatementId": "s", "Action": "lambda:InvokeFunction",
             "Principal": "s3.amazonaws.com"},
            "We currently do not support adding policies for $LATEST.",
        ),
        (
            "AddPermission",
            {"FunctionName": "worker", "StatementId": "s", "Action": "lambda:InvokeFunction", "Principal": "s3"},
            "The provided principal was invalid. Please check the principal and try again.",
        ),
        (
            "PutFunctionConcurrency",
            {"FunctionName": f"{ARN}worker:$LATEST", "ReservedConcurrentExecutions": 1},
            ("This operation is permitted on Lambda functions only. Aliases and versions do not support this "
            "operation. Please specify either a function name or an unqualified function ARN."),
        ),
        (
            "TagResource",
            {"Resource": f"{ARN}worker:$LATEST", "Tags": {"a": "1"}},
            "Tags on function aliases and versions are not supported. Please specify a function ARN.",
        ),
    ],
)  # fmt: skip
def test_what_only_a_function_has_is_refused_of_its_versions(
    rig: Rig, operation: str, params: dict[str, object], message: str
) -> None:
    rig.create_function()

    assert rig.refusal(operation, **params) == (INVALID, message)


@pytest.mark.parametrize("principal", ["s3.amazonaws.com", "cognito-idp.amazonaws.com", "111111111111", "*"])
def test_principal_may_be_a_service_an_account_or_everybody(rig: Rig, principal: str) -> None:
    rig.create_function()

    rig.call(
        "AddPermission", FunctionName="worker", StatementId="s", Action="lambda:InvokeFunction", Principal=principal
    )

    assert principal in rig.call("GetPolicy", FunctionName="worker")["Policy"]


def test_version_that_is_not_there_is_deleted_without_a_word(rig: Rig) -> None:
    rig.create_function()

    assert rig.call("DeleteFunction", FunctionName="worker", Qualifier="7") == {"StatusCode": 204}
    assert rig.call("GetFunctionConfiguration", FunctionName="worker")["State"] == "Active"


def test_function_that_is_not_there_has_no_mappings(rig: Rig) -> None:
    assert rig.call("ListEventSourceMappings", FunctionName="ghost") == {"EventSourceMappings": []}


def test_mapping_that_is_created_disabled_says_so_at_once_and_is_enabling_when_turned_on(rig: Rig) -> None:
    rig.create_function()
    rig.create_queue("work")

    created = rig.call(
        "CreateEventSourceMapping", FunctionName="worker", EventSourceArn=f"{QUEUE_ARN}work", Enabled=False
    )
    enabled = rig.call("UpdateEventSourceMapping", UUID=created["UUID"], Enabled=True)
    changed = rig.call("UpdateEventSourceMapping", UUID=created["UUID"], BatchSize=5)

    assert (created["State"], enabled["State"], changed["State"]) == ("Disabled", "Enabling", "Updating")


def test_other_account_may_invoke_a_function_by_its_arn_where_the_policy_says_so(rig: Rig) -> None:
    rig.create_function()
    with pytest.raises(ServiceError, match="no resource-based policy allows the lambda:InvokeFunction action"):
        begin(rig)

    allow(rig)

    assert isinstance(begin(rig), Outside)


def test_event_of_another_account_is_the_functions_own(rig: Rig) -> None:
    rig.create_function()
    allow(rig)

    begin(rig, InvocationType="Event", Payload=b"[1]")
    rig.advance(0)

    assert rig.invoker.events == [[1]]


def test_account_settings_tell_quotas_and_what_is_used(rig: Rig) -> None:
    rig.create_function()
    rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=7)

    settings = rig.call("GetAccountSettings")

    assert settings == {
        "AccountLimit": {
            "TotalCodeSize": 80_530_636_800,
            "CodeSizeUnzipped": 262_144_000,
            "CodeSizeZipped": 52_428_800,
            "ConcurrentExecutions": 1_000,
            "UnreservedConcurrentExecutions": 993,
        },
        "AccountUsage": {"TotalCodeSize": len(archive()), "FunctionCount": 1},
    }


def test_recursion_and_runtime_settings_are_kept_and_shown(rig: Rig) -> None:
    rig.create_function()
    before = rig.call("GetFunctionRecursionConfig", FunctionName="worker")
    automatic = rig.call("GetRuntimeManagementConfig", FunctionName="worker")

    rig.call("PutFunctionRecursionConfig", FunctionName="worker", RecursiveLoop="Allow")
    rig.call("PutRuntimeManagementConfig", FunctionName="worker", UpdateRuntimeOn="FunctionUpdate")

    assert before == {"RecursiveLoop": "Terminate"}
    assert automatic == {"UpdateRuntimeOn": "Auto", "FunctionArn": f"{ARN}worker:$LATEST"}
    assert rig.call("GetFunctionRecursionConfig", FunctionName="worker") == {"RecursiveLoop": "Allow"}
    assert rig.call("GetRuntimeManagementConfig", FunctionName="worker")["UpdateRuntimeOn"] == "FunctionUpdate"
    assert rig.refusal("PutRuntimeManagementConfig", FunctionName="worker", UpdateRuntimeOn="Manual")[0] == INVALID
