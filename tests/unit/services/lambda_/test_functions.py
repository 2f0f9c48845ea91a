"""Functions: created, read, listed, updated and deleted as AWS documents it."""

from __future__ import annotations

import base64
import hashlib
import io
import stat
import zipfile

import pytest

from tests.unit.services.lambda_.functions import ARN, QUEUE_ARN, ROLE, Rig, archive

INVALID = "InvalidParameterValueException"


def test_created_function_is_pending_and_then_active_with_the_defaults_of_aws(rig: Rig) -> None:
    created = rig.create_function()
    found = rig.call("GetFunctionConfiguration", FunctionName="worker")

    digest = base64.b64encode(hashlib.sha256(archive()).digest()).decode()
    assert created == {
        "FunctionName": "worker",
        "FunctionArn": f"{ARN}worker",
        "Runtime": "python3.12",
        "Role": ROLE,
        "Handler": "app.handler",
        "CodeSize": len(archive()),
        "Description": "",
        "Timeout": 3,
        "MemorySize": 128,
        "LastModified": "2025-01-01T00:00:00.000+0000",
        "CodeSha256": digest,
        "Version": "$LATEST",
        "TracingConfig": {"Mode": "PassThrough"},
        "RevisionId": created["RevisionId"],
        "State": "Pending",
        "StateReason": "The function is being created.",
        "StateReasonCode": "Creating",
        "PackageType": "Zip",
        "Architectures": ["x86_64"],
        "EphemeralStorage": {"Size": 512},
        "SnapStart": {"ApplyOn": "None", "OptimizationStatus": "Off"},
        "LoggingConfig": {"LogFormat": "Text", "LogGroup": "/aws/lambda/worker"},
        "RuntimeVersionConfig": created["RuntimeVersionConfig"],
    }
    assert created["RuntimeVersionConfig"]["RuntimeVersionArn"].startswith("arn:aws:lambda:us-east-1::runtime:")
    passing = {"State", "StateReason", "StateReasonCode", "RevisionId"}
    assert {name: value for name, value in found.items() if name not in {*passing, "LastUpdateStatus"}} == {
        name: value for name, value in created.items() if name not in passing
    }
    assert (found["State"], found["LastUpdateStatus"]) == ("Active", "Successful")
    assert "StateReason" not in found


def test_settings_that_change_nothing_here_are_echoed(rig: Rig) -> None:
    queue = rig.create_queue("dead")

    created = rig.create_function(
        Description="works", Timeout=60, MemorySize=256, Environment={"Variables": {"KEY": "1"}},
        Architectures=["arm64"],
        VpcConfig={"SubnetIds": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}, TracingConfig={"Mode": "Active"},
        EphemeralStorage={"Size": 1024}, SnapStart={"ApplyOn": "PublishedVersions"}, KMSKeyArn="arn:aws:kms:x:1:key/k",
        LoggingConfig={"LogGroup": "shared"}, DeadLetterConfig={"TargetArn": queue}, Tags={"team": "a"},
    )  # fmt: skip

    assert created["Description"] == "works"
    assert (created["Timeout"], created["MemorySize"]) == (60, 256)
    assert created["Environment"] == {"Variables": {"KEY": "1"}}
    assert created["Architectures"] == ["arm64"]
    assert created["VpcConfig"] == {
        "SubnetIds": ["subnet-1"],
        "SecurityGroupIds": ["sg-1"],
        "VpcId": "",
        "Ipv6AllowedForDualStack": False,
    }
    assert created["TracingConfig"] == {"Mode": "Active"}
    assert created["EphemeralStorage"] == {"Size": 1024}
    assert created["SnapStart"] == {"ApplyOn": "PublishedVersions", "OptimizationStatus": "Off"}
    assert created["KMSKeyArn"] == "arn:aws:kms:x:1:key/k"
    assert created["LoggingConfig"] == {"LogFormat": "Text", "LogGroup": "shared"}
    assert created["DeadLetterConfig"] == {"TargetArn": queue}
    assert rig.call("GetFunction", FunctionName="worker")["Tags"] == {"team": "a"}


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("PublishTo", "LATEST_PUBLISHED"),
        ("FileSystemConfigs", [{"Arn": "arn:aws:elasticfilesystem:us-east-1:000000000000:access-point/fsap-" + "0" * 17,
                                "LocalMountPath": "/mnt/a"}]),
        ("ImageConfig", {"Command": ["a"]}),
        ("TenancyConfig", {"TenantIsolationMode": "PER_TENANT"}),
        ("DurableConfig", {"ExecutionTimeout": 10}),
        ("Runtime", "java21"),
        ("PackageType", "Image"),
        ("Code", {"ImageUri": "image"}),
    ],
)  # fmt: skip
def test_feature_that_does_not_exist_here_is_refused_by_name(rig: Rig, parameter: str, value: object) -> None:
    code, message = rig.refusal(
        "CreateFunction",
        **{
            "FunctionName": "worker", "Runtime": "python3.12", "Role": ROLE, "Handler": "app.handler",
            "Code": {"ZipFile": archive()}, parameter: value,
        },
    )  # fmt: skip

    assert code == INVALID
    assert "is not available in redrive" in message
    assert parameter in message or parameter == "Code"
    assert rig.call("ListFunctions") == {"Functions": []}


