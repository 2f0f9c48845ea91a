"""Layers: versions that are published, read, listed, shared and deleted, and functions that have them."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from tests.unit.services.lambda_.functions import ARN, Rig, archive

INVALID = "InvalidParameterValueException"
MISSING = "ResourceNotFoundException"
LAYER = "arn:aws:lambda:us-east-1:000000000000:layer:"
STRANGER = Scope("111111111111", "us-east-1")
POWERTOOLS = "arn:aws:lambda:us-east-1:017000801446:layer:AWSLambdaPowertoolsPythonV3-python313-x86_64:7"


def publish(rig: Rig, name: str = "deps", text: str = "a = 1", **params: object) -> str:
    """Publish a version; answers its ARN."""
    content = {"ZipFile": archive(text, name="python/deps.py")}
    return str(rig.call("PublishLayerVersion", LayerName=name, Content=content, **params)["LayerVersionArn"])


def as_stranger(rig: Rig, operation: str, **params: object) -> object:
    """Run an operation as another account."""
    return rig.engine.call(Caller(STRANGER, "request", None, "test"), "lambda", operation, params)


def test_published_version_is_shown_with_its_content(rig: Rig) -> None:
    published = rig.call(
        "PublishLayerVersion", LayerName="deps", Description="works", LicenseInfo="MIT",
        Content={"ZipFile": archive()}, CompatibleRuntimes=["python3.12"], CompatibleArchitectures=["arm64"],
    )  # fmt: skip

    location = published["Content"].pop("Location")
    assert published == {
        "LayerArn": f"{LAYER}deps",
        "LayerVersionArn": f"{LAYER}deps:1",
        "Version": 1,
        "Description": "works",
        "LicenseInfo": "MIT",
        "CreatedDate": "2025-01-01T00:00:00.000+0000",
        "CompatibleRuntimes": ["python3.12"],
        "CompatibleArchitectures": ["arm64"],
        "Content": {
            "CodeSha256": base64.b64encode(hashlib.sha256(archive()).digest()).decode(),
            "CodeSize": len(archive()),
        },
    }
    assert location.startswith("http://")
    for found in (
        rig.call("GetLayerVersion", LayerName="deps", VersionNumber=1),
        rig.call("GetLayerVersionByArn", Arn=f"{LAYER}deps:1"),
    ):
        del found["Content"]["Location"]
        assert found == published


def test_numbers_of_versions_grow_and_are_given_once(rig: Rig) -> None:
    publish(rig)
    publish(rig)
    for number in (1, 2, 2):
        rig.call("DeleteLayerVersion", LayerName="deps", VersionNumber=number)

    assert rig.call("ListLayerVersions", LayerName="deps") == {"LayerVersions": []}
    assert publish(rig) == f"{LAYER}deps:3"


def test_what_was_not_given_is_not_shown(rig: Rig) -> None:
    publish(rig)
    publish(rig, CompatibleRuntimes=[])

    first = rig.call("GetLayerVersion", LayerName="deps", VersionNumber=1)
    second = rig.call("GetLayerVersion", LayerName="deps", VersionNumber=2)

    assert not {"CompatibleRuntimes", "CompatibleArchitectures", "LicenseInfo"} & first.keys()
    assert second["CompatibleRuntimes"] == []


def test_versions_are_listed_newest_first_a_page_at_a_time(rig: Rig) -> None:
    for _ in range(11):
        publish(rig)

    first = rig.call("ListLayerVersions", LayerName=f"{LAYER}deps", MaxItems=6)
    second = rig.call("ListLayerVersions", LayerName="deps", MaxItems=6, Marker=first["NextMarker"])

    assert [one["Version"] for one in first["LayerVersions"]] == [11, 10, 9, 8, 7, 6]
    assert [one["Version"] for one in second["LayerVersions"]] == [5, 4, 3, 2, 1]
    assert "NextMarker" not in second
    assert rig.call("ListLayerVersions", LayerName="ghost") == {"LayerVersions": []}


def test_layers_are_listed_with_their_latest_version_that_fits(rig: Rig) -> None:
    publish(rig, "b", CompatibleRuntimes=["python3.12"])
    publish(rig, "b", CompatibleRuntimes=["python3.13"])
    publish(rig, "a")

    everything = rig.call("ListLayers", MaxItems=1)
    rest = rig.call("ListLayers", Marker=everything["NextMarker"])
    fitting = rig.call("ListLayers", CompatibleRuntime="python3.12")

    assert [(one["LayerName"], one["LayerArn"]) for one in everything["Layers"]] == [("a", f"{LAYER}a")]
    assert [one["LatestMatchingVersion"]["Version"] for one in rest["Layers"]] == [2]
    assert [one["LatestMatchingVersion"]["LayerVersionArn"] for one in fitting["Layers"]] == [f"{LAYER}b:1"]


@pytest.mark.parametrize(
    ("operation", "params", "refusal"),
    [
        ("GetLayerVersion", {"VersionNumber": 0}, (INVALID, "Layer Version Cannot be less than 1")),
        ("GetLayerVersion", {"VersionNumber": 7}, (MISSING, f"Layer version {LAYER}deps:7 does not exist.")),
        ("GetLayerVersionPolicy", {"VersionNumber": 7}, (MISSING, f"Layer version {LAYER}deps:7 does not exist.")),
        (
            "GetLayerVersionPolicy",
            {"VersionNumber": 1},
            (MISSING, "No policy is associated with the given resource."),
        ),
        (
            "RemoveLayerVersionPermission",
            {"VersionNumber": 1, "StatementId": "s"},
            (MISSING, "No policy is associated with the given resource."),
        ),
    ],
)
def test_bad_request_is_refused(rig: Rig, operation: str, params: dict[str, object], refusal: tuple[str, str]) -> None:
    publish(rig)

    assert rig.refusal(operation, LayerName="deps", **params) == refusal


def test_compatible_runtime_that_never_was_is_refused(rig: Rig) -> None:
    code, message = rig.refusal(
        "PublishLayerVersion", LayerName="deps", Content={"ZipFile": archive()}, CompatibleRuntimes=["cobol"]
    )

    assert code == "ValidationException"
    assert message.startswith("1 validation error detected: Value '[cobol]' at 'compatibleRuntimes'")
    assert publish(rig, CompatibleRuntimes=["python2.7", "nodejs24.x"]) == f"{LAYER}deps:1"


def test_policy_of_a_version_is_made_of_statements(rig: Rig) -> None:
    publish(rig)
    given = {"LayerName": "deps", "VersionNumber": 1, "StatementId": "s"}

    added = rig.call(
        "AddLayerVersionPermission", Action="lambda:GetLayerVersion", Principal="*", OrganizationId="o-1234567890",
        **given,
    )  # fmt: skip
    shown = rig.call("GetLayerVersionPolicy", LayerName="deps", VersionNumber=1)
    twice = rig.refusal("AddLayerVersionPermission", Action="lambda:GetLayerVersion", Principal="*", **given)
    other = rig.refusal("RemoveLayerVersionPermission", **{**given, "StatementId": "other"})
    stale = rig.refusal("RemoveLayerVersionPermission", RevisionId="stale", **given)
    rig.call("RemoveLayerVersionPermission", RevisionId=shown["RevisionId"], **given)

    assert added["RevisionId"] == shown["RevisionId"]
    assert '"Resource":"' + f"{LAYER}deps:1" in shown["Policy"]
    assert '"aws:PrincipalOrgID":"o-1234567890"' in shown["Policy"]
    assert twice[0] == "ResourceConflictException"
    assert other == (MISSING, "Statement other is not found in resource policy.")
    assert stale[0] == "PreconditionFailedException"
    assert rig.refusal("GetLayerVersionPolicy", LayerName="deps", VersionNumber=1)[0] == MISSING


def test_function_shows_its_layers_and_runs_with_their_archives(rig: Rig) -> None:
    arns = [publish(rig, "one", "a = 1"), publish(rig, "two", "a = 2")]

    created = rig.create_function(Layers=arns)
    rig.call("Invoke", FunctionName="worker")
    rig.call("UpdateFunctionConfiguration", FunctionName="worker", Timeout=9)
    kept = rig.call("GetFunctionConfiguration", FunctionName="worker")
    rig.call("UpdateFunctionConfiguration", FunctionName="worker", Layers=[])

    sizes = [len(archive(text, name="python/deps.py")) for text in ("a = 1", "a = 2")]
    assert created["Layers"] == [{"Arn": arn, "CodeSize": size} for arn, size in zip(arns, sizes, strict=True)]
    digests = [hashlib.sha256(archive(text, name="python/deps.py")).hexdigest() for text in ("a = 1", "a = 2")]
    assert list(rig.invoker.invocations[0].code.layers) == digests
    assert kept["Layers"] == created["Layers"]
    assert "Layers" not in rig.call("GetFunctionConfiguration", FunctionName="worker")


def test_function_keeps_a_layer_that_was_deleted_and_its_archive_goes_with_the_function(rig: Rig) -> None:
    arn = publish(rig)
    digest = hashlib.sha256(archive("a = 1", name="python/deps.py")).hexdigest()
    rig.create_function(Layers=[arn])

    rig.call("DeleteLayerVersion", LayerName="deps", VersionNumber=1)
    kept = rig.store.run(lambda tx: tx.blobs.get(digest))
    rig.call("DeleteFunction", FunctionName="worker")

    assert kept is not None
    assert rig.store.run(lambda tx: tx.blobs.get(digest)) is None


TWICE = (
    "Two different versions of the same layer are not allowed to be referenced in the same function. "
    f"{LAYER}deps:1 and {LAYER}deps:2 are versions of the same layer."
)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([f"{LAYER}ghost:1"], f"Layer version {LAYER}ghost:1 does not exist."),
        ([f"{LAYER}deps:1", f"{LAYER}deps:2"], TWICE),
        ([f"{LAYER}l{number}:1" for number in range(6)], "Cannot reference more than 5 layers."),
        (
            ["arn:aws:lambda:eu-west-1:000000000000:layer:deps:1"],
            "Layers are not in the same region as the function. Layers are expected to be in region us-east-1.",
        ),
    ],
)
def test_layers_that_a_function_cannot_have_are_refused(rig: Rig, layers: list[str], message: str) -> None:
    publish(rig)
    rig.create_function()

    refusal = rig.refusal("UpdateFunctionConfiguration", FunctionName="worker", Layers=layers)

    assert refusal == (INVALID, message)


def test_layer_of_an_account_that_is_not_here_is_accepted_without_content(rig: Rig) -> None:
    """Powertools and Insights are layers of AWS's own accounts."""
    created = rig.create_function(Layers=[POWERTOOLS])
    rig.call("Invoke", FunctionName="worker")

    assert created["Layers"] == [{"Arn": POWERTOOLS, "CodeSize": 0}]
    assert rig.invoker.invocations[0].code.layers == ()
    assert rig.invoker.invocations[0].code.missing_layers == (POWERTOOLS,)


