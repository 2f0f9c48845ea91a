"""The caller of a request, and whether the signature is genuine.

    no signature         the account itself; refused where signatures are required; to S3: nobody
    --key                the root of its account
    session token        a session of a role, a user or an account; only this store can make the token
    AKIA… of this store  an IAM user, whom the step looks up: once a key's deletion is committed, the key is refused
    any other key        the account itself (12 digits: that account); refused where signatures are required

Nothing here reads the store: all secrets are derived from one secret (`core.sessions`). So an unsigned request costs
the store nothing, and is refused before its parameters are decoded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from redrive.core.clock import Clock, Instant
from redrive.core.errors import ServiceError
from redrive.core.scope import ANONYMOUS, Caller, Scope
from redrive.core.sessions import SESSION_KEY_PREFIX, USER_KEY_PREFIX, Issuer, Session, is_own_token
from redrive.wire.message import HttpRequest
from redrive.wire.s3_body import chunk_form
from redrive.wire.s3_form import PostForm
from redrive.wire.s3_policy import check_policy
from redrive.wire.signatures.chunks import ChunkSigner
from redrive.wire.signatures.s3_forms import form_signature, verify_form
from redrive.wire.signatures.s3_urls import check_presigned, check_presigned_v2, is_presigned
from redrive.wire.signatures.sigv2 import SignatureV2, signature_v2, verify_v2
from redrive.wire.signatures.sigv4 import Credential, credential_of, session_token, signature_of
from redrive.wire.signatures.verify import chunk_signer, verify

DEFAULT_REGION = "us-east-1"
DEFAULT_HOST = "127.0.0.1:4566"
_ACCOUNT = re.compile(r"[0-9]{12}")
_PREFIXES = (USER_KEY_PREFIX, SESSION_KEY_PREFIX)


@dataclass(frozen=True, slots=True)
class RootKey:
    """An access key of an account's root, given at the start of the server."""

    access_key_id: str
    secret: str = field(repr=False)
    account: str


@dataclass(frozen=True, slots=True)
class Signer:
    """The signer that a request names. `user_key` is the key of an IAM user, whom the step still has to look up.

    Where signatures are required, `chunks` verifies those of a body in chunks.
    """

    caller: Caller
    user_key: str = ""
    chunks: ChunkSigner | None = None


