"""Training by every score and tie rule, and the longest match, with prefixes that words contain."""

from __future__ import annotations

import itertools
import warnings

import subwords
from parts import part_of
from subwords.reference import wordpiece as reference

warnings.filterwarnings("ignore", "fewer tokens than asked for")
warnings.filterwarnings("ignore", "words of more than 100 characters")

texts = ["hug hugs hugging, unhug ed! naïve café 文字 ##ug ab#cd abab ababab " * 3, "low lower lowest " + "a" * 120]
counts = subwords.count(texts, splitter="bert", special_tokens=["[UNK]"])
words = {word.decode(): count for word, count in counts}
usual = {"vocab_size": 75, "special_tokens": ["[UNK]"]}
cases = itertools.product(("##", "", "a"), ("likelihood", "course", "count"), ("ids", "first", "bytes"))
for prefix, score, tie_break in part_of([*cases]):
    options = {"score": score, "tie_break": tie_break, "prefix": prefix, **usual}
    tok = subwords.train(counts, algorithm="wordpiece", normalizer=None, **options)
    vocab = reference.train(words, **options)[0]
    assert [token.decode() for token in tok.model.vocab] == vocab, (prefix, score, tie_break)
    for text in (*texts, "hugs uncafé 字 zzz naïvely"):
        ref = reference.encode(text, vocab, prefix=prefix, special_tokens=["[UNK]"], max_chars=tok.model.max_chars)
        assert tok.encode(text) == ref, (prefix, score, text)
