"""Folders for transformers: what is written loads there with the same ids and roles, and what it writes loads here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import subwords
from small_data import file_of
from subwords.components.roles import roles_by_name
from subwords.errors import FormatError, InputError
from subwords.tokenizer import Tokenizer

transformers = pytest.importorskip("transformers")

TEXT = "Rays of Light, and Colours: low lower lowest; naïve 語 1,234\n"
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def trained(algorithm: str) -> Tokenizer:
    options: dict[str, Any] = {
        "bpe": {"vocab_size": 280, "special_tokens": ["<pad>", "<s>", "</s>", "<|user|>"]},
        "wordpiece": {"vocab_size": 80},
        "unigram": {"vocab_size": 60},
    }[algorithm]
    return subwords.train([TEXT] * 9, algorithm=algorithm, **options)  # type: ignore[call-overload, no-any-return]


def loaded(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(str(folder))


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram"])
def test_transformers_has_the_ids_the_roles_and_pads(algorithm: str, tmp_path: Path) -> None:
    tok = trained(algorithm)
    tok.save(f"{tmp_path}/out/")
    theirs = loaded(tmp_path / "out")
    for role in ("bos", "eos", "unk", "pad", "cls", "sep", "mask"):
        assert getattr(theirs, f"{role}_token_id") == tok.roles.get(role), role
    assert theirs(TEXT).input_ids == tok.encode(TEXT, template=True)
    if "pad" in tok.roles:
        padded = theirs([TEXT, "low"], padding=True).input_ids
        assert len(padded[1]) == len(padded[0])
        assert padded[1][-1] == tok.roles["pad"]
    assert subwords.load(tmp_path / "out") == subwords.load(tmp_path / "out" / "tokenizer.json")
    assert theirs.decode(theirs(TEXT).input_ids, skip_special_tokens=True) == tok.decode(
        tok.encode(TEXT), skip_special_tokens=True
    )


def test_what_transformers_saves_again_loads_here(tmp_path: Path) -> None:
    tok = trained("bpe").with_(roles={"eos": "<|user|>", "pad": "<pad>"}, chat_template="{{ messages }}")
    tok.save(f"{tmp_path}/a/")
    loaded(tmp_path / "a").save_pretrained(str(tmp_path / "b"))
    again = subwords.load(tmp_path / "b")
    assert again.roles == {"eos": tok.special_tokens["<|user|>"], "pad": 0}
    assert again.spec.chat_template == "{{ messages }}"
    assert again.encode(TEXT) == tok.encode(TEXT)


@pytest.mark.parametrize(
    "name", ["gpt2/tokenizer.json", "bert/bert-base-uncased-tokenizer.json", "roberta/tokenizer.json"]
)
def test_real_files(name: str, data: Path, tmp_path: Path) -> None:
    shutil.copy(file_of(data, name), tmp_path / "tokenizer.json")
    tok = subwords.load(tmp_path)
    tok.save(tmp_path)
    theirs = loaded(tmp_path)
    assert theirs(TEXT).input_ids == tok.encode(TEXT, template=True, special="allow")
    assert subwords.load(tmp_path) == tok
    for role, index in tok.roles.items():
        assert getattr(theirs, f"{role}_token_id") == index


def test_a_chat_template_is_kept_as_it_is(tmp_path: Path) -> None:
    template = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}\n{% endfor %}"
    tok = trained("bpe").with_(chat_template=template)
    tok.save(f"{tmp_path}/a/")
    (tmp_path / "a" / "chat_template.jinja").unlink()  # older readers have it in tokenizer_config.json
    assert subwords.load(tmp_path / "a") == tok

    pytest.importorskip("jinja2", reason="runs chat templates in transformers")
    messages = [{"role": "user", "content": "low"}]
    assert loaded(tmp_path / "a").apply_chat_template(messages, tokenize=False) == "<|user|>low\n"


# ------------------------------------------------------------------ what a folder says


def folder_of(tmp_path: Path, config: object = None, tokens: object = None) -> Path:
    trained("bpe").save(tmp_path / "tokenizer.json")
    for name, value in (("tokenizer_config.json", config), ("special_tokens_map.json", tokens)):
        if value is not None:
            (tmp_path / name).write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return tmp_path


def test_every_way_to_name_a_token(tmp_path: Path) -> None:
    config = {"eos_token": {"content": "</s>", "lstrip": False}, "pad_token": None, "bos_token": "gone"}
    tok = subwords.load(folder_of(tmp_path, config, {"pad_token": "<pad>", "eos_token": "<s>", "mask_token": "a"}))
    assert tok.roles == {"eos": 2, "pad": 0, "mask": tok.vocab[b"a"]}


def test_unknown_settings_survive(tmp_path: Path) -> None:
    config = {"model_max_length": 77, "x": {"y": [1]}, "tokenizer_class": "GPT2Tokenizer", "add_prefix_space": False}
    tok = subwords.load(folder_of(tmp_path, config))
    tok.save(f"{tmp_path}/b/")
    written = json.loads((tmp_path / "b" / "tokenizer_config.json").read_text("utf-8"))
    assert written["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert (written["model_max_length"], written["x"], written["add_prefix_space"]) == (77, {"y": [1]}, False)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", r"tokenizer_config\.json: expected JSON"),
        ("[]", r"tokenizer_config\.json: .*expected an object"),
        ({"eos_token": 7}, r"tokenizer_config\.json: eos_token: expected a token"),
        ({"eos_token": {"content": 7}}, r"tokenizer_config\.json: eos_token: expected a token"),
        ({"eos_token": [1]}, r"tokenizer_config\.json: eos_token: expected a token"),
        ({"chat_template": 7}, r"tokenizer_config\.json: chat_template: expected a template"),
        ({"chat_template": [7]}, r"tokenizer_config\.json: chat_template\[0\]"),
    ],
)
def test_damaged_files_are_named(config: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        subwords.load(folder_of(tmp_path, config))


def test_a_template_that_is_not_utf8(tmp_path: Path) -> None:
    (folder_of(tmp_path) / "chat_template.jinja").write_bytes(b"a\xff")
    with pytest.raises(FormatError, match=r"chat_template\.jinja: expected UTF-8; byte 1"):
        subwords.load(tmp_path)


# ------------------------------------------------------------------ roles


def test_roles_by_name_and_given() -> None:
    tok = trained("wordpiece")
    assert tok.roles == {"unk": 1, "pad": 0, "cls": 2, "sep": 3, "mask": 4}
    assert tok.spec.roles == ()
    given = tok.with_(roles={"pad": "[MASK]", "bos": 2})
    assert given.roles == {"bos": 2, "pad": 4}
    assert given != tok
    assert given.with_(roles={}) == tok
    assert roles_by_name(()) == ()


@pytest.mark.parametrize(
    "roles",
    [{"begin": "[CLS]"}, {"bos": "nope"}, {"bos": 10**6}, {"bos": -1}, {"bos": "\ud800"}, ["bos"], {"bos": None}],
)
def test_wrong_roles_are_refused(roles: Any) -> None:
    with pytest.raises(InputError, match="expected roles"):
        trained("wordpiece").with_(roles=roles)


def test_a_role_needs_a_special_token(tmp_path: Path) -> None:
    tok = trained("bpe").with_(roles={"pad": "a"})
    with pytest.raises(FormatError, match=r"the pad token, id \d+ \(\"a\"\), is not a special token"):
        tok.save(tmp_path)
    assert list(tmp_path.iterdir()) == []
