"""transformers: apply_chat_template, with and without the option that sanitizes control tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.engines.protocol import Engine, serve


class Transformers(Engine):
    """It renders a template to one text, and encodes that; masks need `{% generation %}` in the template."""

    packages = ("transformers", "tokenizers", "jinja2")
    sanitized = False

    def chat(self, job: dict[str, Any], template: str) -> dict[str, Callable[..., Any]]:
        tok = self._loaded(job)
        more = {"sanitize_control_tokens": True} if self.sanitized else {}
        shared: dict[str, Any] = {"chat_template": template, "return_dict": False}

        def mask(messages: Any) -> tuple[Any, Any]:
            found = tok.apply_chat_template(
                messages, chat_template=template, return_dict=True, return_assistant_tokens_mask=True, **more
            )
            return found["input_ids"], found["assistant_masks"]

        found = {
            "ids": lambda messages, options: tok.apply_chat_template(messages, **shared, **options, **more),
            "mask": mask,
            "decode": tok.decode,
        }
        if not self.sanitized:  # the option does not apply to text
            found["text"] = lambda messages, options: tok.apply_chat_template(
                messages, tokenize=False, **shared, **options
            )
        return found

    def _loaded(self, job: dict[str, Any]) -> Any:
        if not hasattr(self, "_tok"):
            roles = {f"{role}_token": token for role, token in job["roles"].items()}
            self._tok = self.library.PreTrainedTokenizerFast(tokenizer_file=job["tokenizer"], **roles)
        return self._tok


if __name__ == "__main__":
    serve("transformers", Transformers)
