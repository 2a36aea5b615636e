"""mistral-common: conversations of Mistral's models, without templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.engines.protocol import Engine, RefusedError, serve


class MistralCommon(Engine):
    """It validates requests in OpenAI's shape, and reads its own tokenizer files."""

    packages = ("mistral-common", "sentencepiece")

    def chat(self, job: dict[str, Any], template: str) -> dict[str, Callable[..., Any]]:
        if "native" not in job:
            raise RefusedError("renders no templates")
        from mistral_common.protocol.instruct.request import ChatCompletionRequest
        from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

        tok = MistralTokenizer.from_file(job["native"])

        def ids(messages: Any, options: dict[str, Any]) -> Any:
            given = {"tools": options["tools"]} if options.get("tools") else {}
            if messages[-1]["role"] == "assistant":
                raise RefusedError("a conversation ends with the user, or goes on with a prefix")
            return tok.encode_chat_completion(ChatCompletionRequest.from_openai(messages=messages, **given)).tokens

        return {"ids": ids, "decode": tok.decode}


if __name__ == "__main__":
    serve("mistral_common", MistralCommon)
