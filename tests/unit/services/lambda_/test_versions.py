"""Published versions: what they keep, when a new one is made, and how they are listed, run and deleted."""

from __future__ import annotations

import pytest

from redrive.services.lambda_.limits import PASSAGE_MS
from tests.unit.services.lambda_.functions import ARN, QUEUE_ARN, ROLE, Rig, archive

INVALID = "InvalidParameterValueException"
NOT_FOUND = "ResourceNotFoundException"
ONE, TWO = archive("a = 1"), archive("a = 2")


def publish(rig: Rig, **params: object) -> str:
    """Publish $LATEST; answers the version."""
    return str(rig.call("PublishVersion", FunctionName="worker", **params)["Version"])


def change(rig: Rig, code: bytes) -> None:
    """Replace the code, and let the update end."""
    rig.call("UpdateFunctionCode", FunctionName="worker", ZipFile=code)
    rig.advance(1)


@pytest.fixture(autouse=True)
def _function(rig: Rig) -> None:
    rig.create_function(Code={"ZipFile": ONE}, Description="first")
    rig.advance(1)


def test_version_keeps_code_and_configuration(rig: Rig) -> None:
    version = rig.call("PublishVersion", FunctionName="worker", Description="kept")
    rig.call("UpdateFunctionConfiguration", FunctionName="worker", Timeout=9)
    change(rig, TWO)

    kept = rig.call("GetFunctionConfiguration", FunctionName="worker", Qualifier="1")

    assert (version["Version"], version["FunctionArn"], version["State"]) == ("1", f"{ARN}worker:1", "Active")
    assert version["LastUpdateStatus"] == "Successful"
    assert (kept["Timeout"], kept["CodeSha256"], kept["Description"]) == (3, version["CodeSha256"], "kept")
    assert kept["RevisionId"] == version["RevisionId"]
    assert kept == version


def test_version_is_run_with_its_own_code(rig: Rig) -> None:
    publish(rig)
    change(rig, TWO)

    answer = rig.call("Invoke", FunctionName="worker", Qualifier="1")
    rig.call("Invoke", FunctionName=f"{ARN}worker")

    old, new = rig.invoker.invocations
    assert (answer["ExecutedVersion"], old.version, old.function_arn) == ("1", "1", f"{ARN}worker:1")
    assert (new.version, new.function_arn) == ("$LATEST", f"{ARN}worker")
    assert old.code.digest != new.code.digest
    assert rig.store.run(lambda tx: tx.blobs.get(old.code.digest)) == ONE


def test_unchanged_function_is_not_published_again(rig: Rig) -> None:
    first = rig.call("PublishVersion", FunctionName="worker")

    again = rig.call("PublishVersion", FunctionName="worker", Description="other")

    assert (again["Version"], again["Description"]) == ("1", first["Description"])


def test_publication_gives_latest_a_new_revision(rig: Rig) -> None:
    before = rig.call("GetFunctionConfiguration", FunctionName="worker")["RevisionId"]

    publish(rig)
    after = rig.call("GetFunctionConfiguration", FunctionName="worker")["RevisionId"]
    publish(rig)

    assert before != after
    assert rig.call("GetFunctionConfiguration", FunctionName="worker")["RevisionId"] == after


def test_version_numbers_are_used_once_also_after_the_function_is_deleted(rig: Rig) -> None:
    publish(rig)
    rig.call("DeleteFunction", FunctionName="worker", Qualifier="1")
    second = publish(rig)
    rig.call("DeleteFunction", FunctionName="worker")
    rig.create_function()
    rig.advance(1)

    assert (second, publish(rig)) == ("2", "3")
    assert rig.refusal("GetFunction", FunctionName="worker:1") == (NOT_FOUND, f"Function not found: {ARN}worker:1")


