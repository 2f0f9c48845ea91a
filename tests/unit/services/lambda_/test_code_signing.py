"""Code signing configurations: kept, shown, and enforced on code that nobody has signed."""

from __future__ import annotations

from tests.unit.services.lambda_.functions import ARN, Rig, archive

PROFILE = "arn:aws:signer:us-east-1:000000000000:/signing-profiles/p/abc"
GONE = "arn:aws:lambda:us-east-1:000000000000:code-signing-config:csc-00000000000000000"


def create(rig: Rig, policy: str | None = None) -> str:
    """Create a configuration; answers its ARN."""
    policies = {} if policy is None else {"CodeSigningPolicies": {"UntrustedArtifactOnDeployment": policy}}
    publishers = {"SigningProfileVersionArns": [PROFILE]}
    answer = rig.call("CreateCodeSigningConfig", AllowedPublishers=publishers, **policies)
    return str(answer["CodeSigningConfig"]["CodeSigningConfigArn"])


def test_configuration_is_kept_changed_and_listed(rig: Rig) -> None:
    arn = create(rig)

    changed = rig.call("UpdateCodeSigningConfig", CodeSigningConfigArn=arn, Description="d")["CodeSigningConfig"]

    assert changed["CodeSigningPolicies"] == {"UntrustedArtifactOnDeployment": "Warn"}
    assert (changed["AllowedPublishers"], changed["Description"]) == ({"SigningProfileVersionArns": [PROFILE]}, "d")
    assert rig.call("GetCodeSigningConfig", CodeSigningConfigArn=arn)["CodeSigningConfig"] == changed
    assert rig.call("ListCodeSigningConfigs")["CodeSigningConfigs"] == [changed]
    rig.call("TagResource", Resource=arn, Tags={"a": "b"})
    assert rig.call("ListTags", Resource=arn) == {"Tags": {"a": "b"}}


def test_enforced_configuration_refuses_code_that_nobody_has_signed(rig: Rig) -> None:
    warns, enforces = create(rig), create(rig, "Enforce")
    rig.create_function(CodeSigningConfigArn=warns)
    rig.advance(1)

    rig.call("PutFunctionCodeSigningConfig", FunctionName="worker", CodeSigningConfigArn=enforces)

    params = {"FunctionName": "worker", "ZipFile": archive("a = 2")}
    assert rig.refusal("UpdateFunctionCode", **params)[0] == "CodeVerificationFailedException"
    found = rig.call("GetFunctionCodeSigningConfig", FunctionName="worker")
    assert found == {"CodeSigningConfigArn": enforces, "FunctionName": "worker"}
    rig.call("DeleteFunctionCodeSigningConfig", FunctionName="worker")
    assert rig.call("UpdateFunctionCode", **params)["LastUpdateStatus"] == "InProgress"


def test_configuration_of_a_function_is_not_deleted(rig: Rig) -> None:
    arn = create(rig)
    rig.create_function(CodeSigningConfigArn=arn)

    assert rig.refusal("DeleteCodeSigningConfig", CodeSigningConfigArn=arn)[0] == "ResourceConflictException"
    functions = rig.call("ListFunctionsByCodeSigningConfig", CodeSigningConfigArn=arn)["FunctionArns"]
    assert functions == [f"{ARN}worker"]
    rig.call("DeleteFunction", FunctionName="worker")
    rig.call("DeleteCodeSigningConfig", CodeSigningConfigArn=arn)
    assert rig.refusal("GetCodeSigningConfig", CodeSigningConfigArn=arn) == (
        "ResourceNotFoundException", f"The Lambda code signing configuration {arn} can not be found.",
    )  # fmt: skip


def test_unknown_configuration_is_looked_for_before_the_function(rig: Rig) -> None:
    code, message = rig.refusal("PutFunctionCodeSigningConfig", FunctionName="gone", CodeSigningConfigArn=GONE)

    assert code == "CodeSigningConfigNotFoundException"
    assert message == (
        f"The code signing configuration cannot be found. Check that the provided configuration is not deleted: {GONE}."
    )