def test_layer_of_another_account_is_shared_by_its_policy(rig: Rig) -> None:
    content = {"ZipFile": archive()}
    arn = as_stranger(rig, "PublishLayerVersion", LayerName="shared", Content=content)["LayerVersionArn"]  # type: ignore[index]
    with pytest.raises(ServiceError, match="not authorized to perform: lambda:GetLayerVersion"):
        rig.create_function(Layers=[arn])

    as_stranger(
        rig, "AddLayerVersionPermission", LayerName="shared", VersionNumber=1, StatementId="s",
        Action="lambda:GetLayerVersion", Principal="000000000000",
    )  # fmt: skip

    assert rig.create_function(Layers=[arn])["FunctionArn"] == f"{ARN}worker"
    assert rig.call("GetLayerVersionByArn", Arn=arn)["Version"] == 1


def test_code_and_layers_together_have_a_bound(rig: Rig) -> None:
    def zeros(megabytes: int) -> bytes:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("zeros", bytes(megabytes * 1024 * 1024))
        return content.getvalue()

    rig.call("PublishLayerVersion", LayerName="large", Content={"ZipFile": zeros(200)})
    rig.create_function(Code={"ZipFile": zeros(60)})

    refusal = rig.refusal("UpdateFunctionConfiguration", FunctionName="worker", Layers=[f"{LAYER}large:1"])

    assert refusal == (INVALID, "Unzipped size must be smaller than 262144000 bytes")
