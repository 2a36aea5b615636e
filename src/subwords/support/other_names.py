"""Names that users know from other libraries, and what they are called here: only for the messages of errors."""

from __future__ import annotations

from typing import NoReturn

from subwords.errors import MissingName

__all__ = ["OF_MODULE", "OF_TOKENIZER", "OtherName", "hint"]

_ROLES = ("bos", "eos", "unk", "pad", "cls", "sep", "mask")

# Of a tokenizer: transformers, HF tokenizers, tiktoken, SentencePiece.
OF_TOKENIZER = {
    **{f"{role}_token_id": f'tok.roles.get("{role}")' for role in _ROLES},
    **{f"{role}_token": f'tok.id_to_token(tok.roles["{role}"])' for role in _ROLES},
    **{f"{role}_id": f'tok.roles.get("{role}")' for role in ("bos", "eos", "unk", "pad")},
    **dict.fromkeys(("from_file", "from_pretrained", "from_str", "from_buffer"), "subwords.load(path)"),
    **dict.fromkeys(("train", "train_from_iterator", "train_new_from_iterator"), "subwords.train(texts, ...)"),
    **dict.fromkeys(("encode_ordinary", "EncodeAsIds", "encode_as_ids"), "tok.encode(text)"),
    **dict.fromkeys(("encode_ordinary_batch", "encode_batch_fast"), "tok.encode_batch(texts)"),
    **dict.fromkeys(("encode_plus", "batch_encode_plus"), "tok(text) or tok(texts)"),
    **dict.fromkeys(("EncodeAsPieces", "encode_as_pieces"), "tok.tokenize(text)"),
    **dict.fromkeys(("DecodeIds", "decode_ids", "convert_tokens_to_string"), "tok.decode(ids)"),
    **dict.fromkeys(("decode_single_token_bytes", "id_to_bytes"), "tok.token_bytes(id)"),
    **dict.fromkeys(
        ("encode_single_token", "convert_tokens_to_ids", "piece_to_id", "PieceToId"), "tok.token_to_id(token)"
    ),
    **dict.fromkeys(("convert_ids_to_tokens", "IdToPiece", "id_to_piece"), "tok.id_to_token(id)"),
    **dict.fromkeys(("get_vocab_size", "GetPieceSize", "get_piece_size"), "tok.vocab_size"),
    **dict.fromkeys(("add_special_tokens", "add_tokens"), "tok.with_tokens(tokens)"),
    **dict.fromkeys(("all_special_tokens", "special_tokens_set", "special_tokens_map"), "tok.special_tokens"),
    "all_special_ids": "tok.special_tokens.values()",
    "apply_chat_template": "tok.to_transformers().apply_chat_template(messages)",
    "batch_decode": "tok.decode_batch(lists)",
    "decode_with_offsets": "tok.decode_with_spans(ids)",
    "eot_token": 'tok.special_tokens["<|endoftext|>"]',
    "enable_padding": "tok(texts, padding=True) or tok.with_(padding=...)",
    "enable_truncation": "tok(text, truncation=512) or tok.with_(truncation=...)",
    "n_vocab": "tok.vocab_size",
    "max_token_value": "tok.vocab_size - 1",
    "post_processor": "tok.template",
    "pre_tokenizer": "tok.splitter",
    "push_to_hub": "tok.save(folder), and the huggingface_hub package",
    "save_pretrained": 'tok.save("folder/")',
    "to_str": "tok.save(path)",
}

OF_MODULE = {
    **dict.fromkeys(("get_encoding", "encoding_for_model"), 'subwords.load("gpt-4o")'),
    **dict.fromkeys(("AutoTokenizer", "SentencePieceProcessor", "from_pretrained", "from_file"), "subwords.load(path)"),
    **dict.fromkeys(("SentencePieceTrainer", "trainers", "models"), "subwords.train(texts, algorithm=...)"),
    **dict.fromkeys(("pre_tokenizers", "PreTokenizer"), "subwords.splitter(name)"),
    "normalizers": "subwords.normalizer(name)",
    "merge": "subwords.merge_tokenizers(first, second)",
}


def hint(owner: str, name: str, ours: str) -> MissingName:
    """Return the error for a name of another library."""
    return MissingName(f"{owner} has no {name!r}, which is another library's name: use {ours}")


class OtherName:
    """An attribute that is not there: reading it raises an AttributeError with our name for it, so `hasattr` is False.

    Unlike `__getattr__` on the class, it leaves every other attribute as fast as it was.
    """

    def __init__(self, name: str, ours: str) -> None:
        self.name, self.ours = name, ours

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        raise hint("Tokenizer", self.name, self.ours)
