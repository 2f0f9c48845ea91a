"""Signature Version 4: who signs a request, and whether the signature is genuine."""
