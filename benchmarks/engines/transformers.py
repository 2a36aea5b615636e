"""transformers: apply_chat_template, with and without the option that sanitizes control tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.engines.protocol import Engine, NoSuchCallError, serve


class Transformers(Engine):
    """It renders a template to one text, and encodes that; masks need `{% generation %}` in the template."""

    packages = ("transformers", "tokenizers", "jinja2")
    reads = (".json", ".txt")
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

    def load(self, path: str) -> Any:
        """Return the tokenizer of a vocabulary file by the class that its model has."""
        file = Path(path)
        if file.name.endswith("-vocab.txt"):
            return self.library.BertTokenizer(path, do_lower_case="-cased" not in file.name)
        names = {"gpt2": "GPT2", "roberta": "Roberta", "clip": "CLIP", "openai-gpt": "OpenAIGPT"}
        if file.name != "vocab.json" or file.parent.name not in names:
            raise NoSuchCallError("is asked for vocabulary files only")
        merges = next(one for name in ("merges.txt", "vocab.bpe") if (one := file.with_name(name)).exists())
        return getattr(self.library, f"{names[file.parent.name]}Tokenizer")(path, str(merges))

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        import numpy as np

        return np.array(tokenizer.encode(data.decode(), add_special_tokens=False), np.uint32)

    def _loaded(self, job: dict[str, Any]) -> Any:
        if not hasattr(self, "_tok"):
            roles = {f"{role}_token": token for role, token in job["roles"].items()}
            self._tok = self.library.PreTrainedTokenizerFast(tokenizer_file=job["tokenizer"], **roles)
        return self._tok


if __name__ == "__main__":
    serve("transformers", Transformers)
