"""Sandboxes for function code: processes with limits, kept warm, ended together."""
