"""Checks of a function's parts: its archive, its runtime, its environment and its sizes.

All functions here are pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from redrive.core.archives import ArchiveTooLarge, BadArchive, sound_entries
from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.sessions import Issuer
from redrive.services.lambda_.limits import (
    CODE_URL_MS,
    ENVIRONMENT_BYTES_MAX,
    EPHEMERAL_MB_MAX,
    MEMORY_MB_MAX,
    RESERVED_VARIABLES,
    RUNTIMES,
    RUNTIMES_RETIRED,
    RUNTIMES_SERVED,
    TIMEOUT_S_MAX,
    UNZIPPED_BYTES_MAX,
    ZIP_BYTES_MAX,
)
from redrive.services.lambda_.model.function import constraint_violation, invalid_parameter, refuse_given, unavailable

COULD_NOT_UNZIP = "Could not unzip uploaded file. Please check your file, then try to upload again."


def code_digest(content: bytes) -> str:
    """The hexadecimal SHA-256 of an archive."""
    return hashlib.sha256(content).hexdigest()


def code_location(secret: bytes, host: str, digest: str, now: Instant) -> str:
    """Return a URL that anybody can use for ten minutes to fetch the code; the gateway's `admin` verifies the URL."""
    path, expires_at = f"/_redrive/blobs/{digest}", now + CODE_URL_MS
    return f"http://{host}{path}?Expires={expires_at}&Signature={Issuer(secret).sign_path(path, expires_at)}"


def check_archive(content: bytes) -> None:
    """Refuse an archive that cannot be unzipped, or is too large, zipped or unzipped. This checks no file inside.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    """
    if len(content) > ZIP_BYTES_MAX:
        raise ServiceError(
            "RequestEntityTooLargeException",
            f"Zipped size must be smaller than {ZIP_BYTES_MAX} bytes",
            http_status=413,
        )
    check_unzipped(content)


def check_unzipped(content: bytes) -> None:
    """Refuse an archive that cannot be unzipped, or is too large unzipped. Errors: InvalidParameterValueException."""
    try:
        entries = sound_entries(content, bytes_max=UNZIPPED_BYTES_MAX)
    except ArchiveTooLarge as error:
        raise invalid_parameter(str(error)) from None
    except BadArchive:
        raise invalid_parameter(COULD_NOT_UNZIP) from None
    if not entries:
        raise invalid_parameter("Uploaded file must be a non-empty zip")


def zip_content(code: Document) -> bytes:
    """Return the archive in a `Code` document, or in the members with the same names in UpdateFunctionCode.

    Errors: InvalidParameterValueException (no archive; code in S3 or in an image, which redrive does not support).
    """
    refuse_given(
        S3Bucket=code.get("S3Bucket"),
        S3Key=code.get("S3Key"),
        S3ObjectVersion=code.get("S3ObjectVersion"),
        S3ObjectStorageMode=code.get("S3ObjectStorageMode"),
        ImageUri=code.get("ImageUri"),
    )
    content = code.get("ZipFile")
    if not isinstance(content, bytes):
        raise invalid_parameter("Please provide a source for function code.")
    return content


def check_runtime(runtime: str) -> None:
    """Refuse a runtime that AWS does not know or has retired, with AWS's message, and one that cannot run here.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtimes.html
    """
    if runtime in RUNTIMES:
        if not runtime.startswith(RUNTIMES_SERVED):
            raise unavailable(f"Runtime {runtime}")
        return
    if runtime in RUNTIMES_RETIRED:
        raise invalid_parameter(
            f"The runtime parameter of {runtime} is no longer supported for creating or updating AWS Lambda functions. "
            "We recommend you use a supported runtime while creating or updating functions."
        )
    known = ", ".join(RUNTIMES)
    raise invalid_parameter(
        f"Value {runtime} at 'runtime' failed to satisfy constraint: Member must satisfy enum value set: "
        f"[{known}] or be a valid ARN"
    )


def check_compatible_runtimes(runtimes: Sequence[str]) -> None:
    """Refuse names that were never a runtime. Retired runtimes are valid for layers."""
    if any(runtime not in RUNTIMES_RETIRED and runtime not in RUNTIMES for runtime in runtimes):
        raise ServiceError(
            "ValidationException",
            f"1 validation error detected: Value '[{', '.join(runtimes)}]' at 'compatibleRuntimes' failed to satisfy "
            "constraint: Member must satisfy constraint: [Member must satisfy enum value set: "
            f"[{', '.join(RUNTIMES)}]]",
            http_status=400,
        )


def check_environment(variables: Mapping[str, str]) -> None:
    """Refuse an environment over 4 KB, or with names that are reserved for the runtime.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
    """
    reserved = sorted(RESERVED_VARIABLES & variables.keys())
    if reserved:
        raise invalid_parameter(
            "Lambda was unable to configure your environment variables because the environment variables you have "
            "provided contains reserved keys that are currently not supported for modification. "
            f"Reserved keys used in this request: {', '.join(reserved)}"
        )
    text = dump_json(dict(variables))
    if len(text.encode()) > ENVIRONMENT_BYTES_MAX:
        raise invalid_parameter(
            "Lambda was unable to configure your environment variables because the environment variables you have "
            f"provided exceeded the 4KB limit. String measured: {text}"
        )


def check_sizes(*, timeout_s: int, memory_mb: int, ephemeral_mb: int) -> None:
    """Refuse sizes over the quotas that are stricter than the constraints in botocore's model."""
    for value, member, most in (
        (timeout_s, "timeout", TIMEOUT_S_MAX),
        (memory_mb, "memorySize", MEMORY_MB_MAX),
        (ephemeral_mb, "ephemeralStorage.size", EPHEMERAL_MB_MAX),
    ):
        if value > most:
            raise constraint_violation(value, member, f"value less than or equal to {most}")
