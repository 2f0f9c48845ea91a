"""Parameters, keys and secrets from outside, with the aws CLI: a rotation runs a function in a process of its own."""

from __future__ import annotations

import base64
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ServerProcess
from tests.unit.services.secretsmanager.test_rotation import ALLOW, CODE, TRUST


def cli(server: ServerProcess, *arguments: str) -> Any:
    """Run `aws SERVICE OPERATION …`."""
    return server.aws(*arguments, "--endpoint-url", server.endpoint_url)


def test_parameters_of_a_path_are_shown_with_their_secrets(server: ServerProcess) -> None:
    cli(server, "ssm", "put-parameter", "--name", "/shop/db/host", "--value", "db.local", "--type", "String")
    cli(server, "ssm", "put-parameter", "--name", "/shop/db/password", "--value", "s3cret", "--type", "SecureString")
    cli(server, "ssm", "put-parameter", "--name", "/shop/db/host", "--value", "db2.local", "--overwrite")

    path = ("ssm", "get-parameters-by-path", "--path", "/shop", "--recursive")
    shown = cli(server, *path, "--with-decryption")["Parameters"]
    hidden = cli(server, *path)["Parameters"]
    history = cli(server, "ssm", "get-parameter-history", "--name", "/shop/db/host")["Parameters"]

    assert {one["Name"]: one["Value"] for one in shown} == {"/shop/db/host": "db2.local", "/shop/db/password": "s3cret"}
    assert next(one["Value"] for one in hidden if one["Type"] == "SecureString") != "s3cret"
    assert [one["Value"] for one in history] == ["db.local", "db2.local"]


def test_text_is_encrypted_and_decrypted_and_not_by_a_disabled_key(server: ServerProcess, tmp_path: Path) -> None:
    key = cli(server, "kms", "create-key", "--description", "shop")["KeyMetadata"]["KeyId"]
    plain, cipher = tmp_path / "plain", tmp_path / "cipher"
    plain.write_bytes(b"\x00 plain")

    made = cli(server, "kms", "encrypt", "--key-id", key, "--plaintext", f"fileb://{plain}")["CiphertextBlob"]
    cipher.write_bytes(base64.b64decode(made))
    opened = cli(server, "kms", "decrypt", "--ciphertext-blob", f"fileb://{cipher}")["Plaintext"]
    cli(server, "kms", "disable-key", "--key-id", key)

    assert base64.b64decode(opened) == b"\x00 plain"
    with pytest.raises(AssertionError, match="DisabledException"):
        cli(server, "kms", "decrypt", "--ciphertext-blob", f"fileb://{cipher}")


def test_secret_is_rotated_by_a_function(server: ServerProcess, tmp_path: Path) -> None:
    archive = tmp_path / "rotate.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("index.py", CODE)
    role = cli(server, "iam", "create-role", "--role-name", "r", "--assume-role-policy-document", TRUST)["Role"]["Arn"]
    cli(server, "iam", "put-role-policy", "--role-name", "r", "--policy-name", "p", "--policy-document", ALLOW)
    function = cli(
        server, "lambda", "create-function", "--function-name", "rotate", "--role", role, "--handler", "index.handler",
        "--runtime", f"python3.{sys.version_info.minor}", "--zip-file", f"fileb://{archive}", "--timeout", "30",
    )["FunctionArn"]  # fmt: skip
    cli(
        server, "lambda", "add-permission", "--function-name", "rotate", "--statement-id", "s",
        "--action", "lambda:InvokeFunction", "--principal", "secretsmanager.amazonaws.com",
    )  # fmt: skip
    cli(server, "secretsmanager", "create-secret", "--name", "db", "--secret-string", "old")

    rules = json.dumps({"AutomaticallyAfterDays": 30})
    cli(
        server, "secretsmanager", "rotate-secret", "--secret-id", "db", "--rotation-lambda-arn", function,
        "--rotation-rules", rules,
    )  # fmt: skip
    server.redrive("clock", "advance", "1m")

    now = cli(server, "secretsmanager", "get-secret-value", "--secret-id", "db")["SecretString"]
    before = cli(
        server, "secretsmanager", "get-secret-value", "--secret-id", "db", "--version-stage", "AWSPREVIOUS"
    )["SecretString"]  # fmt: skip
    assert (before, len(now)) == ("old", 32)
    described = cli(server, "secretsmanager", "describe-secret", "--secret-id", "db")
    assert described["RotationEnabled"] is True
    server.redrive("clock", "advance", "31d")
    again = cli(server, "secretsmanager", "get-secret-value", "--secret-id", "db")["SecretString"]
    assert again not in ("old", now)
