"""What models answer that are invoked with a body of their own: the members that each family of them documents.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from redrive.prove.calls.calls import Call

_TEXT = "sample text"
_VECTOR = [0.1, 0.2, 0.3]
_PICTURE = "c2FtcGxl"

_FAMILIES: Mapping[str, Mapping[str, object]] = {
    "anthropic": {
        "id": "msg_sample", "type": "message", "role": "assistant", "content": [{"type": "text", "text": _TEXT}],
        "completion": _TEXT, "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "nova": {
        "output": {"message": {"role": "assistant", "content": [{"text": _TEXT}]}}, "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "images": [_PICTURE],
    },
    "titan": {
        "inputTextTokenCount": 1, "embedding": _VECTOR, "images": [_PICTURE],
        "results": [{"tokenCount": 1, "outputText": _TEXT, "completionReason": "FINISH"}],
    },
    "meta": {"generation": _TEXT, "prompt_token_count": 1, "generation_token_count": 1, "stop_reason": "stop"},
    "mistral": {
        "outputs": [{"text": _TEXT, "stop_reason": "stop"}],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": _TEXT}, "stop_reason": "stop"}],
    },
    "cohere": {"text": _TEXT, "generations": [{"text": _TEXT}], "embeddings": [_VECTOR], "finish_reason": "COMPLETE"},
    "ai21": {
        "completions": [{"data": {"text": _TEXT}}], "choices": [{"message": {"role": "assistant", "content": _TEXT}}],
    },
    "stability": {
        "result": "success", "artifacts": [{"base64": _PICTURE, "finishReason": "SUCCESS"}], "images": [_PICTURE],
        "finish_reasons": [None],
    },
    "deepseek": {"choices": [{"text": _TEXT, "message": {"content": _TEXT}, "stop_reason": "stop"}]},
}  # fmt: skip
"""By a word in the id of the model."""


def answer_of_model(call: Call, read: Mapping[str, object], *, is_model: bool) -> bytes:
    """The body of an answer: what the family of the model documents, and what else the handler reads of JSON."""
    name = str(call.params.get("modelId", "")).lower() if is_model else ""
    documented = next((answer for word, answer in _FAMILIES.items() if word in name), {})
    return json.dumps({**read, **documented}).encode()
