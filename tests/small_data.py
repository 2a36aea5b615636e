"""A small copy of the development data: its folders and file names, with texts of our own and files that peers write.

`made_in(folder)` makes the folders `corpora` and `adversarial`. `file_of(folder, name)` gives a file of the folder
`tokenizers`; a peer trains it when it is first asked for.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import tiktoken_ext.openai_public as encodings
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

from peer_trained import lines, sentencepiece_model
from small_texts import language, write_texts
from subwords.machine import model_class, tokens_from_text

__all__ = ["SMALL_FILES", "file_of", "files_of", "is_small", "made_in"]

NAME = "small"  # of the folder

# ------------------------------------------------------------------ tokenizer.json

ALPHABET = pre_tokenizers.ByteLevel.alphabet()
END = "<|endoftext|>"


def text_of(tok: tokenizers.Tokenizer) -> bytes:
    return tok.to_str(pretty=True).encode()


def byte_level(
    pre_tokenizer: Any = None,
    *,
    first: tuple[str, ...] = (),
    last: tuple[str | AddedToken, ...] = (END,),
    plain: tuple[str, ...] = (),
    normalizer: Any = None,
    post_processor: Any = None,
    **options: Any,
) -> tokenizers.Tokenizer:
    """Special tokens before (`first`) and behind (`last`) the vocabulary, and added ones that are not special."""
    tok = tokenizers.Tokenizer(models.BPE(**options))
    tok.pre_tokenizer = pre_tokenizer or pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        initial_alphabet=ALPHABET,
        special_tokens=[*first],
        **{key: value for key, value in options.items() if key == "end_of_word_suffix"},
        show_progress=False,
    )
    if normalizer:
        tok.normalizer = normalizer
    tok.train_from_iterator([*lines(), *language("code", 40).split("\n")], trainer)
    tok.add_special_tokens([*last])
    tok.add_tokens([AddedToken(text, normalized=True) for text in plain])
    if post_processor:
        tok.post_processor = post_processor
    return tok


def split_first(pattern: str, behavior: str = "isolated", *, invert: bool = False, again: bool = False) -> Any:
    """again: ByteLevel splits by GPT-2's pattern what this one yields."""
    rest = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=again)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), behavior, invert), rest])


def contractions_and(numbers: str) -> str:
    """The pattern of Llama 3 and Qwen 2."""
    return (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
        + numbers
        + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


def gpt2() -> tokenizers.Tokenizer:
    return byte_level(post_processor=processors.ByteLevel(trim_offsets=False))


def roberta() -> bytes:
    around = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    mask = AddedToken("<mask>", lstrip=True, normalized=True, special=True)
    return text_of(byte_level(first=("<s>", "<pad>", "</s>", "<unk>"), last=(mask,), post_processor=around))


def gpt_neox() -> bytes:
    return text_of(
        byte_level(
            first=(END, "<|padding|>"),
            last=(),
            plain=tuple(" " * n for n in range(24, 1, -1)),
            normalizer=normalizers.NFC(),
            post_processor=processors.ByteLevel(add_prefix_space=False, trim_offsets=True),
        )
    )


def phi2() -> bytes:
    blanks = (*(" " * n for n in range(31, 1, -1)), *("\t" * n for n in range(9, 1, -1)))
    return text_of(byte_level(plain=blanks, post_processor=processors.ByteLevel(trim_offsets=False)))


def falcon() -> bytes:
    rule = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Punctuation("contiguous"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
            pre_tokenizers.Digits(individual_digits=False),
            pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated"),
        ]
    )
    return text_of(byte_level(rule, first=(">>TITLE<<", ">>PREFIX<<", END), last=()))


def without_last_merges(tok: tokenizers.Tokenizer) -> dict[str, Any]:
    """The document of a tokenizer with 250 tokens that only a whole word can be."""
    top: dict[str, Any] = json.loads(tok.to_str())
    del top["model"]["merges"][-250:]
    return top


def written(top: dict[str, Any]) -> bytes:
    return json.dumps(top, ensure_ascii=False, indent=2).encode()


def qwen3() -> bytes:
    last = (END, "<|im_start|>", "<|im_end|>", "<think>", "</think>")
    tok = byte_level(split_first(contractions_and(r"\p{N}")), last=last, ignore_merges=True)
    return written(without_last_merges(tok))