RETIRED = (
    "The runtime parameter of python2.7 is no longer supported for creating or updating AWS Lambda functions. We "
    "recommend you use a supported runtime while creating or updating functions."
)
NO_HANDLER = "Runtime and Handler are mandatory parameters for functions created with deployment packages."
NO_ZIP = "Could not unzip uploaded file. Please check your file, then try to upload again."
ENVIRONMENT = (
    "Lambda was unable to configure your environment variables because the environment variables you have provided"
)
RESERVED = (
    "contains reserved keys that are currently not supported for modification. Reserved keys used in this request:"
)


def _constraint(value: object, member: str, bound: str) -> str:
    problem = f"Value '{value}' at '{member}' failed to satisfy constraint: Member must have {bound}"
    return f"1 validation error detected: {problem}"


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ({"Runtime": "python2.7"}, INVALID, RETIRED),
        ({"Handler": ""}, INVALID, NO_HANDLER),
        ({"Code": {}}, INVALID, "Please provide a source for function code."),
        ({"Code": {"ZipFile": b"no zip"}}, INVALID, NO_ZIP),
        ({"Code": {"ZipFile": archive(name="../evil.py")}}, INVALID, NO_ZIP),
        ({"Code": {"ZipFile": archive(name="/evil.py")}}, INVALID, NO_ZIP),
        (
            {"Timeout": 901},
            "ValidationException",
            _constraint(901, "timeout", "value less than or equal to 900"),
        ),
        (
            {"MemorySize": 10_241},
            "ValidationException",
            _constraint(10_241, "memorySize", "value less than or equal to 10240"),
        ),
        ({"Environment": {"Variables": {"AWS_REGION": "x"}}}, INVALID, f"{ENVIRONMENT} {RESERVED} AWS_REGION"),
        (
            {"FunctionName": "x" * 65},
            "ValidationException",
            _constraint("x" * 65, "functionName", "length less than or equal to 64, without a version"),
        ),
        ({"Tags": {f"k{n}": "v" for n in range(51)}}, INVALID, "Number of tags exceeds resource tag limit."),
    ],
)
def test_bad_function_is_refused_in_the_words_of_aws(
    rig: Rig, params: dict[str, object], code: str, message: str
) -> None:
    given = {"FunctionName": "worker", "Runtime": "python3.12", "Role": ROLE, "Handler": "app.handler",
             "Code": {"ZipFile": archive()}, **params}  # fmt: skip

    # An empty handler does not satisfy the model; absent is what the rule is about.
    refusal = rig.refusal("CreateFunction", **{key: value for key, value in given.items() if value != ""})

    assert refusal == (code, message)


def test_environment_over_4_kb_is_refused_with_its_text(rig: Rig) -> None:
    code, message = rig.refusal(
        "CreateFunction", FunctionName="worker", Runtime="python3.12", Role=ROLE, Handler="app.handler",
        Code={"ZipFile": archive()}, Environment={"Variables": {"KEY": "x" * 4096}},
    )  # fmt: skip

    assert code == INVALID
    assert message.startswith("Lambda was unable to configure your environment variables")
    assert 'exceeded the 4KB limit. String measured: {"KEY":"xxx' in message


