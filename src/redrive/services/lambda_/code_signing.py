"""Which code signing configuration a function has, and what it does to unsigned code.

No code is signed here: AWS Signer signs objects in S3. So all code is code that nobody has signed.
"""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.scope import Scope
from redrive.services.lambda_.model.code_signing import CodeSigningConfig
from redrive.services.lambda_.model.function import lambda_error
from redrive.store.api import Transaction


def find_code_signing(tx: Transaction, arn: str) -> CodeSigningConfig | None:
    """Return the configuration with this ARN."""
    parsed = Arn.parse(arn)
    scope = Scope(parsed.account, parsed.region)
    return tx.resources.get(CodeSigningConfig, scope, parsed.resource.rpartition(":")[2])


def existing_code_signing(tx: Transaction, arn: str) -> CodeSigningConfig:
    """Return the configuration that a function is to have. Errors: CodeSigningConfigNotFoundException."""
    config = find_code_signing(tx, arn)
    if config is None:
        raise lambda_error(
            "CodeSigningConfigNotFoundException",
            "The code signing configuration cannot be found. Check that the provided configuration is not deleted: "
            f"{arn}.",
        )
    return config


def check_signature(tx: Transaction, code_signing_arn: str) -> None:
    """Refuse unsigned code for a function whose configuration says Enforce; with Warn the code is accepted.

    Errors: CodeVerificationFailedException.
    """
    config = find_code_signing(tx, code_signing_arn) if code_signing_arn else None
    if config is not None and config.policy == "Enforce":
        raise lambda_error(
            "CodeVerificationFailedException",
            "Lambda cannot deploy the function. The function or layer might be signed using a signature that the "
            "client is not configured to accept. Check the provided signature for unsigned code.",
        )