def cl100k() -> bytes:
    """With an id that no token has, before the special ones."""
    last = (END, "<|fim_prefix|>", "<|endofprompt|>")
    tok = byte_level(split_first(contractions_and(r"\p{N}{1,3}")), last=last, ignore_merges=True)
    top = without_last_merges(tok)
    for token in top["added_tokens"]:
        token["id"] += 1
    return written(top)


@cache  # HF's trainer with a suffix gives other ids every time
def clip() -> tokenizers.Tokenizer:
    words = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    spaces = normalizers.Replace(Regex(r"\s+"), " ")
    return byte_level(
        split_first(words, "removed", invert=True, again=True),
        last=("<|startoftext|>", END),
        normalizer=normalizers.Sequence([normalizers.NFC(), spaces, normalizers.Lowercase()]),
        end_of_word_suffix="</w>",
    )


@cache
def openai_gpt() -> tokenizers.Tokenizer:
    tok = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tok.normalizer, tok.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False
    )
    tok.train_from_iterator(lines(), trainer)
    return tok


def phi3(*, strips: bool) -> bytes:
    """Llama's: a normalizer instead of a pre-tokenizer, and tokens of all bytes."""
    tok = tokenizers.Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.train_from_iterator(lines(), trainers.BpeTrainer(vocab_size=700, show_progress=False))
    top = json.loads(tok.to_str())
    trained = sorted(top["model"]["vocab"], key=top["model"]["vocab"].__getitem__)
    runs = ["▁" * (1 << n) for n in range(1, 5)]
    vocab = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *trained, *runs]
    top["model"] |= {
        "vocab": {token: i for i, token in enumerate(vocab)},
        "merges": [*top["model"]["merges"], *([run[: len(run) // 2]] * 2 for run in runs)],
        "unk_token": "<unk>",
        "fuse_unk": True,
        "byte_fallback": True,
    }
    top["pre_tokenizer"] = None
    whole = tokenizers.Tokenizer.from_str(json.dumps(top))
    whole.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    whole.decoder = decoders.Sequence(steps)
    whole.post_processor = processors.TemplateProcessing(single="$A", pair="$A:0 $B:1")
    whole.add_special_tokens(["<unk>", "<s>"])
    whole.add_tokens([AddedToken("</s>", rstrip=strips, normalized=False, special=not strips)])
    whole.add_special_tokens([END, *(AddedToken(f"<|{who}|>", rstrip=strips) for who in ("assistant", "user"))])
    return text_of(whole)


@cache  # training again may give equal counts another order
def bert(kind: str) -> tokenizers.Tokenizer:
    folds = kind != "cased"
    made = tokenizers.BertWordPieceTokenizer(lowercase=folds, strip_accents=None if folds else False)
    documents = [*lines(), *language("zh" if kind == "chinese" else "fr", 60).split("\n")]
    made.train_from_iterator(documents, vocab_size=900, show_progress=False)
    tok = tokenizers.Tokenizer.from_str(made.to_str())
    ends = [(token, tok.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
    tok.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair=pair, special_tokens=ends)
    return tok


def bert_vocab(kind: str) -> bytes:
    vocab = bert(kind).get_vocab()
    tokens = sorted(vocab, key=vocab.__getitem__)
    if kind == "chinese":  # has a token that HF trims to nothing
        tokens.append("\u2028")
    return "".join(f"{token}\n" for token in tokens).encode()


def t5() -> bytes:
    tok = tokenizers.Tokenizer(models.Unigram())
    spec = model_class().FromString(sentencepiece_model("unigram")).normalizer_spec
    tok.normalizer = normalizers.Precompiled(spec.precompiled_charsmap)
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tok.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=700, special_tokens=special, unk_token="<unk>", max_piece_length=8, show_progress=False
    )
    tok.train_from_iterator([*lines(), "-- ---- ----- ... ======"] * 2, trainer)
    tok.add_special_tokens([f"<extra_id_{n}>" for n in (2, 1, 0)])
    tok.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return text_of(tok)


# ------------------------------------------------------------------ other files


def model_file(name: str, folder: Path) -> bytes:
    """vocab.json, or the merges, also under the name that GPT-2 gave them."""
    made = {"gpt2": gpt2, "clip": clip, "openai-gpt": openai_gpt}[folder.name]()
    written = {Path(path).name: Path(path).read_bytes() for path in made.model.save(str(folder))}
    (folder / "merges.txt").unlink()
    return written["merges.txt" if name == "vocab.bpe" else name]


def rank_file() -> bytes:
    vocab = json.loads(byte_level(last=()).to_str())["model"]["vocab"]
    tokens = tokens_from_text(sorted(vocab, key=vocab.__getitem__))
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))


def tiktoken_specs() -> bytes:
    """The patterns of the installed tiktoken, without the ranks that it would download."""
    names = ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")
    held = encodings.load_tiktoken_bpe
    encodings.load_tiktoken_bpe = lambda *_, **__: {}
    try:
        made = {name: getattr(encodings, name)() for name in names}
    finally:
        encodings.load_tiktoken_bpe = held
    found = {name: {"file": f"{name}.tiktoken", "pat_str": spec["pat_str"]} for name, spec in made.items()}
    return json.dumps(found).encode()


mistral = partial(
    sentencepiece_model,
    "bpe",
    "identity",
    byte_fallback=True,
    user_defined_symbols=(),
    remove_extra_whitespaces=False,
    allow_whitespace_only_pieces=True,
    split_digits=True,
)
unigram = partial(sentencepiece_model, "unigram", user_defined_symbols=())

MADE: dict[str, Callable[[], bytes]] = {
    **{f"bert/bert-base-{kind}-vocab.txt": partial(bert_vocab, kind) for kind in ("uncased", "cased", "chinese")},
    "bert/bert-base-uncased-tokenizer.json": lambda: text_of(bert("uncased")),
    "clip/tokenizer.json": lambda: text_of(clip()),
    "converted/cl100k_base.tokenizer.json": cl100k,
    "converted/qwen3.tokenizer.json": qwen3,
    "falcon/tokenizer.json": falcon,
    "gpt-neox/tokenizer.json": gpt_neox,
    "gpt2/tokenizer.json": lambda: text_of(gpt2()),
    "phi-2/tokenizer.json": phi2,
    "phi-3/phi-3-mini-tokenizer.json": partial(phi3, strips=True),
    "phi-3/tokenizer.json": partial(phi3, strips=False),
    "roberta/tokenizer.json": roberta,
    "t5/tokenizer.json": t5,
    "tiktoken/r50k_base.tiktoken": rank_file,
    "tiktoken/specs.json": tiktoken_specs,
    "t5/spiece.model": partial(unigram, pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
    "albert/spiece.model": partial(
        sentencepiece_model,
        "unigram",
        control_symbols=("[CLS]", "[SEP]", "[MASK]"),
        user_defined_symbols=("(", ")", '"', "-", "."),
    ),
    "marian-en-mg/source.spm": unigram,
    "marian-en-mg/target.spm": partial(unigram, "nmt_nfkc_cf", byte_fallback=True),
    "mistral/tokenizer.model.v1": mistral,
    "mistral/mistral_instruct_tokenizer_240323.model.v3": partial(
        mistral, control_symbols=("[INST]", "[/INST]"), user_defined_symbols=("▁▁", "▁▁▁▁")
    ),
    "sentencepiece-own/test_model.model": partial(unigram, "nfkc"),
    "sentencepiece-own/test_ja_model.model": partial(unigram, "nfkc", documents=language("ja", 400)),
}
SMALL_FILES = (*MADE, "clip/vocab.json", "gpt2/vocab.bpe")


def made_in(folder: Path) -> Path:
    """A small copy in a folder of its own; its tokenizer files are not there yet."""
    data = folder / NAME
    data.mkdir()
    write_texts(data)
    return data


def is_small(data: Path) -> bool:
    return data.name == NAME


def file_of(data: Path, name: str) -> Path:
    """A file of the folder `tokenizers`; the small one makes it when it is first asked for."""
    path = data / "tokenizers" / name
    if is_small(data) and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(MADE[name]() if name in MADE else model_file(path.name, path.parent))
    return path


def files_of(data: Path, ending: str) -> list[Path]:
    """All files of the folder `tokenizers` whose names have this ending."""
    if is_small(data):
        return [file_of(data, name) for name in SMALL_FILES if name.endswith(ending)]
    return sorted((data / "tokenizers").rglob(f"*{ending}"))
