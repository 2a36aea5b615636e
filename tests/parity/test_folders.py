"""Folders for transformers: what is written loads there with the same ids and roles, and what it writes loads here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import subwords
from inside import roles_by_name
from small_data import file_of
from subwords import FormatError, InputError, Tokenizer, Truncation

transformers = pytest.importorskip("transformers")

TEXT = "Rays of Light, and Colours: low lower lowest; naïve 語 1,234\n"


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


@pytest.mark.filterwarnings("ignore:decoding changes the spaces")
@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram"])
def test_spaces_before_punctuation_go_where_transformers_cleans_up(algorithm: str, tmp_path: Path) -> None:
    text = "we 're low , i 'm n't ! ' s . he 's , i 've ?"
    trained(algorithm).with_tokens(sorted(set(text.split())), special=False).save(f"{tmp_path}/")
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"clean_up_tokenization_spaces": True}))
    theirs, tok = loaded(tmp_path), subwords.load(tmp_path)
    ids = theirs(text, add_special_tokens=False).input_ids
    assert tok.decode(ids) == theirs.decode(ids)


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
    config = {"eos_token": {"content": "</s>", "lstrip": False}, "pad_token": None, "cls_token": "<|user|>"}
    tok = subwords.load(folder_of(tmp_path, config, {"pad_token": "<pad>", "eos_token": "<s>", "mask_token": "a"}))
    assert tok.roles == {"eos": 1, "pad": 0, "cls": 3, "mask": tok.vocab[b"a"]}
    only = {**config, "added_tokens_decoder": {"0": {"content": "<pad>", "special": True}}}
    assert subwords.load(folder_of(tmp_path, only)).roles == {"eos": 2, "cls": 3}


LISTED = {
    "content": "<new>",
    "special": True,
    "normalized": False,
    "lstrip": True,
    "rstrip": False,
    "single_word": False,
}


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        ({"pad_token": "[PAD]"}, None),
        ({"eos_token": "<e>", "bos_token": "<b>", "sep_token": "<x>", "unk_token": "<u>"}, {"pad_token": "<p>"}),
        ({"additional_special_tokens": ["<zz>", "<|user|>"]}, None),
        ({"extra_special_tokens": ["<zz>"]}, None),
        ({"extra_special_tokens": {"image_token": "<img>"}}, None),
        ({"added_tokens_decoder": {"280": LISTED}, "eos_token": "<new>"}, {"eos_token": "<s>"}),
        ({"added_tokens_decoder": {"281": LISTED, "280": {"content": "<zz>"}, "3": {"content": "<|user|>"}}}, None),
        ({"eos_token": "</s>"}, {"eos_token": "<s>", "pad_token": "<pad>"}),
    ],
)
def test_tokens_that_only_the_other_files_name(config: Any, tokens: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"tokenizer_class": "PreTrainedTokenizerFast", **config}, tokens)
    theirs, tok = loaded(folder), subwords.load(folder)
    assert len(theirs) == len(tok)
    text = f"low {'[PAD]'} <zz> <img> <new> <e><b> low<p><|user|>"
    assert tok.encode(text, special="allow") == theirs(text).input_ids
    for role in ("bos", "eos", "unk", "pad", "cls", "sep", "mask"):
        if theirs_id := getattr(theirs, f"{role}_token_id"):
            assert tok.roles[role] == theirs_id, role
    tok.save(f"{tmp_path}/again/")
    assert subwords.load(tmp_path / "again") == tok
    assert loaded(tmp_path / "again")(text).input_ids == theirs(text).input_ids


def test_a_folder_without_tokenizer_json(data: Path, tmp_path: Path) -> None:
    shutil.copy(file_of(data, "bert/bert-base-uncased-vocab.txt"), tmp_path / "vocab.txt")
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "[SEP]", "chat_template": "T"}')
    tok = subwords.load(tmp_path)
    assert (tok.roles, tok.spec.chat_template) == ({"eos": tok.vocab[b"[SEP]"]}, "T")


def test_templates_with_names_are_kept(tmp_path: Path) -> None:
    templates = [{"name": "default", "template": "A"}, {"name": "tool_use", "template": "B"}]
    tok = subwords.load(folder_of(tmp_path, {"chat_template": templates}))
    assert tok.spec.chat_template == "A"
    tok.save(f"{tmp_path}/b/")
    assert loaded(tmp_path / "b").chat_template == {"default": "A", "tool_use": "B"}
    tok.with_(chat_template="C").save(f"{tmp_path}/c/")
    assert loaded(tmp_path / "c").chat_template == "C"


def test_nothing_of_an_earlier_tokenizer_stays(tmp_path: Path) -> None:
    tok = trained("bpe")
    tok.with_(chat_template="OLD").save(tmp_path)
    (tmp_path / "added_tokens.json").write_text('{"<zz>": 280}')
    tok.save(tmp_path)
    assert subwords.load(tmp_path) == tok
    assert loaded(tmp_path).chat_template is None
    assert len(loaded(tmp_path)) == len(tok)
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "x.jinja").write_text("X")
    with pytest.raises(InputError, match=r"x\.jinja is a chat template of another tokenizer"):
        tok.save(tmp_path)


def test_a_save_that_cannot_succeed_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").mkdir()
    with pytest.raises(InputError, match="not a folder"):
        trained("bpe").save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]
    with pytest.raises(FormatError, match="is not a special token"):
        trained("bpe").with_(roles={"pad": "a"}).save(f"{tmp_path}/new/")
    assert not (tmp_path / "new").exists()


def test_the_longest_text_follows_the_truncation(tmp_path: Path) -> None:
    tok = trained("bpe").with_(truncation=Truncation(max_length=5))
    tok.save(tmp_path)
    subwords.load(tmp_path).with_(truncation=Truncation(max_length=9)).save(tmp_path)
    assert loaded(tmp_path).model_max_length == 9


def test_roles_of_a_sentencepiece_model(data: Path, tmp_path: Path) -> None:
    tok = subwords.load(file_of(data, "t5/spiece.model"))
    assert tok.roles == {"eos": 1, "unk": 2, "pad": 0}
    tok.save(tmp_path)
    assert loaded(tmp_path)(["a", "a b c d"], padding=True).input_ids[0][-1] == 0


def test_unknown_settings_survive(tmp_path: Path) -> None:
    config = {"model_max_length": 77, "x": {"y": [1]}, "tokenizer_class": "GPT2Tokenizer", "add_prefix_space": False}
    with pytest.warns(subwords.SubwordsWarning, match="add_prefix_space=false"):
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
        ('{"\\ud800": 1}', r"tokenizer_config\.json: .*keys without lone surrogates"),
        ({"added_tokens_decoder": {"7": LISTED}}, r"added_tokens_decoder\.7: expected the id 280, .* not 7"),
        ({"additional_special_tokens": 7}, r"additional_special_tokens"),
        (
            {"added_tokens_decoder": {"280": LISTED, "281": LISTED}},
            r"added_tokens_decoder\.281\.content: expected a non-empty token that is listed once",
        ),
        (
            {"added_tokens_decoder": {"280": {"content": ""}}},
            r"added_tokens_decoder\.280\.content: expected a non-empty token that is listed once",
        ),
        (
            {"added_tokens_decoder": {"280": {"content": "Ġ"}}},
            r"added_tokens_decoder: expected tokens that can be added, not these: 'Ġ' is how .* spells b' '",
        ),
    ],
)
def test_damaged_files_are_named(config: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        subwords.load(folder_of(tmp_path, config))


def test_a_warning_of_tokenizer_json_is_one_of_its_folder(tmp_path: Path) -> None:
    file = folder_of(tmp_path, {"eos_token": "</s>"}) / "tokenizer.json"
    file.write_text(file.read_text().replace('"vocab": {', '"vocab": {"<pad>": 0,', 1))
    for name in (file, tmp_path):
        with pytest.warns(subwords.SubwordsWarning, match="<pad>.* is there twice"):
            subwords.load(name)


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
    [
        {"begin": "[CLS]"},
        {"bos": "nope"},
        {"bos": 10**6},
        {"bos": -1},
        {"bos": "\ud800"},
        {"bos": b"<s>"},
        {"bos": 1.5},
        {"bos": True},
        (1, 2),
        (("bos",),),
        (("bos", 0), ("bos", 1)),
        ["bos"],
        {"bos": None},
    ],
)
def test_wrong_roles_are_refused(roles: Any) -> None:
    with pytest.raises(InputError, match="expected roles"):
        trained("wordpiece").with_(roles=roles)


def test_a_role_needs_a_special_token(tmp_path: Path) -> None:
    tok = trained("bpe").with_(roles={"pad": "a"})
    with pytest.raises(FormatError, match=r"the pad token, id \d+ \(\"a\"\), is not a special token"):
        tok.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_many_listed_tokens_take_no_time(tmp_path: Path) -> None:
    listed = {str(280 + i): {**LISTED, "content": f"<{i}>", "special": i % 2 == 0} for i in range(20_000)}
    tok = subwords.load(folder_of(tmp_path, {"added_tokens_decoder": listed}))
    assert (len(tok), tok.token_to_id("<19999>"), len(tok.special_tokens)) == (20_280, 20_279, 10_004)


def test_given_roles_that_the_names_tell_are_the_same_after_a_reload(tmp_path: Path) -> None:
    tok = trained("wordpiece").with_(roles={"pad": "[PAD]", "unk": 1, "cls": 2, "sep": 3, "mask": 4})
    assert tok == trained("wordpiece")
    tok.save(tmp_path)
    assert subwords.load(tmp_path) == tok


def test_a_large_id_is_refused_before_transformers_makes_a_list_up_to_it(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 2147483648, "ab": 2}')
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    (tmp_path / "config.json").write_text('{"model_type": "bart"}')
    with pytest.raises(
        FormatError, match=r'vocab.json: \["b"\]: expected an integer from 0 to 2097150, not 2147483648'
    ):
        subwords.load(tmp_path)
