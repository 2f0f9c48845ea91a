"""Signatures of forms, which cover the policy: of version 4 in hexadecimal digits, of version 2 in base64.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-authentication-HTTPPOST.html
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass

from redrive.core.errors import ServiceError
from redrive.wire.s3_form import POLICY, PostForm, missing_field
from redrive.wire.signatures.sigv4 import Credential
from redrive.wire.signatures.verify import signing_key

_V4 = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Signature")
_V2 = ("AWSAccessKeyId", "signature")
_MALFORMED = "Error parsing the X-Amz-Credential parameter; the Credential is mal-formed"


@dataclass(frozen=True, slots=True)
class FormSignature:
    """The signature of a form's policy. The credential has no date if the version is 2."""

    credential: Credential
    text: str
    policy: str
    token: str | None


def form_signature(form: PostForm, region: str) -> FormSignature | None:
    """The signature of a form; None if nobody has signed. `region` is for version 2, which names none.

    Errors: InvalidArgument.
    """
    fields = form.fields
    is_v4 = any(name.lower() in fields for name in _V4)
    if POLICY not in fields and not is_v4 and not any(name.lower() in fields for name in _V2):
        return None
    for name in (*(_V4 if is_v4 else _V2), POLICY):
        if name.lower() not in fields:
            raise missing_field(name)
    token = fields.get("x-amz-security-token")
    if not is_v4:
        credential = Credential(fields["awsaccesskeyid"], "", region, "s3")
        return FormSignature(credential, fields["signature"], fields[POLICY], token)
    parts = fields["x-amz-credential"].split("/")
    if len(parts) != 5:
        members = {"ArgumentName": "X-Amz-Credential", "ArgumentValue": fields["x-amz-credential"]}
        raise ServiceError("InvalidArgument", _MALFORMED, http_status=400, members=members)
    return FormSignature(Credential(*parts[:4]), fields["x-amz-signature"], fields[POLICY], token)


def verify_form(signature: FormSignature, secret: str) -> None:
    """Refuse a form whose policy was not signed with this secret. Errors: SignatureDoesNotMatch."""
    credential, policy = signature.credential, signature.policy.encode()
    if credential.date:
        key = signing_key(secret, credential.date, credential.region, credential.service)
        made = hmac.new(key, policy, hashlib.sha256).hexdigest()
    else:
        made = base64.b64encode(hmac.digest(secret.encode(), policy, hashlib.sha1)).decode()
    if not hmac.compare_digest(made.encode(), signature.text.encode()):
        raise ServiceError(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. Check your key and "
            "signing method.",
            http_status=403,
            members={"AWSAccessKeyId": credential.access_key_id, "StringToSign": signature.policy,
                     "SignatureProvided": signature.text},
        )  # fmt: skip