@pytest.mark.parametrize("operation", ["CreateFunction", "UpdateFunctionCode"])
@pytest.mark.parametrize(
    ("mode", "content"),
    [(stat.S_IFCHR | 0o666, ""), (stat.S_IFIFO | 0o666, ""), (stat.S_IFLNK | 0o777, "/etc/passwd")],
)
def test_archive_that_could_not_be_unpacked_is_refused_when_it_comes(
    rig: Rig, operation: str, mode: int, content: str
) -> None:
    """A device, a pipe, a link to a place outside: it is the upload that fails, not each invocation after it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        entry = zipfile.ZipInfo("odd")
        entry.external_attr = mode << 16
        target.writestr(entry, content)
    rig.create_function()
    code = file.getvalue()
    params: dict[str, dict[str, object]] = {
        "CreateFunction": {
            "FunctionName": "new", "Runtime": "python3.12", "Role": ROLE, "Handler": "a.b", "Code": {"ZipFile": code},
        },
        "UpdateFunctionCode": {"FunctionName": "worker", "ZipFile": code},
    }  # fmt: skip

    assert rig.refusal(operation, **params[operation]) == (INVALID, NO_ZIP)


def test_empty_archive_is_refused(rig: Rig) -> None:
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()

    assert rig.refusal(
        "CreateFunction", FunctionName="worker", Runtime="python3.12", Role=ROLE, Handler="app.handler",
        Code={"ZipFile": empty.getvalue()},
    ) == (INVALID, "Uploaded file must be a non-empty zip")  # fmt: skip


def test_function_of_a_name_in_use_is_refused(rig: Rig) -> None:
    rig.create_function()

    refusal = rig.refusal(
        "CreateFunction", FunctionName=f"{ARN}worker", Runtime="python3.12", Role=ROLE, Handler="app.handler",
        Code={"ZipFile": archive()},
    )  # fmt: skip

    assert refusal == ("ResourceConflictException", "Function already exist: worker")


def test_role_that_lambda_cannot_assume_is_refused(rig: Rig) -> None:
    rig.around.roles_refused.add(ROLE)

    refusal = rig.refusal(
        "CreateFunction", FunctionName="worker", Runtime="python3.12", Role=ROLE, Handler="app.handler",
        Code={"ZipFile": archive()},
    )  # fmt: skip

    assert refusal == (INVALID, "The role defined for the function cannot be assumed by Lambda.")


def test_role_that_may_not_write_dead_letters_is_refused(rig: Rig) -> None:
    rig.create_function()
    rig.around.actions_refused.add("sqs:SendMessage")

    refusal = rig.refusal(
        "UpdateFunctionConfiguration", FunctionName="worker", DeadLetterConfig={"TargetArn": f"{QUEUE_ARN}dead"}
    )

    assert refusal == (INVALID, "The provided execution role does not have permissions to call SendMessage on SQS")


@pytest.mark.parametrize(
    "name",
    ["worker", "000000000000:worker", "000000000000:function:worker", f"{ARN}worker", "worker:$LATEST",
     f"{ARN}worker:$LATEST"],
)  # fmt: skip
def test_function_answers_to_each_form_of_its_name(rig: Rig, name: str) -> None:
    rig.create_function()

    assert rig.call("GetFunction", FunctionName=name)["Configuration"]["FunctionName"] == "worker"


NOT_FOUND = "ResourceNotFoundException"
ELSEWHERE = "arn:aws:lambda:eu-west-1:000000000000:function:worker"
STRANGERS = "arn:aws:lambda:us-east-1:111111111111:function:worker"
NOT_ALLOWED = (
    "User: arn:aws:iam::000000000000:root is not authorized to perform: lambda:GetFunction on resource: "
    f"{STRANGERS} because no resource-based policy allows the lambda:GetFunction action"
)


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ({"FunctionName": "ghost"}, NOT_FOUND, f"Function not found: {ARN}ghost"),
        ({"FunctionName": "worker", "Qualifier": "7"}, NOT_FOUND, f"Function not found: {ARN}worker:7"),
        ({"FunctionName": "worker:live"}, NOT_FOUND, f"Function not found: {ARN}worker:live"),
        (
            {"FunctionName": "worker:$LATEST", "Qualifier": "7"},
            INVALID,
            "The derived qualifier from the function name does not match the specified qualifier.",
        ),
        (
            {"FunctionName": ELSEWHERE},
            NOT_FOUND,
            "Functions from 'eu-west-1' are not reachable in this region ('us-east-1')",
        ),
        (
            {"FunctionName": STRANGERS},
            "AccessDeniedException",
            NOT_ALLOWED,
        ),
    ],
)
def test_function_that_is_not_there_is_not_found(rig: Rig, params: dict[str, object], code: str, message: str) -> None:
    rig.create_function()

    assert rig.refusal("GetFunction", **params) == (code, message)


def test_functions_are_listed_by_name_a_page_at_a_time(rig: Rig) -> None:
    for name in ("c", "a", "b"):
        rig.create_function(name)

    first = rig.call("ListFunctions", MaxItems=2)
    second = rig.call("ListFunctions", MaxItems=2, Marker=first["NextMarker"])

    assert [one["FunctionName"] for one in first["Functions"]] == ["a", "b"]
    assert [one["FunctionName"] for one in second["Functions"]] == ["c"]
    assert "NextMarker" not in second
    assert "State" not in first["Functions"][0]
    assert rig.call("ListFunctions", MasterRegion="eu-west-1") == {"Functions": []}
    assert rig.call("ListFunctions", FunctionVersion="ALL")["Functions"][0]["FunctionArn"] == f"{ARN}a:$LATEST"


def test_only_version_of_a_function_is_latest(rig: Rig) -> None:
    rig.create_function()

    versions = rig.call("ListVersionsByFunction", FunctionName="worker")["Versions"]

    assert [(one["Version"], one["FunctionArn"]) for one in versions] == [("$LATEST", f"{ARN}worker:$LATEST")]


def test_new_code_makes_a_new_revision_and_keeps_the_code_before_it(rig: Rig) -> None:
    """Runs that began before an update still find their code; code before that is let go of."""
    before = rig.create_function()
    digests = [hashlib.sha256(archive(text)).hexdigest() for text in ("a = 1", "a = 2")]

    after = rig.call("UpdateFunctionCode", FunctionName="worker", ZipFile=archive("a = 1"))
    rig.call("UpdateFunctionCode", FunctionName="worker", ZipFile=archive("a = 2"))

    first = hashlib.sha256(archive()).hexdigest()
    kept = rig.store.run(lambda tx: [tx.blobs.get(digest) for digest in (first, *digests)])
    assert after["RevisionId"] != before["RevisionId"]
    assert after["CodeSha256"] != before["CodeSha256"]
    assert kept == [None, archive("a = 1"), archive("a = 2")]


def test_dry_run_of_new_code_changes_nothing(rig: Rig) -> None:
    rig.create_function()
    before = rig.call("GetFunctionConfiguration", FunctionName="worker")

    rig.call("UpdateFunctionCode", FunctionName="worker", ZipFile=archive("a = 1"), DryRun=True)

    assert rig.call("GetFunctionConfiguration", FunctionName="worker") == before


def test_change_for_another_revision_is_refused(rig: Rig) -> None:
    rig.create_function()

    for operation, params in (
        ("UpdateFunctionCode", {"ZipFile": archive()}),
        ("UpdateFunctionConfiguration", {"Timeout": 5}),
    ):
        code, message = rig.refusal(operation, FunctionName="worker", RevisionId="other", **params)
        assert code == "PreconditionFailedException"
        assert message.startswith("The Revision Id provided does not match the latest Revision Id.")


def test_configuration_update_changes_what_is_given_only(rig: Rig) -> None:
    rig.create_function(Description="works", Environment={"Variables": {"KEY": "1"}})

    updated = rig.call("UpdateFunctionConfiguration", FunctionName="worker", Timeout=30, Environment={"Variables": {}})

    assert (updated["Timeout"], updated["Description"]) == (30, "works")
    assert updated["Environment"] == {"Variables": {}}


def test_deleted_function_is_gone_with_its_code(rig: Rig) -> None:
    rig.create_function()
    rig.create_function("twin")
    digest = hashlib.sha256(archive()).hexdigest()

    rig.call("DeleteFunction", FunctionName="worker")
    shared = rig.store.run(lambda tx: tx.blobs.get(digest))
    rig.call("DeleteFunction", FunctionName="twin")

    assert rig.refusal("GetFunction", FunctionName="worker")[0] == "ResourceNotFoundException"
    assert rig.refusal("DeleteFunction", FunctionName="worker")[0] == "ResourceNotFoundException"
    assert shared == archive()
    assert rig.store.run(lambda tx: tx.blobs.get(digest)) is None


def test_latest_alone_cannot_be_deleted(rig: Rig) -> None:
    rig.create_function()

    refusal = rig.refusal("DeleteFunction", FunctionName="worker", Qualifier="$LATEST")

    assert refusal == (INVALID, "$LATEST version cannot be deleted without deleting the function.")


def test_role_needs_permission_to_change_a_function(rig: Rig) -> None:
    rig.create_function()
    rig.around.actions_refused.add("lambda:DeleteFunction")

    with pytest.raises(Exception, match="no: lambda:DeleteFunction"):
        rig.engine.call(rig.caller(ROLE), "lambda", "DeleteFunction", {"FunctionName": "worker"})


def test_reserved_concurrency_is_kept_and_given_back(rig: Rig) -> None:
    rig.create_function()

    put = rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=7)
    got = rig.call("GetFunctionConcurrency", FunctionName="worker")
    rig.call("DeleteFunctionConcurrency", FunctionName="worker")

    assert put == got == {"ReservedConcurrentExecutions": 7}
    assert rig.call("GetFunctionConcurrency", FunctionName="worker") == {}


def test_reservations_leave_100_for_the_other_functions(rig: Rig) -> None:
    rig.create_function("a")
    rig.create_function("b")
    rig.call("PutFunctionConcurrency", FunctionName="a", ReservedConcurrentExecutions=800)

    refusal = rig.refusal("PutFunctionConcurrency", FunctionName="b", ReservedConcurrentExecutions=101)

    code, message = refusal
    assert code == INVALID
    assert message.startswith("Specified ReservedConcurrentExecutions for function decreases account's Unreserved")
    assert message.endswith("below its minimum value of [100].")
    assert rig.call("PutFunctionConcurrency", FunctionName="b", ReservedConcurrentExecutions=100)
