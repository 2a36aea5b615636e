"""subwords, through its public functions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from benchmarks.engines.growing import Again
from benchmarks.engines.protocol import Engine, model_arrays, serve


class Subwords(Engine):
    """Its import is lazy: NumPy, Numba and the kernels are loaded, and counted, in the first call that needs them."""

    packages = ("subwords", "numpy", "numba")
    reads = (".json", ".model", ".tiktoken")
    documents = ("file", "line")
    shares_versions = True

    def prepare(self) -> None:
        self.library.warmup()

    def load(self, path: str) -> Any:
        return self.library.load(path)

    def load_ranks(self, path: str) -> Any:
        return self.library.load(path)

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        # By default a large text may be cut into parts for all processors.
        options = {"threads": 1} if "threads" in _arguments(tokenizer.encode_to_numpy) else {}
        return tokenizer.encode_to_numpy(data, **options)

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Callable[..., Any]]:
        shared = {"threads": threads} if "threads" in _arguments(tokenizer.encode_to_numpy) else {}
        found = {
            "encode": tokenizer.encode,
            "text": lambda data: tokenizer.encode_to_numpy(data, **shared),
            "spans": lambda text: _spans(tokenizer(text)),
            "spans_batch": lambda texts: [*map(_spans, tokenizer(texts))],
            "arrays": lambda texts: tokenizer.encode_batch(texts, threads=threads),
            "lists": lambda texts: tokenizer.encode_batch(texts, threads=threads).to_lists(),
            "decode": tokenizer.decode,
            "decode_array": tokenizer.decode,
            "decode_batch": tokenizer.decode_batch,
        }
        shape = cache(tokenizer.as_hf)
        found |= {
            "array": tokenizer.encode_to_numpy,
            "array_one": lambda text: tokenizer.encode_to_numpy(text, threads=1),
            "tok": lambda text: tokenizer(text).ids,
            "template": lambda text: tokenizer.encode(text, template=True),
            "allow": lambda text: tokenizer.encode(text, special="allow"),
            "allow_array": lambda text: tokenizer.encode_to_numpy(text, special="allow", **shared),
            "allow_text": lambda data: tokenizer.encode_to_numpy(data, special="allow", **shared),
            "hf": lambda text: shape().encode(text).ids,
            "cut": lambda text: tokenizer(text, truncation=128).ids,
            "tokens": lambda text: list(tokenizer(text, template=False).tokens),
            "padded": lambda texts: tokenizer(texts, padding=True, truncation=256, threads=threads).to_numpy(),
        }
        if hasattr(tokenizer, "count_tokens"):
            found["count"] = tokenizer.count_tokens
        return found

    def grower(self, tokenizer: Any) -> Again:
        return Growing(self.library, tokenizer)

    def chat(self, job: dict[str, Any], template: str) -> dict[str, Callable[..., Any]]:
        tok = self._chatting(job)

        def made(messages: Any, options: dict[str, Any]) -> Any:
            given = {key: value for key, value in options.items() if key != "add_generation_prompt"}
            return tok.chat(messages, template=template, prompt=options.get("add_generation_prompt", False), **given)

        def mask(messages: Any) -> tuple[Any, Any]:
            chat = made(messages, {})
            return chat.ids.tolist(), chat.mask().tolist()

        return {
            "ids": lambda messages, options: made(messages, options).ids.tolist(),
            "text": lambda messages, options: made(messages, options).text,
            "mask": mask,
            "decode": tok.decode,
            "history": lambda messages: _encoded(made(messages, {"add_generation_prompt": True})),
            "append": lambda chat, ids, said, then: chat.answered(ids, said).add(then).ids.tolist(),
        }

    def _chatting(self, job: dict[str, Any]) -> Any:
        if not hasattr(self, "_tok"):
            tok = self.library.load(job["tokenizer"])
            self._tok = tok.with_(roles=job["roles"])
        return self._tok

    def plain(self, call: str, found: Any) -> Any:
        if call == "arrays":
            return found.to_lists()
        if call == "padded":
            return model_arrays(found)
        if call == "spans":
            return found[0], found[1][:, 0]
        return [(ids, spans[:, 0]) for ids, spans in found] if call == "spans_batch" else found

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode(text)  # type: ignore[no-any-return]

    def splitter(self, rule: dict[str, Any]) -> Any:
        return self.library.splitter(rule.get("name") or rule["patterns"])

    def count_words(self, splitter: Any, data: bytes) -> int:
        return sum(int(upto[-1]) for _, _, _, upto, _ in _chunks(splitter, data))

    def word_ends(self, splitter: Any, data: bytes) -> Any:
        import numpy as np

        found = [base + ends[: int(upto[-1])].astype(np.int64) for _, base, ends, upto, _ in _chunks(splitter, data)]
        return np.concatenate(found)

    def train(
        self,
        file: str,
        output: str,
        *,
        vocab_size: int,
        special_tokens: list[str],
        threads: int,
        documents: str = "file",
    ) -> None:
        reading = {} if documents == "file" else {"reading": self.library.Reading(documents=documents)}
        tokenizer = self.library.train(
            file,
            splitter="gpt2",  # the rule of the other libraries in this comparison
            vocab_size=vocab_size,
            special_tokens=special_tokens,
            threads=threads,
            progress=False,
            **reading,
        )
        tokenizer.save(output)

    def train_unigram(
        self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int
    ) -> None:
        tokenizer = self.library.train(
            file,
            algorithm="unigram",
            vocab_size=vocab_size,
            special_tokens=special_tokens,
            reading=self.library.Reading(documents="line"),
            threads=threads,
            progress=False,
        )
        tokenizer.save(output)

    def train_wordpiece(
        self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int, score: str
    ) -> None:
        tokenizer = self.library.train(
            file,
            algorithm="wordpiece",
            vocab_size=vocab_size,
            special_tokens=special_tokens,
            score=score,
            threads=threads,
            progress=False,
        )
        tokenizer.save(output)


class Growing(Again):
    """Versions, PromptCache and encode_stream."""

    is_whole = False

    def __init__(self, library: Any, tokenizer: Any) -> None:
        super().__init__(tokenizer.encode_to_numpy)
        self.library, self.tokenizer = library, tokenizer

    def begin(self, text: str) -> Any:
        version = self.tokenizer.growing(text)
        version.added  # noqa: B018  # the ids are asked for
        return version

    def append(self, version: Any, part: str) -> Any:
        version = version.append(part)
        version.added  # noqa: B018
        return version

    def ids(self, version: Any) -> Any:
        return version.ids

    def cache(self) -> Callable[[str], Any]:
        return self.library.PromptCache(self.tokenizer).encode_to_numpy  # type: ignore[no-any-return]

    def stream(self) -> tuple[Callable[[str], Any], Callable[[], Any]]:
        stream = self.tokenizer.encode_stream()
        return stream.feed, stream.finish


def _arguments(function: Any) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)  # `inspect` would have to be imported, and timed
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()


def _encoded(chat: Any) -> Any:
    """A chat whose ids, owners and turns are known, as those of a chat that a server has answered."""
    with suppress(ValueError):  # a reply that the template leaves out has no mask
        chat.mask()
    return chat if len(chat.owners) == len(chat.ids) and chat.turns else None


def _spans(encoding: Any) -> tuple[Any, Any]:
    return encoding.ids, encoding.spans


def _chunks(splitter: Any, data: bytes) -> Any:
    """The words of a text as encoding and counting get them: ends in an array, chunk after chunk."""
    import numpy as np

    from subwords.split.routes import SplitBuffers
    from subwords.split.splitter import SplitterEngine

    engine = SplitterEngine.of(splitter)
    return engine.texts(np.frombuffer(data, np.uint8), np.array([0, len(data)], np.int64), SplitBuffers())


if __name__ == "__main__":
    serve("subwords", Subwords)
