"""Keys and session tokens: nobody without the store's secret can write one."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from redrive.core.entropy import SeededEntropy
from redrive.core.sessions import Issuer, Session, is_own_token

ROLE = "arn:aws:iam::000000000000:role/jobs/worker"
ISSUER = Issuer(b"a" * 32)
SESSION = ISSUER.new_session(ROLE, "run-1", SeededEntropy(1), 1_000)
CREDENTIALS = ISSUER.credentials(SESSION)


def test_token_stands_for_the_session_it_was_given_for() -> None:
    assert is_own_token(CREDENTIALS.session_token)
    assert ISSUER.session(CREDENTIALS.session_token, SESSION.access_key_id) == SESSION
    assert re.fullmatch("ASIA[A-Z2-7]{16}", SESSION.access_key_id)


def test_token_is_no_use_with_another_key() -> None:
    other = ISSUER.new_session(ROLE, "run-1", SeededEntropy(2), 1_000)

    assert ISSUER.session(CREDENTIALS.session_token, other.access_key_id) is None


def test_token_of_another_store_is_nobodys() -> None:
    assert Issuer(b"b" * 32).session(CREDENTIALS.session_token, SESSION.access_key_id) is None


def test_secret_belongs_to_its_key_and_store() -> None:
    key_id = SESSION.access_key_id

    assert len(CREDENTIALS.secret_access_key) == 40
    assert CREDENTIALS.secret_access_key != ISSUER.secret_of(key_id[:-1] + "A")
    assert CREDENTIALS.secret_access_key != Issuer(b"b" * 32).secret_of(key_id)


@given(st.data())
def test_token_that_differs_in_one_character_is_nobodys(data: st.DataObject) -> None:
    token = CREDENTIALS.session_token
    at = data.draw(st.integers(0, len(token) - 1))
    put = data.draw(st.characters(codec="utf-8").filter(lambda one: one != token[at]))

    assert ISSUER.session(token[:at] + put + token[at + 1 :], SESSION.access_key_id) is None


@given(st.text(), st.text())
def test_text_is_nobodys_token(token: str, key_id: str) -> None:
    assert ISSUER.session(token, key_id) is None
    assert ISSUER.session("redrive1" + token, key_id) is None


@given(st.text("abcXYZ+=,.@-/:", min_size=1), st.text("abc+=,.@-"), st.integers(0, 10**13))
def test_every_session_comes_back_from_its_token(principal: str, name: str, expires_at: int) -> None:
    session = Session(principal, name, "ASIA", expires_at)

    assert ISSUER.session(ISSUER.credentials(session).session_token, "ASIA") == session


def test_access_keys_are_known_to_their_own_store_alone() -> None:
    key_id = ISSUER.new_access_key_id(SeededEntropy(1))

    assert re.fullmatch("AKIA[A-Z2-7]{16}", key_id)
    assert ISSUER.gave(key_id)
    assert not Issuer(b"b" * 32).gave(key_id)
    assert not any(map(ISSUER.gave, ("AKIAIOSFODNN7EXAMPLE", "AKIA", "test", key_id.lower(), key_id + "A", "AKIAé")))


def test_signed_path_is_good_for_itself_and_its_expiry_alone() -> None:
    assert ISSUER.sign_path("/a", 1) == ISSUER.sign_path("/a", 1)
    assert len({ISSUER.sign_path("/a", 1), ISSUER.sign_path("/b", 1), ISSUER.sign_path("/a", 2)}) == 3


def test_secrets_are_not_printed_with_what_holds_them() -> None:
    printed = repr(CREDENTIALS)

    assert CREDENTIALS.access_key_id in printed
    assert CREDENTIALS.secret_access_key not in printed
    assert CREDENTIALS.session_token not in printed
