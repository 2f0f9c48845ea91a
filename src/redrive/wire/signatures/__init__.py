"""Signature Version 4: the signer of a request, and whether the signature is genuine."""
