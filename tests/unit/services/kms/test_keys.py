"""Keys, aliases, grants and the cryptography of KMS, as AWS documents them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from redrive.core.documents import Document
from redrive.delivery.operation import Answer, Beforehand
from redrive.services.kms.model.key import Key
from redrive.store.api import Transaction
from redrive.testing.world import World

DAYS_30_MS = 30 * 86_400_000
ROOT = "arn:aws:iam::000000000000:root"


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture
def kms(world: World):
    return world.client("kms")


def code_of(failed: pytest.ExceptionInfo[ClientError]) -> tuple[str, str]:
    error = failed.value.response["Error"]
    return error["Code"], error["Message"]


def user(world: World, policy: Document | None = None):
    """The client of a user, with an inline policy if one is given."""
    iam = world.client("iam")
    iam.create_user(UserName="ann")
    if policy is not None:
        document = json.dumps({"Version": "2012-10-17", "Statement": [policy]})
        iam.put_user_policy(UserName="ann", PolicyName="p", PolicyDocument=document)
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    return world.client(
        "kms", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"]
    )  # fmt: skip


EVERYTHING = {"Effect": "Allow", "Action": "kms:*", "Resource": "*"}
ANN = "arn:aws:iam::000000000000:user/ann"


def key_policy(principal: str, actions: str = "kms:*") -> str:
    statement = {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": actions, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def test_new_key_is_symmetric_enabled_and_the_customers(kms) -> None:
    made = kms.create_key(Description="orders")["KeyMetadata"]

    assert (made["KeySpec"], made["KeyUsage"], made["KeyState"]) == ("SYMMETRIC_DEFAULT", "ENCRYPT_DECRYPT", "Enabled")
    assert made["KeyManager"] == "CUSTOMER"
    assert made["Arn"] == f"arn:aws:kms:us-east-1:000000000000:key/{made['KeyId']}"
    assert kms.describe_key(KeyId=made["Arn"])["KeyMetadata"] == made


def test_text_decrypts_only_in_its_encryption_context(kms) -> None:
    key = kms.create_key()["KeyMetadata"]["Arn"]
    blob = kms.encrypt(KeyId=key, Plaintext=b"hello", EncryptionContext={"a": "1", "b": "2"})["CiphertextBlob"]

    decrypted = kms.decrypt(CiphertextBlob=blob, EncryptionContext={"b": "2", "a": "1"})
    with pytest.raises(ClientError) as failed:
        kms.decrypt(CiphertextBlob=blob, EncryptionContext={"a": "1"})

    assert (decrypted["Plaintext"], decrypted["KeyId"]) == (b"hello", key)
    assert code_of(failed)[0] == "InvalidCiphertextException"
    assert b"hello" not in blob


@pytest.mark.parametrize("at", [0, 1, 20, 50, 62, -1])
def test_damaged_text_does_not_decrypt(kms, at: int) -> None:
    key = kms.create_key()["KeyMetadata"]["Arn"]
    blob = bytearray(kms.encrypt(KeyId=key, Plaintext=b"hello")["CiphertextBlob"])
    blob[at] ^= 1

    with pytest.raises(ClientError) as failed:
        kms.decrypt(CiphertextBlob=bytes(blob))

    assert code_of(failed)[0] == "InvalidCiphertextException"


def test_decrypt_with_another_key_is_refused(kms) -> None:
    one, other = (kms.create_key()["KeyMetadata"]["KeyId"] for _ in range(2))
    blob = kms.encrypt(KeyId=one, Plaintext=b"x")["CiphertextBlob"]

    with pytest.raises(ClientError) as failed:
        kms.decrypt(CiphertextBlob=blob, KeyId=other)

    assert code_of(failed)[0] == "IncorrectKeyException"


def test_plaintext_has_at_most_4096_bytes(kms) -> None:
    key = kms.create_key()["KeyMetadata"]["KeyId"]

    kms.encrypt(KeyId=key, Plaintext=b"x" * 4096)
    with pytest.raises(ClientError) as failed:
        kms.encrypt(KeyId=key, Plaintext=b"x" * 4097)

    assert code_of(failed)[0] == "ValidationException"


def test_data_key_is_the_same_decrypted(kms) -> None:
    key = kms.create_key()["KeyMetadata"]["KeyId"]

    made = kms.generate_data_key(KeyId=key, KeySpec="AES_256")
    hidden = kms.generate_data_key_without_plaintext(KeyId=key, NumberOfBytes=24)

    assert len(made["Plaintext"]) == 32
    assert kms.decrypt(CiphertextBlob=made["CiphertextBlob"])["Plaintext"] == made["Plaintext"]
    assert "Plaintext" not in hidden
    assert len(kms.decrypt(CiphertextBlob=hidden["CiphertextBlob"])["Plaintext"]) == 24


def test_re_encrypted_text_belongs_to_the_other_key(kms) -> None:
    one, other = (kms.create_key()["KeyMetadata"]["Arn"] for _ in range(2))
    blob = kms.encrypt(KeyId=one, Plaintext=b"x", EncryptionContext={"a": "1"})["CiphertextBlob"]

    moved = kms.re_encrypt(CiphertextBlob=blob, SourceEncryptionContext={"a": "1"}, DestinationKeyId=other)

    assert (moved["SourceKeyId"], moved["KeyId"]) == (one, other)
    assert kms.decrypt(CiphertextBlob=moved["CiphertextBlob"])["Plaintext"] == b"x"


@pytest.mark.parametrize("spec", ["RSA_2048", "ECC_NIST_P256", "ECC_NIST_P521", "ECC_SECG_P256K1"])
def test_signature_verifies_and_that_of_another_message_does_not(kms, spec: str) -> None:
    key = kms.create_key(KeySpec=spec, KeyUsage="SIGN_VERIFY")["KeyMetadata"]
    algorithm = key["SigningAlgorithms"][0]
    given = {"KeyId": key["KeyId"], "SigningAlgorithm": algorithm}
    signature = kms.sign(Message=b"pay 1", **given)["Signature"]

    verified = kms.verify(Message=b"pay 1", Signature=signature, **given)
    with pytest.raises(ClientError) as failed:
        kms.verify(Message=b"pay 2", Signature=signature, **given)

    assert verified["SignatureValid"] is True
    assert code_of(failed)[0] == "KMSInvalidSignatureException"


def test_rsa_key_encrypts_what_its_size_allows(kms) -> None:
    key = kms.create_key(KeySpec="RSA_2048", KeyUsage="ENCRYPT_DECRYPT")["KeyMetadata"]["KeyId"]
    given = {"KeyId": key, "EncryptionAlgorithm": "RSAES_OAEP_SHA_256"}

    blob = kms.encrypt(Plaintext=b"x" * 190, **given)["CiphertextBlob"]
    with pytest.raises(ClientError) as failed:
        kms.encrypt(Plaintext=b"x" * 191, **given)

    assert kms.decrypt(CiphertextBlob=blob, **given)["Plaintext"] == b"x" * 190
    assert code_of(failed)[0] == "ValidationException"


def test_mac_verifies_only_its_message(kms) -> None:
    key = kms.create_key(KeySpec="HMAC_256", KeyUsage="GENERATE_VERIFY_MAC")["KeyMetadata"]["KeyId"]
    given = {"KeyId": key, "MacAlgorithm": "HMAC_SHA_256"}
    mac = kms.generate_mac(Message=b"a", **given)["Mac"]

    assert kms.verify_mac(Message=b"a", Mac=mac, **given)["MacValid"] is True
    with pytest.raises(ClientError) as failed:
        kms.verify_mac(Message=b"b", Mac=mac, **given)
    assert code_of(failed)[0] == "KMSInvalidMacException"


def test_usage_of_a_key_is_held(kms) -> None:
    key = kms.create_key(KeySpec="HMAC_256", KeyUsage="GENERATE_VERIFY_MAC")["KeyMetadata"]

    with pytest.raises(ClientError) as failed:
        kms.encrypt(KeyId=key["KeyId"], Plaintext=b"x")

    message = f"{key['Arn']} key usage is GENERATE_VERIFY_MAC which is not valid for Encrypt."
    assert code_of(failed) == ("InvalidKeyUsageException", message)


def test_disabled_key_is_not_used(kms) -> None:
    key = kms.create_key()["KeyMetadata"]
    kms.disable_key(KeyId=key["KeyId"])

    with pytest.raises(ClientError) as failed:
        kms.encrypt(KeyId=key["KeyId"], Plaintext=b"x")
    kms.enable_key(KeyId=key["KeyId"])

    assert code_of(failed) == ("DisabledException", f"{key['Arn']} is disabled.")
    assert kms.encrypt(KeyId=key["KeyId"], Plaintext=b"x")


def test_key_is_deleted_when_its_waiting_period_ends(world: World, kms) -> None:
    key = kms.create_key()["KeyMetadata"]
    kms.create_alias(AliasName="alias/orders", TargetKeyId=key["KeyId"])
    kms.schedule_key_deletion(KeyId=key["KeyId"], PendingWindowInDays=7)

    with pytest.raises(ClientError) as pending:
        kms.encrypt(KeyId=key["KeyId"], Plaintext=b"x")
    world.advance(days=6.9)
    assert kms.describe_key(KeyId=key["KeyId"])["KeyMetadata"]["KeyState"] == "PendingDeletion"
    world.advance(days=0.2)
    with pytest.raises(ClientError) as gone:
        kms.describe_key(KeyId=key["KeyId"])

    assert code_of(pending) == ("KMSInvalidStateException", f"{key['Arn']} is pending deletion.")
    assert code_of(gone) == ("NotFoundException", f"Key '{key['Arn']}' does not exist")
    assert all(alias["AliasName"] != "alias/orders" for alias in kms.list_aliases()["Aliases"])


def test_cancelled_deletion_leaves_the_key_disabled(world: World, kms) -> None:
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    kms.schedule_key_deletion(KeyId=key)
    kms.cancel_key_deletion(KeyId=key)
    world.advance(days=40)

    assert kms.describe_key(KeyId=key)["KeyMetadata"]["KeyState"] == "Disabled"


def test_rotated_key_decrypts_what_earlier_generations_encrypted(world: World, kms) -> None:
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    kms.enable_key_rotation(KeyId=key, RotationPeriodInDays=90)
    old = kms.encrypt(KeyId=key, Plaintext=b"old")["CiphertextBlob"]

    world.advance(days=91)
    kms.rotate_key_on_demand(KeyId=key)

    rotations = kms.list_key_rotations(KeyId=key)["Rotations"]
    assert [each["RotationType"] for each in rotations] == ["AUTOMATIC", "ON_DEMAND"]
    new = kms.encrypt(KeyId=key, Plaintext=b"new")["CiphertextBlob"]
    answers = [kms.decrypt(CiphertextBlob=blob) for blob in (old, new)]
    assert [answer["Plaintext"] for answer in answers] == [b"old", b"new"]
    assert answers[0]["KeyMaterialId"] != answers[1]["KeyMaterialId"]


def test_alias_means_its_key_and_can_move(kms) -> None:
    one, other = (kms.create_key()["KeyMetadata"]["Arn"] for _ in range(2))
    kms.create_alias(AliasName="alias/a", TargetKeyId=one)

    first = kms.encrypt(KeyId="alias/a", Plaintext=b"x")
    kms.update_alias(AliasName="alias/a", TargetKeyId=other)
    second = kms.encrypt(KeyId="arn:aws:kms:us-east-1:000000000000:alias/a", Plaintext=b"x")

    assert (first["KeyId"], second["KeyId"]) == (one, other)
    assert kms.decrypt(CiphertextBlob=first["CiphertextBlob"])["Plaintext"] == b"x"


@pytest.mark.parametrize(
    ("name", "code"), [("orders", "ValidationException"), ("alias/aws/mine", "ValidationException")]
)
def test_alias_with_a_wrong_name_is_refused(kms, name: str, code: str) -> None:
    key = kms.create_key()["KeyMetadata"]["Arn"]

    with pytest.raises(ClientError) as failed:
        kms.create_alias(AliasName=name, TargetKeyId=key)

    assert code_of(failed)[0] == code


@pytest.mark.parametrize(
    ("identifier", "message"),
    [
        ("nothing", "Invalid keyId 'nothing'"),
        ("alias/none", "Alias arn:aws:kms:us-east-1:000000000000:alias/none is not found."),
        ("arn:aws:kms:eu-west-1:000000000000:key/12345678-1234-1234-1234-123456789012", "Invalid arn eu-west-1"),
    ],
)
def test_key_that_does_not_exist_is_not_found(kms, identifier: str, message: str) -> None:
    with pytest.raises(ClientError) as failed:
        kms.encrypt(KeyId=identifier, Plaintext=b"x")

    assert code_of(failed) == ("NotFoundException", message)


def test_aws_managed_key_is_created_when_it_is_first_described(kms) -> None:
    def ssm_key() -> object:
        return next(a.get("TargetKeyId") for a in kms.list_aliases()["Aliases"] if a["AliasName"] == "alias/aws/ssm")

    before = ssm_key()
    made = kms.describe_key(KeyId="alias/aws/ssm")["KeyMetadata"]

    assert (before, ssm_key(), made["KeyManager"]) == (None, made["KeyId"], "AWS")


def test_aws_managed_key_is_not_used_directly(kms) -> None:
    key = kms.describe_key(KeyId="alias/aws/ssm")["KeyMetadata"]["KeyId"]

    with pytest.raises(ClientError) as failed:
        kms.encrypt(KeyId=key, Plaintext=b"x")

    assert code_of(failed)[0] == "AccessDeniedException"


def test_policies_of_the_account_count_where_the_key_leaves_it_to_them(world: World, kms) -> None:
    key = kms.create_key()["KeyMetadata"]["KeyId"]

    assert user(world, EVERYTHING).encrypt(KeyId=key, Plaintext=b"x")


def test_key_whose_policy_names_others_only_is_closed_to_the_account(world: World, kms) -> None:
    policy = key_policy("arn:aws:iam::000000000000:role/other")
    key = kms.create_key(Policy=policy, BypassPolicyLockoutSafetyCheck=True)["KeyMetadata"]["KeyId"]

    with pytest.raises(ClientError) as of_user:
        user(world, EVERYTHING).encrypt(KeyId=key, Plaintext=b"x")
    with pytest.raises(ClientError) as of_root:
        kms.encrypt(KeyId=key, Plaintext=b"x")

    assert code_of(of_user)[0] == code_of(of_root)[0] == "AccessDeniedException"


def test_policy_that_locks_its_writer_out_is_refused(kms) -> None:
    with pytest.raises(ClientError) as failed:
        kms.create_key(Policy=key_policy("arn:aws:iam::000000000000:role/other"))

    assert code_of(failed)[0] == "MalformedPolicyDocumentException"


def test_grant_allows_its_operations_in_its_context_only(world: World, kms) -> None:
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    ann = user(world)
    with pytest.raises(ClientError):
        ann.encrypt(KeyId=key, Plaintext=b"x", EncryptionContext={"for": "ann"})
    grant = kms.create_grant(
        KeyId=key, GranteePrincipal=ANN, Operations=["Encrypt"],
        Constraints={"EncryptionContextSubset": {"for": "ann"}},
    )  # fmt: skip

    assert ann.encrypt(KeyId=key, Plaintext=b"x", EncryptionContext={"for": "ann", "more": "1"})
    with pytest.raises(ClientError):
        ann.encrypt(KeyId=key, Plaintext=b"x")
    kms.revoke_grant(KeyId=key, GrantId=grant["GrantId"])
    with pytest.raises(ClientError) as failed:
        ann.encrypt(KeyId=key, Plaintext=b"x", EncryptionContext={"for": "ann"})
    assert code_of(failed)[0] == "AccessDeniedException"


def test_grant_does_not_stand_against_a_deny(world: World, kms) -> None:
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    ann = user(world, {**EVERYTHING, "Effect": "Deny"})
    kms.create_grant(KeyId=key, GranteePrincipal=ANN, Operations=["Encrypt"])

    with pytest.raises(ClientError) as failed:
        ann.encrypt(KeyId=key, Plaintext=b"x")

    assert "explicit deny" in code_of(failed)[1]


def test_same_grant_with_the_same_name_is_made_once(kms) -> None:
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    given = {"KeyId": key, "GranteePrincipal": ANN, "Operations": ["Decrypt"], "Name": "n"}

    first, second = kms.create_grant(**given), kms.create_grant(**given)

    assert first["GrantId"] == second["GrantId"]
    kms.retire_grant(GrantToken=first["GrantToken"])
    assert kms.list_grants(KeyId=key)["Grants"] == []


def test_dry_run_changes_nothing(kms) -> None:
    key = kms.create_key()["KeyMetadata"]["KeyId"]

    with pytest.raises(ClientError) as failed:
        kms.create_grant(KeyId=key, GranteePrincipal=ANN, Operations=["Decrypt"], DryRun=True)

    assert code_of(failed)[0] == "DryRunOperationException"
    assert kms.list_grants(KeyId=key)["Grants"] == []


def test_tags_are_kept_and_checked(kms) -> None:
    key = kms.create_key(Tags=[{"TagKey": "a", "TagValue": "1"}])["KeyMetadata"]["KeyId"]
    kms.tag_resource(KeyId=key, Tags=[{"TagKey": "b", "TagValue": "2"}])
    kms.untag_resource(KeyId=key, TagKeys=["a"])

    with pytest.raises(ClientError) as failed:
        kms.tag_resource(KeyId=key, Tags=[{"TagKey": "aws:x", "TagValue": "2"}])

    assert kms.list_resource_tags(KeyId=key)["Tags"] == [{"TagKey": "b", "TagValue": "2"}]
    assert code_of(failed) == ("TagException", "Tags beginning with aws: are reserved")


def test_lists_of_keys_come_in_pages(kms) -> None:
    made = {kms.create_key()["KeyMetadata"]["KeyId"] for _ in range(5)}

    first = kms.list_keys(Limit=3)
    second = kms.list_keys(Limit=3, Marker=first["NextMarker"])

    assert (first["Truncated"], second["Truncated"]) == (True, False)
    assert {key["KeyId"] for key in first["Keys"] + second["Keys"]} == made


def test_secret_of_no_key_is_in_the_store(world: World, kms) -> None:
    key = kms.create_key(KeySpec="RSA_2048", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["KeyId"]
    document = world.store.run(lambda tx: repr(_stored(tx, world, key)))

    assert "PRIVATE KEY" not in document
    assert kms.get_public_key(KeyId=key)["PublicKey"].startswith(b"0\x82")


def _stored(tx, world: World, key_id: str) -> object:
    return tx.resources.get(Key, world.caller().scope, key_id)


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("CreateKey", {"KeySpec": "RSA_2048", "KeyUsage": "SIGN_VERIFY"}),
        ("GenerateDataKeyPair", {"KeyId": "alias/k", "KeyPairSpec": "RSA_2048"}),
        ("GenerateDataKeyPairWithoutPlaintext", {"KeyId": "alias/k", "KeyPairSpec": "RSA_2048"}),
    ],
)
def test_primes_of_a_key_are_searched_for_without_a_transaction(
    world: World, kms, operation: str, params: dict[str, object]
) -> None:
    """The step asks for the work and writes nothing; after the work the same step answers."""
    kms.create_alias(AliasName="alias/k", TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    before = len(kms.list_keys()["Keys"])

    def step(tx: Transaction) -> Answer:
        return world.engine.registry.begin(tx, world.caller(), "kms", operation, params)

    first = world.store.run(step)
    between = len(kms.list_keys()["Keys"])
    assert isinstance(first, Beforehand)
    first.work()
    second = world.store.run(step)

    assert between == before
    assert isinstance(second, dict)
    assert isinstance(world.store.run(step), Beforehand), "each key is given away once"
