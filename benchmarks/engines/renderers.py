"""renderers: a renderer in Python for each family of models instead of a template; here that of Qwen3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.engines.protocol import Engine, RefusedError, serve


class Renderers(Engine):
    """It has no text and no templates; with thinking of all turns kept, a next turn can follow an answer's ids."""

    packages = ("renderers", "transformers", "tokenizers")

    def chat(self, job: dict[str, Any], template: str) -> dict[str, Callable[..., Any]]:
        if job.get("family") != "qwen3":
            raise RefusedError("renders no templates")
        from renderers.configs import Qwen3RendererConfig
        from renderers.qwen3 import Qwen3Renderer
        from transformers import PreTrainedTokenizerFast

        roles = {f"{role}_token": token for role, token in job["roles"].items()}
        tok = PreTrainedTokenizerFast(tokenizer_file=job["tokenizer"], **roles)
        renderer = Qwen3Renderer(tok, Qwen3RendererConfig())
        kept = Qwen3Renderer(tok, Qwen3RendererConfig(thinking_retention="all"))

        def mask(messages: Any) -> tuple[Any, Any]:
            found = renderer.render(messages)
            return found.token_ids, found.sampled_mask

        def append(before: list[int], ids: list[int], said: Any, then: Any) -> Any:
            return kept.bridge_to_next_turn(before, ids, [then]).token_ids

        return {
            "ids": lambda messages, options: renderer.render_ids(messages, **options),
            "mask": mask,
            "decode": tok.decode,
            "history": lambda messages: renderer.render_ids(messages, add_generation_prompt=True),
            "append": append,
        }


if __name__ == "__main__":
    serve("renderers", Renderers)
