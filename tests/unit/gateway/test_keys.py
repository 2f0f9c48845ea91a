"""Which keys a server is given, and when it must verify signatures."""

from __future__ import annotations

import pytest

from redrive.core.errors import UserError
from redrive.core.log import SilentLog
from redrive.gateway.identity import RootKey
from redrive.gateway.keys import check_some_key, decide_signatures, is_loopback, read_keys
from redrive.gateway.server import Options, Server

ACCOUNT = "000000000000"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def test_keys_are_read_with_and_without_an_account() -> None:
    keys = read_keys([f"AKME:{SECRET}", f"AKYOU:{SECRET}:111111111111"], account=ACCOUNT)

    assert keys == (RootKey("AKME", SECRET, ACCOUNT), RootKey("AKYOU", SECRET, "111111111111"))


@pytest.mark.parametrize(
    "text", ["", "AKME", "AKME:", f":{SECRET}", f"AKME:{SECRET}:1", f"A K:{SECRET}", f"AK/ME:{SECRET}"]
)
def test_text_that_is_no_key_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(UserError) as caught:
        read_keys([text], account=ACCOUNT)

    assert str(caught.value).startswith("Key number 1 of --key and REDRIVE_KEYS is not a key.")
    assert SECRET not in str(caught.value)


def test_secret_that_could_be_guessed_is_refused() -> None:
    with pytest.raises(UserError, match="The secret of the key test is too short") as caught:
        read_keys(["test:fifteen-letters"[:20]], account=ACCOUNT)

    assert "fifteen" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "is_own"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("192.168.1.2", False), ("example.org", False), ("", False)],
)  # fmt: skip
def test_only_loopback_is_out_of_reach_of_others(host: str, is_own: bool) -> None:
    assert is_loopback(host) is is_own
    assert decide_signatures(host, None) is not is_own


def test_signatures_can_be_required_on_loopback_too() -> None:
    assert decide_signatures("127.0.0.1", True)
    assert not decide_signatures("127.0.0.1", False)


def test_server_that_others_reach_does_without_signatures_for_nobody() -> None:
    """It is refused before anything listens."""
    with pytest.raises(UserError, match=r"--no-require-signatures does not go with --host 0\.0\.0\.0: whoever reaches"):
        Server(Options(host="0.0.0.0", port=0, require_signatures=False), SilentLog())


def test_server_that_nobody_could_sign_for_does_not_start() -> None:
    server = Server(Options(port=0, require_signatures=True), SilentLog())

    with pytest.raises(UserError, match="there is no key: none was given, and no IAM user has one") as caught:
        server.serve(started=lambda: None)

    assert "--key ID:SECRET, or REDRIVE_KEYS=ID:SECRET in the environment" in caught.value.next_step


def test_one_key_is_enough_to_serve_others() -> None:
    check_some_key("0.0.0.0", is_any=True)
