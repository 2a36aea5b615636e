"""The one place through which tests reach what is not public: `from inside import merge_word`.

If a name moves to another module, its line here changes and no test does. It is imported when a test asks for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The names that tests use, by module.
NAMES = {
    "cli.options": "parameters_of",
    "adapt.pruning": "lowest removal_of token_counts",
    "adapt.words": "ids_of_words parts_of_tokens",
    "chat.limits": "one_budget",
    "chat.owned_text": "OwnedText Owner Record made owner_runs ranges",
    "chat.plain": "messages_of variables_of",
    "chat.template": "ChatTemplate",
    "corpus.blocks": "HEAD Specials cut_blocks sample_blocks",
    "corpus.files": "check_text container",
    "corpus.read": "kind_of_file read_corpus_file",
    "engine.added_tokens": "AddedTokens MOST_IN_REGEX Pass StringSearch TrieFinder",
    "engine.decode.stream": "DecodeStream",
    "engine.documents": "LEAST_BLOCK MOST_BLOCK TABLES threads_within",
    "engine.engine": "Engine plain_spaces",
    "engine.fast_path": "FastPath",
    "engine.spans": "SpanFinder",
    "engine.text_parts": "TextParts",
    "formats.hf.decoders": "from_decoder to_decoder",
    "formats.hf.normalizers": "to_normalizer",
    "formats.hf.post_processors": "from_post_processor to_post_processor",
    "formats.hf.pre_tokenizers": "BEHAVIORS unicode_scripts from_pre_tokenizer to_pre_tokenizer",
    "formats.json_node": "show_json",
    "formats.hf.unigram": "read_unigram_json",
    "formats.sentencepiece.read": "Kind",
    "interop.accelerate": "VLLMTokenizer register_with_vllm",
    "interop.engines": "ComparedEngine compare_with",
    "interop.verify": "PROBES",
    "kernels.arithmetic": "sum_words",
    "kernels.fastpath": "every_address_kernel",
    "kernels.jit": "Int KERNELS every_kernel",
    "kernels.modes": "MODE",
    "kernels.plan_layout": "CUT_TEXT FIELDS",
    "kernels.text.rows": "field_texts",
    "kernels.text.utf8": "first_invalid",
    "models.bpe.merges": "joining_pairs",
    "models.bpe.train": "initial_tokens",
    "models.families": "encoder_of",
    "models.unigram.model": "BYTE_PIECES parsed",
    "models.unigram.segmenter": "Paths",
    "models.unigram.train": "expected_counts find_seeds number_text unit_bits",
    "normalize.normalizer": "Pipeline stages_of",
    "normalize.sentencepiece": "GraphemeStage",
    "research": "Choice parity_merges",
    "sampling": "WordLattice",
    "scale.work": "shards_of",
    "spec.added_token": "roles_by_name",
    "spec.decoder": "ByteDecoder Fuse ReplaceTokens SentencePieceDecoder",
    "spec.normalizer": """
        Bert ByteLevel Form Lowercase Nmt Precompiled Prepend SentencePiece Steps StripAccents
        read_charsmap
    """,
    "spec.oniguruma": "from_oniguruma to_oniguruma",
    "spec.padding": "ModelInputs",
    "spec.splitter": "ALIASES DIGIT PATTERNS SIGN encoding_named escape space_rule",
    "spec.template": "bert template_of",
    "spec.tokenizer": "Foreign",
    "spec.unicode": """
        CATEGORIES GENERAL_CATEGORIES OTHER PROPERTIES SCRIPTS UNICODE_VERSION WHITE_SPACE case_folds
        categories first_names gpt2_classes
    """,
    "spec.vocab": "tokens_to_text",
    "split.pattern": "Chars INVALID Outside parse_pattern",
    "split.splitter": "route_of",
    "split.word_spans": "whole_text",
    "study.findings": "DIFF_RULES RULES",
    "study.explanation": "explain_word word_explainer",
    "study.conversations": "ChatProcess answer differences example",
    "study.page": """
        HEADERS MOST_BYTES MOST_CHARACTERS PageApi PageServer TokenizerFile audited disagreements evaluated
        page_files told_before
    """,
    "study.statistics": "Resampled entropy gini renyi_efficiency zipf",
    "study.verification": "learned_merges one_merge_each",
    "support.arrow": "kept_structures",
    "support.checks": "bytes_of",
    "support.files": "Remote atomic_write is_remote local_copy only_one place_of version_of",
    "support.render": "uses_color",
    "support.threads": "_Team ahead check_stopped in_threads streamed thread_count",
    "tokens.formats": "FORMATS format_named",
    "tokens.manifest": "Contents manifest_path write_manifest",
    "tokens.write": "shard_path with_ends write_shards",
    "training.mingram": "learned_pieces",
}
# Names that two modules have: steps of a normalizer and of a splitter, and private functions.
TWICE = {
    "json_node_Node": ("formats.json_node", "Node"),
    "layout_SPACE": ("kernels.layout", "SPACE"),
    "normalizer_NAMED": ("spec.normalizer", "NAMED"),
    "normalizer_Replace": ("spec.normalizer", "Replace"),
    "normalizer_Step": ("spec.normalizer", "Step"),
    "normalizer_Strip": ("spec.normalizer", "Strip"),
    "json_node_DEEPEST": ("formats.json_node", "DEEPEST"),
    "rows_DEEPEST": ("kernels.text.rows", "DEEPEST"),
    "splitter_NAMED": ("spec.splitter", "NAMED"),
    "splitter_Replace": ("spec.splitter", "Replace"),
    "splitter_SPACE": ("spec.splitter", "SPACE"),
    "splitter_Step": ("spec.splitter", "Step"),
}
# Modules that tests use as a whole, most of them to change a constant.
MODULES = {
    "adapt_extending": "adapt.extending",
    "corpus_count": "corpus.count",
    "corpus_word_table": "corpus.word_table",
    "engine_batch": "engine.batch",
    "engine_encoder": "engine.encoder",
    "formats_gguf_read": "formats.gguf.read",
    "formats_gguf_write": "formats.gguf.write",
    "formats_hf_by_kernel": "formats.hf.by_kernel",
    "formats_hf_classes": "formats.hf.classes",
    "formats_hf_folder": "formats.hf.folder",
    "formats_hf_settings": "formats.hf.settings",
    "formats_hf_tokenizer_json": "formats.hf.tokenizer_json",
    "formats_hf_vocab_merges": "formats.hf.vocab_merges",
    "formats_read": "formats.read",
    "formats_sentencepiece_read": "formats.sentencepiece.read",
    "formats_sentencepiece_write": "formats.sentencepiece.write",
    "formats_tiktoken": "formats.tiktoken",
    "formats_vocab_txt": "formats.vocab_txt",
    "kernels_compile": "kernels.compile",
    "corpus_progress": "corpus.progress",
    "kernels_entry": "kernels.entry",
    "kernels_objects": "kernels.objects",
    "kernels_fastpath_decode": "kernels.fastpath_decode",
    "engine_growing": "engine.growing",
    "cli_files": "cli.files",
    "engine_kept": "engine.kept",
    "prompts_module": "prompts",
    "kernels_layout": "kernels.layout",
    "kernels_machine_code": "kernels.machine_code",
    "kernels_modes": "kernels.modes",
    "kernels_stored": "kernels.stored",
    "models_bpe_model": "models.bpe.model",
    "models_bpe_segmenter": "models.bpe.segmenter",
    "models_families": "models.families",
    "models_learning": "models.learning",
    "models_segmenter": "models.segmenter",
    "models_wordpiece_train": "models.wordpiece.train",
    "normalize_characters": "normalize.characters",
    "normalize_resolve": "normalize.resolve",
    "normalize_stages": "normalize.stages",
    "split_fallback": "split.fallback",
    "split_finders": "split.finders",
    "split_routes": "split.routes",
    "study_page": "study.page",
    "support_memory": "support.memory",
    "training_count": "training.count",
    "training_train": "training.train",
}
HOMES = {name: module for module, names in NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"subwords.{MODULES[name]}")
    module, attribute = TWICE.get(name, (HOMES.get(name), name))
    if module is None:
        raise AttributeError(name)
    return getattr(import_module(f"subwords.{module}"), attribute)