def test_other_digest_and_other_revision_are_not_published(rig: Rig) -> None:
    sha = rig.call("GetFunctionConfiguration", FunctionName="worker")["CodeSha256"]

    code, message = rig.refusal("PublishVersion", FunctionName="worker", CodeSha256="X")
    assert code == INVALID
    assert message == (
        f"CodeSHA256 (X) is different from current CodeSHA256 in $LATEST ({sha}). Please try again with the CodeSHA256 "
        "in $LATEST."
    )
    assert rig.refusal("PublishVersion", FunctionName="worker", RevisionId="x")[0] == "PreconditionFailedException"


def test_nothing_is_published_during_an_update(rig: Rig) -> None:
    rig.call("UpdateFunctionConfiguration", FunctionName="worker", Timeout=9)
    rig.advance((PASSAGE_MS - 1) / 1000)

    assert rig.refusal("PublishVersion", FunctionName="worker")[0] == "ResourceConflictException"


def test_function_is_published_with_its_creation(rig: Rig) -> None:
    code = {"ZipFile": ONE}

    created = rig.call(
        "CreateFunction", FunctionName="fresh", Runtime="python3.12", Role=ROLE, Handler="app.handler", Code=code,
        Publish=True,
    )  # fmt: skip

    assert (created["Version"], created["State"], created["FunctionArn"]) == ("1", "Pending", f"{ARN}fresh")
    rig.advance(1)
    found = rig.call("GetFunctionConfiguration", FunctionName="fresh:1")
    assert (found["State"], found["LastUpdateStatus"]) == ("Active", "Successful")
    assert rig.call("GetFunctionConfiguration", FunctionName="fresh")["Version"] == "$LATEST"


def test_code_is_published_with_its_update(rig: Rig) -> None:
    updated = rig.call("UpdateFunctionCode", FunctionName="worker", ZipFile=TWO, Publish=True)
    rig.advance(0.001)

    assert (updated["Version"], updated["State"], updated["FunctionArn"]) == ("1", "Pending", f"{ARN}worker:1")
    assert "LastUpdateStatus" not in updated
    assert rig.refusal("Invoke", FunctionName="worker", Qualifier="1")[0] == "ResourceConflictException"
    rig.advance(1)
    assert rig.call("Invoke", FunctionName="worker", Qualifier="1")["ExecutedVersion"] == "1"


def test_versions_are_listed_after_latest_by_number(rig: Rig) -> None:
    for number in range(11):
        rig.call("UpdateFunctionConfiguration", FunctionName="worker", Timeout=number + 4)
        publish(rig)

    first = rig.call("ListVersionsByFunction", FunctionName="worker", MaxItems=10)
    rest = rig.call("ListVersionsByFunction", FunctionName="worker", Marker=first["NextMarker"])

    rows = first["Versions"] + rest["Versions"]
    assert [row["Version"] for row in rows] == ["$LATEST", *map(str, range(1, 12))]
    assert [row["FunctionArn"] for row in rows[:2]] == [f"{ARN}worker:$LATEST", f"{ARN}worker:1"]
    assert "State" not in rows[0]
    assert "NextMarker" not in rest


def test_functions_are_listed_with_all_their_versions(rig: Rig) -> None:
    publish(rig)
    rig.create_function("able")

    def listed(**params: object) -> list[str]:
        page = rig.call("ListFunctions", FunctionVersion="ALL", MaxItems=2, **params)
        arns = [row["FunctionArn"] for row in page["Functions"]]
        return arns + (listed(Marker=page["NextMarker"]) if "NextMarker" in page else [])

    assert listed() == [f"{ARN}able:$LATEST", f"{ARN}worker:$LATEST", f"{ARN}worker:1"]
    assert [row["FunctionArn"] for row in rig.call("ListFunctions")["Functions"]] == [f"{ARN}able", f"{ARN}worker"]