class Identity:
    """Identifies the caller of a request."""

    def __init__(
        self, issuer: Issuer, *, account: str, clocks: Sequence[Clock], root_keys: Sequence[RootKey] = (),
        requires_signatures: bool = False,
    ) -> None:  # fmt: skip
        """`account` is for keys of no account. Callers sign by any of `clocks`, of which the first is the engine's."""
        self.issuer = issuer
        self.requires_signatures = requires_signatures
        self._account = account
        self._clocks = clocks
        self._root_keys: Mapping[str, RootKey] = {key.access_key_id: key for key in root_keys}

    @property
    def now(self) -> Instant:
        """The engine's time."""
        return self._clocks[0].now()

    def identify(self, request: HttpRequest, request_id: str, service: str, *, wordy: bool = False) -> Signer:
        """The caller of a request to a service with this signing name.

        Errors: IncompleteSignatureException; UnrecognizedClientException; ExpiredToken; and where signatures
        are required MissingAuthenticationTokenException, InvalidSignatureException.
        """
        credential = credential_of(request)
        token = session_token(request)
        if credential is not None and self.requires_signatures:
            return self._verified(request, request_id, credential, token, service, wordy=wordy)
        host = request.headers.get("host", DEFAULT_HOST)
        if credential is None:
            if self.requires_signatures:
                message = "Request is missing Authentication Token"
                raise ServiceError("MissingAuthenticationTokenException", message)
            if token is not None and is_own_token(token):
                raise unknown_key()
            return Signer(Caller(Scope(self._account, DEFAULT_REGION), request_id, host=host))
        key_id = credential.access_key_id
        if token is None and key_id not in self._root_keys and not key_id.startswith(_PREFIXES):
            account = key_id if _ACCOUNT.fullmatch(key_id) else self._account
            return Signer(Caller(Scope(account, credential.region or DEFAULT_REGION), request_id, host=host))
        return self._signer(credential, token, request_id, host)

    def identify_for_s3(self, request: HttpRequest, request_id: str) -> Signer:
        """The caller of a request to S3, who may be nobody, and may sign with version 2.

        Errors: those of `identify`; AuthorizationQueryParametersError; AccessDenied; SignatureDoesNotMatch.
        """
        if "authorization" not in request.headers and is_presigned(request.query):
            check_presigned(request, [clock.now() for clock in self._clocks])
            return self.identify(request, request_id, "s3")
        older = signature_v2(request)
        if older is not None:
            return self._signer_v2(request, request_id, older, [clock.now() for clock in self._clocks])
        if "authorization" in request.headers:
            return self.identify(request, request_id, "s3")
        host = request.headers.get("host", DEFAULT_HOST)
        return Signer(Caller(Scope(ANONYMOUS, DEFAULT_REGION), request_id, host=host))

    def identify_form(self, form: PostForm, request: HttpRequest, request_id: str) -> Signer:
        """The signer of a form's policy, which is checked, too; nobody, if there is none.

        Errors: InvalidArgument; InvalidPolicyDocument; AccessDenied; SignatureDoesNotMatch; EntityTooLarge;
        EntityTooSmall; UnrecognizedClientException; ExpiredToken.
        """
        host = request.headers.get("host", DEFAULT_HOST)
        signature = form_signature(form, DEFAULT_REGION)
        if signature is None:
            return Signer(Caller(Scope(ANONYMOUS, DEFAULT_REGION), request_id, host=host))
        signer = self._signer(signature.credential, signature.token, request_id, host)
        if self.requires_signatures:
            verify_form(signature, self._secret_of(signature.credential.access_key_id))
        check_policy(form, [clock.now() for clock in self._clocks])
        return signer

    def _signer_v2(
        self, request: HttpRequest, request_id: str, signature: SignatureV2, now: Sequence[Instant]
    ) -> Signer:  # fmt: skip
        """The signer by a signature of version 2, which names no Region."""
        if "authorization" not in request.headers:
            check_presigned_v2(signature.given, now)
        token = request.headers.get("x-amz-security-token") or signature.given.get("x-amz-security-token")
        credential = Credential(signature.access_key_id, "", DEFAULT_REGION, "s3")
        signer = self._signer(credential, token, request_id, request.headers.get("host", DEFAULT_HOST))
        if self.requires_signatures:
            verify_v2(request, signature, self._secret_of(signature.access_key_id))
        return signer

    def _secret_of(self, access_key_id: str) -> str:
        root_key = self._root_keys.get(access_key_id)
        return root_key.secret if root_key else self.issuer.secret_of(access_key_id)

    def _verified(
        self, request: HttpRequest, request_id: str, credential: Credential, token: str | None, service: str, *,
        wordy: bool,
    ) -> Signer:  # fmt: skip
        """The signer, whose signature is genuine."""
        signer = self._signer(credential, token, request_id, request.headers.get("host", DEFAULT_HOST))
        secret = self._secret_of(credential.access_key_id)
        now = [clock.now() for clock in self._clocks]
        signature = signature_of(request)
        verify(request, credential, signature, secret, service=service, wordy=wordy, now=now)
        if chunk_form(request.headers) is None:
            return signer
        return replace(signer, chunks=chunk_signer(credential, signature, secret))

    def _signer(self, credential: Credential, token: str | None, request_id: str, host: str) -> Signer:
        """The owner of this key. Errors: UnrecognizedClientException; ExpiredToken."""
        key_id, region = credential.access_key_id, credential.region or DEFAULT_REGION
        root_key = self._root_keys.get(key_id)
        if root_key is not None and token is None:
            return Signer(Caller(Scope(root_key.account, region), request_id, host=host))
        if token is not None and is_own_token(token):
            return Signer(self._caller_of(self._session(token, key_id), region, request_id, host))
        if self.issuer.gave(key_id):
            if token is not None:
                raise unknown_key()
            return Signer(Caller(Scope(self._account, region), request_id, host=host), key_id)
        is_bare_session = token is None and key_id.startswith(SESSION_KEY_PREFIX)
        if self.requires_signatures or root_key is not None or is_bare_session:
            raise unknown_key()
        # Real credentials of some other account, or any text: on a developer's own machine these mean the account
        # itself.
        account = key_id if _ACCOUNT.fullmatch(key_id) else self._account
        return Signer(Caller(Scope(account, region), request_id, host=host))

    def _session(self, token: str, access_key_id: str) -> Session:
        session = self.issuer.session(token, access_key_id)
        if session is None:
            raise unknown_key()
        if session.expires_at <= self.now:
            # Not ExpiredTokenException: STS declares an error of that name, about the tokens in its parameters.
            raise ServiceError("ExpiredToken", "The security token included in the request is expired")
        return session

    @staticmethod
    def _caller_of(session: Session, region: str, request_id: str, host: str) -> Caller:
        scope = Scope(session.account, region)
        kind = session.principal_arn.split(":", 5)[5].partition("/")[0]
        match kind:
            case "role":
                return Caller(scope, request_id, session.principal_arn, session.session_name, host)
            case "user":
                return Caller(scope, request_id, host=host, user_arn=session.principal_arn)
            case _:
                return Caller(scope, request_id, host=host)


def unknown_key() -> ServiceError:
    """The refusal of an unknown key or token; the wire spells its code for each protocol."""
    return ServiceError("UnrecognizedClientException", "The security token included in the request is invalid.")
