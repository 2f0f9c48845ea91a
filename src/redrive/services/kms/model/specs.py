"""What each key spec can do: its usages, its algorithms, and the largest plaintext of each.

Source: https://docs.aws.amazon.com/kms/latest/developerguide/symm-asymm-choose-key-spec.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from redrive.services.kms.model.requests import invalid, unsupported

ENCRYPT_DECRYPT = "ENCRYPT_DECRYPT"
SIGN_VERIFY = "SIGN_VERIFY"
GENERATE_VERIFY_MAC = "GENERATE_VERIFY_MAC"
SYMMETRIC = "SYMMETRIC_DEFAULT"
SYMMETRIC_BYTES_MAX = 4096

_RSA_SIGNING = tuple(f"RSASSA_{scheme}_SHA_{size}" for scheme in ("PKCS1_V1_5", "PSS") for size in (256, 384, 512))
_RSA_ENCRYPTION = ("RSAES_OAEP_SHA_1", "RSAES_OAEP_SHA_256")


@dataclass(frozen=True, slots=True)
class KeySpec:
    """A key spec: the usages that it allows, and its algorithms for each of them. `bits` is the length of the key."""

    name: str
    usages: tuple[str, ...]
    bits: int
    encryption: tuple[str, ...] = ()
    signing: tuple[str, ...] = ()
    mac: tuple[str, ...] = ()
    curve: str = ""

    @property
    def is_symmetric(self) -> bool:
        return self.name == SYMMETRIC

    @property
    def is_asymmetric(self) -> bool:
        """Whether the key has a public half."""
        return self.name.startswith(("RSA_", "ECC_"))

    def algorithms(self, usage: str) -> dict[str, list[str]]:
        """The algorithms of a key with this usage, as DescribeKey shows them."""
        shown = {
            ENCRYPT_DECRYPT: ("EncryptionAlgorithms", self.encryption),
            SIGN_VERIFY: ("SigningAlgorithms", self.signing),
            GENERATE_VERIFY_MAC: ("MacAlgorithms", self.mac),
        }
        name, algorithms = shown[usage]
        return {name: list(algorithms)}


def _rsa(bits: int) -> KeySpec:
    return KeySpec(f"RSA_{bits}", (ENCRYPT_DECRYPT, SIGN_VERIFY), bits, _RSA_ENCRYPTION, _RSA_SIGNING)


def _ecc(name: str, bits: int, curve: str, digest: int) -> KeySpec:
    return KeySpec(f"ECC_{name}", (SIGN_VERIFY,), bits, signing=(f"ECDSA_SHA_{digest}",), curve=curve)


def _hmac(bits: int) -> KeySpec:
    return KeySpec(f"HMAC_{bits}", (GENERATE_VERIFY_MAC,), bits, mac=(f"HMAC_SHA_{bits}",))


_ALL = (
    KeySpec(SYMMETRIC, (ENCRYPT_DECRYPT,), 256, encryption=(SYMMETRIC,)),
    _rsa(2048), _rsa(3072), _rsa(4096),
    _ecc("NIST_P256", 256, "secp256r1", 256), _ecc("NIST_P384", 384, "secp384r1", 384),
    _ecc("NIST_P521", 521, "secp521r1", 512), _ecc("SECG_P256K1", 256, "secp256k1", 256),
    _hmac(224), _hmac(256), _hmac(384), _hmac(512),
)  # fmt: skip

SPECS: Mapping[str, KeySpec] = MappingProxyType({spec.name: spec for spec in _ALL})


def chosen_spec(name: str, usage: str | None) -> tuple[KeySpec, str]:
    """Return the spec of a new key and its usage.

    Errors: ValidationException (usage and spec do not fit); UnsupportedOperationException (not served).
    """
    spec = SPECS.get(name)
    if spec is None:
        raise unsupported(f"redrive does not serve keys of the spec {name}. It serves: {', '.join(SPECS)}.")
    if usage is None:
        if not spec.is_symmetric:
            raise invalid("You must specify a KeyUsage value for all KMS keys except for symmetric encryption keys.")
        return spec, ENCRYPT_DECRYPT
    if usage == "KEY_AGREEMENT":
        raise unsupported("redrive does not serve keys for KEY_AGREEMENT.")
    if usage not in spec.usages:
        raise invalid(f"KeyUsage {usage} is not compatible with KeySpec {name}")
    return spec, usage


def plaintext_bytes_max(spec: KeySpec, algorithm: str) -> int:
    """Return how many bytes one encryption takes.

    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_Encrypt.html
    """
    if spec.is_symmetric:
        return SYMMETRIC_BYTES_MAX
    digest_bytes = 20 if algorithm == "RSAES_OAEP_SHA_1" else 32
    return spec.bits // 8 - 2 * digest_bytes - 2