def test_version_is_deleted_alone_and_its_code_with_it(rig: Rig) -> None:
    publish(rig)
    change(rig, TWO)
    change(rig, archive("a = 3"))
    rig.call("Invoke", FunctionName="worker", Qualifier="1")
    digest = rig.invoker.invocations[-1].code.digest
    before = rig.store.run(lambda tx: tx.blobs.get(digest))

    rig.call("DeleteFunction", FunctionName="worker", Qualifier="1")

    assert before == ONE
    assert rig.store.run(lambda tx: tx.blobs.get(digest)) is None
    assert rig.refusal("Invoke", FunctionName="worker", Qualifier="1") == (
        NOT_FOUND, f"Function not found: {ARN}worker:1",
    )  # fmt: skip
    assert rig.call("GetFunction", FunctionName="worker")["Configuration"]["Version"] == "$LATEST"


def test_function_is_deleted_with_its_versions_and_aliases(rig: Rig) -> None:
    publish(rig)
    rig.call("CreateAlias", FunctionName="worker", Name="live", FunctionVersion="1")
    rig.call("PutFunctionEventInvokeConfig", FunctionName="worker:live", MaximumRetryAttempts=1)

    rig.call("DeleteFunction", FunctionName="worker")
    rig.create_function()

    assert rig.refusal("GetFunction", FunctionName="worker:live")[0] == NOT_FOUND
    assert rig.call("ListFunctionEventInvokeConfigs", FunctionName="worker")["FunctionEventInvokeConfigs"] == []


def test_published_version_cannot_be_changed(rig: Rig) -> None:
    publish(rig)

    assert rig.refusal("UpdateFunctionCode", FunctionName=f"{ARN}worker:1", ZipFile=TWO)[0] == NOT_FOUND
    assert rig.refusal("UpdateFunctionConfiguration", FunctionName="worker:1", Timeout=9)[0] == NOT_FOUND
    rig.call("PutRuntimeManagementConfig", FunctionName="worker", Qualifier="1", UpdateRuntimeOn="FunctionUpdate")
    shown = rig.call("GetRuntimeManagementConfig", FunctionName="worker", Qualifier="1")
    assert shown == {"UpdateRuntimeOn": "FunctionUpdate", "FunctionArn": f"{ARN}worker:1"}
    assert rig.call("GetRuntimeManagementConfig", FunctionName="worker")["UpdateRuntimeOn"] == "Auto"


def test_reserved_concurrency_is_that_of_all_versions(rig: Rig) -> None:
    publish(rig)
    rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=0)

    assert rig.refusal("Invoke", FunctionName="worker", Qualifier="1")[0] == "TooManyRequestsException"


def test_mapping_runs_the_version_that_it_names(rig: Rig) -> None:
    publish(rig)
    change(rig, TWO)
    queue = rig.create_queue("inbox")
    mapping = rig.call("CreateEventSourceMapping", FunctionName="worker:1", EventSourceArn=queue)

    rig.sqs("SendMessage", QueueUrl="inbox", MessageBody="x")
    rig.advance(0)

    assert mapping["FunctionArn"] == f"{ARN}worker:1"
    (ran,) = rig.invoker.invocations
    assert (ran.version, ran.function_arn) == ("1", f"{ARN}worker:1")
    assert rig.count("inbox") == 0


def test_events_of_a_version_have_its_own_configuration_and_record(rig: Rig) -> None:
    publish(rig)
    rig.create_queue("done")
    destination = {"OnSuccess": {"Destination": f"{QUEUE_ARN}done"}}
    config = rig.call(
        "PutFunctionEventInvokeConfig", FunctionName="worker", Qualifier="1", DestinationConfig=destination
    )

    rig.call("Invoke", FunctionName="worker", InvocationType="Event")
    rig.call("Invoke", FunctionName="worker:1", InvocationType="Event")
    rig.advance(0)

    assert config["FunctionArn"] == f"{ARN}worker:1"
    (letter,) = rig.messages("done")
    assert f'"functionArn":"{ARN}worker:1"' in letter["Body"]
    assert '"executedVersion":"1"' in letter["Body"]
