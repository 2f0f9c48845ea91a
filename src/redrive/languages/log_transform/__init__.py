"""Transformers of logs: processors that make a JSON document of a log event, one after the other.

    transformer = read_transformer([{"parseJSON": {}}, {"deleteKeys": {"withKeys": ["secret"]}}])
    transformer.transform('{"a": 1, "secret": 2}', NO_METADATA)  →  '{"a":1}'

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CloudWatch-Logs-Transformation-Processors.html
"""

from __future__ import annotations

from redrive.languages.log_transform.documents import NO_METADATA, MalformedTransformer, Metadata
from redrive.languages.log_transform.transformer import Transformer, read_transformer

__all__ = ["NO_METADATA", "MalformedTransformer", "Metadata", "Transformer", "read_transformer"]
