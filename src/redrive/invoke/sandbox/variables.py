"""The environment variables that function code sees: AWS's, then the function's own; none of this process's.

Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
"""

from __future__ import annotations

import sys
from pathlib import Path

from redrive.core.arn import Arn
from redrive.core.clock import HOUR_MS, Instant, format_instant
from redrive.core.entropy import Entropy
from redrive.core.sessions import NEVER, Issuer, TemporaryCredentials
from redrive.delivery.outside.invocation import Invocation

RUNTIME_DIR = "/var/runtime"

ON_DEMAND = "on-demand"
IN_ADVANCE = "provisioned-concurrency"
"""How an environment was initialized: for a run, or before the first."""

RENEWAL_MS = 6 * HOUR_MS
"""The longest time that an environment is reused; its credentials are valid for as long again."""


def function_variables(
    invocation: Invocation, *, log_stream: str, task_root: str, endpoint_url: str, credentials: TemporaryCredentials,
    initialization: str = ON_DEMAND,
) -> dict[str, str]:  # fmt: skip
    """The variables of an execution environment, without those that only a separate process needs."""
    region = Arn.parse(invocation.function_arn).region
    return {
        "AWS_DEFAULT_REGION": region,
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{invocation.code.runtime}",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(invocation.memory_mb),
        "AWS_LAMBDA_FUNCTION_NAME": invocation.function_name,
        "AWS_LAMBDA_FUNCTION_VERSION": invocation.version,
        "AWS_LAMBDA_INITIALIZATION_TYPE": initialization,
        "AWS_LAMBDA_LOG_GROUP_NAME": invocation.log_group,
        "AWS_LAMBDA_LOG_STREAM_NAME": log_stream,
        "AWS_REGION": region,
        "AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR",
        "LAMBDA_RUNTIME_DIR": RUNTIME_DIR,
        "LAMBDA_TASK_ROOT": task_root,
        "TZ": ":UTC",
        "_HANDLER": invocation.code.handler,
        "AWS_ACCESS_KEY_ID": credentials.access_key_id,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_access_key,
        "AWS_SESSION_TOKEN": credentials.session_token,
        **_logging_variables(invocation),
        **invocation.environment,
    }


def _logging_variables(invocation: Invocation) -> dict[str, str]:
    """The variables that tell a runtime its log format, if that is not text."""
    if not invocation.log_level:
        return {}
    return {"AWS_LAMBDA_LOG_FORMAT": invocation.log_format, "AWS_LAMBDA_LOG_LEVEL": invocation.log_level}


def process_variables(task_root: str, runtime_api: str, opt_root: str = "") -> dict[str, str]:
    """The variables that a process needs besides: search paths, a language, a home without the user's AWS settings.

    `opt_root` is where the files of the function's layers are; empty if there are none.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/packaging-layers.html
    """
    variables = {
        "AWS_LAMBDA_RUNTIME_API": runtime_api,
        "HOME": task_root,
        "LANG": "en_US.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
    }
    if opt_root:
        variables["PATH"] += f":{opt_root}/bin"
        variables["LD_LIBRARY_PATH"] = f"{task_root}:{task_root}/lib:{opt_root}/lib"
        variables["NODE_PATH"] = f"{opt_root}/nodejs/node_modules"
    return variables


def function_credentials(issuer: Issuer, invocation: Invocation, *, expires_at: Instant) -> TemporaryCredentials:
    """Credentials of a session of the function's role. Deterministic: by role, name and expiry."""
    return issuer.credentials(issuer.same_session(invocation.role_arn, invocation.function_name, expires_at))


def environment_credentials(
    issuer: Issuer, invocation: Invocation, entropy: Entropy, *, expires_at: Instant
) -> TemporaryCredentials:
    """Credentials of a new session of the function's role, with the function's name; each environment has its own."""
    return issuer.credentials(issuer.new_session(invocation.role_arn, invocation.function_name, entropy, expires_at))


def credentials_expiry(now: Instant, *, is_virtual: bool) -> Instant:
    """The expiry of credentials for a new environment: in 6 to 12 hours, at a full quarter of a day.

    All environments of the same six hours have one expiry, which shows which of them must be renewed. In virtual time
    months can pass within one environment, and nobody could renew its credentials: there they never expire.
    """
    return NEVER if is_virtual else (now // RENEWAL_MS + 2) * RENEWAL_MS


def new_log_stream(now: Instant, version: str, entropy: Entropy) -> str:
    """A name for the log stream of one execution environment: `2025/10/07/[$LATEST]<32 hexadecimal digits>`."""
    date = format_instant(now)[:10].replace("-", "/")
    return f"{date}/[{version}]{entropy.hex(32)}"
