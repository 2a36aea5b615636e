"""Texts of our own for the small copy of the development data: of many languages, and such as break tokenizers."""

from __future__ import annotations

import random
from pathlib import Path

from peer_trained import lines
from strategies import FRAGMENTS, INVALID

__all__ = ["language", "write_texts"]

# Clauses that follow each other in any order; languages without spaces have none between them.
CLAUSES = {
    language: clauses.split(" | ")
    for language, clauses in {
        "ar": "ضوء الشمس أبيض | والماء يكسر الشعاع | رأينا سبعة ألوان | في عام ١٧٠٤ | ثم جاء المطر، | أين الكتابُ؟",
        "de": (
            "Das Licht fällt schräg ein | größere Gläser brächen es früher, | über Nacht | weiß man 7 Töne | »schön«"
        ),
        "es": "La luz blanca se divide | ¿dónde está el prisma? | el niño miró así | ¡qué rápido! | en 3,5 días | ya",
        "fr": (
            "L'été, la lumière s'étale | où l'on voit sept couleurs | c'est déjà là | « voilà » | un œil, 2 verres | ça"
        ),
        "hi": "सफ़ेद किरण टूटती है | पानी में सात रंग | हमने देखा कि | १२ बजे | क्या यह सच है? | ज्ञान की पुस्तक | फिर बारिश हुई।",
        "ja": (
            "白い光は | ガラスの中で曲がり、 | 七つの色に分かれる。 | 雨のあとに | 虹が見えた。 | "
            "本を読みながら | カメラで３回とった | それは本当か？ | レンズを磨いて | "
            "机の上に置く。 | 一七〇四年の | 「実験」では"
        ),
        "ko": "하얀 빛이 | 유리 안에서 꺾인다. | 일곱 가지 색을 보았다 | 비가 온 뒤에 | 책을 3권 읽고 | 정말입니까?",
        "my": "အလင်းသည် | ဖန်ထဲတွင် | ခုနစ်ရောင် | မိုးရွာပြီးနောက် | စာအုပ် ၃ အုပ် | မြင်ရသည်။",
        "ru": (
            "Белый луч | преломляется в стекле, | ещё раньше | объём воды | мы видели 7 цветов. | «Что это?» | "
            "Потом дождь"
        ),
        "th": "แสงสีขาว | หักเหในแก้ว | เห็นเจ็ดสี | หลังฝนตก | อ่านหนังสือ ๓ เล่ม | จริงหรือ | น้ำใสมาก",
        "tr": (
            "Beyaz ışık kırılır, | İğne gibi ince | yağmurdan sonra | yedi rengi gördük | çünkü 3 gün önce | "
            "öğle güneşi"
        ),
        "vi": (
            "Ánh sáng trắng | bị bẻ cong trong kính, | người ta thấy bảy màu | sau cơn mưa | "
            "đọc 3 quyển sách | Có thật không?"
        ),
        "zh": (
            "白光穿过玻璃， | 分成七种颜色。 | 雨后出现彩虹， | 我们读了３本书， | 这是真的吗？ | "
            "桌上有一面镜子。 | 一七〇四年"
        ),
        "code": (
            "def area(self, width: float = 1.5) -> float: |     return width * self._height  # in mm | "
            "\tif (a[i]!=b){x++;} |     for row_index, row in enumerate(rows): | "
            'SELECT "name" FROM colours WHERE id >= 42; | } |  | <p>&amp;</p>'
        ),
    }.items()
}
JOINED = ("ja", "my", "th", "zh")
RUNS = {
    "spaces": " ",
    "newlines": "\n",
    "tabs": "\t",
    "crlf": "\r\n",
    "nbsp": "\xa0",
    "wide_spaces": "\u3000",
    "letter": "a",
    "ab": "ab",
    "aab": "aab",
    "digits": "1234567890",
    "zeros": "0",
    "equals": "=",
    "dots": ".",
    "apostrophes": "'",
    "contractions": "'s'LL",
    "nul": "\x00",
    "cjk": "中",
    "hangul": "한글",
    "marks": "\u0301",
    "emoji": "😀",
    "family": "\U0001f469\u200d\U0001f467",
    "flags": "🇪🇺",
    "jamo": "\u1100\u1161\u11a8",
    "meta": "▁",
    "zero_width": "\u200b",
}


def language(name: str, count: int) -> str:
    """`count` lines of two to five clauses."""
    rng = random.Random(name)
    between = "\n" if name == "code" else "" if name in JOINED else " "
    return "".join(between.join(rng.choices(CLAUSES[name], k=rng.randint(2, 5))) + "\n" for _ in range(count))


def adversarial() -> dict[str, bytes]:
    rng = random.Random(17)
    scalars = [code for code in range(1, 0x110000, 997) if not 0xD800 <= code < 0xE000]
    texts = {f"{name}_run": (part * 4000)[:4000] for name, part in RUNS.items()}
    texts |= {
        "code_points": "".join(map(chr, [*range(0x500), *scalars, *rng.sample(scalars, len(scalars))])),
        "fragments": "".join(rng.choices(FRAGMENTS, k=900)),
        "special_tokens": "<s>a</s> <unk><pad> [CLS] x [SEP][MASK] <|endoftext|>b <0x41> <mask> ",
        "long_word": "".join(rng.choices("etaoinshrdlu", k=4000)),
        "distinct_words": "".join(f" {n:x}" for n in range(900)),
        "spaces_then_word": " " * 900 + "a\n" + "\n " * 300,
        "mixed_case": "camelCaseHTTPServer2x DON'T i'Ve ǅ ΑΣ İi ß ﬁ ½ Å " * 9,
        "byte_order_marks": "\ufeffa\ufeff \ufeff\n",
        "no_final_newline": "ends with a letter",
        "one_byte": "a",
        "one_newline": "\n",
        "empty": "",
    }
    found = {f"{name}.txt": text.encode() for name, text in texts.items()}
    found["invalid_random.bin"] = rng.randbytes(3000)
    found["invalid_mixed.bin"] = b"".join(b"a " + rng.choice(INVALID) + "é中\n".encode() for _ in range(300))
    found["invalid_run.bin"] = b"\xff\xc3" * 900
    found["invalid_latin1.bin"] = language("fr", 30).replace("œ", "").encode("latin-1")
    found["invalid_truncated.bin"] = "中😀é".encode()[:-1] * 300
    found["invalid_surrogates.bin"] = b"\xed\xa0\x80a\xed\xbf\xbf\xf4\x90\x80\x80" * 300
    return found


def write_texts(folder: Path) -> None:
    corpora = {name: language(name, 150) for name in CLAUSES}
    corpora["english"] = "\n".join(lines())
    corpora["multilingual"] = "".join(language(name, 20) for name in CLAUSES)
    (folder / "corpora").mkdir()
    (folder / "adversarial").mkdir()
    for name, text in corpora.items():
        (folder / "corpora" / f"{name}.txt").write_bytes(text.encode())
    for name, data in adversarial().items():
        (folder / "adversarial" / name).write_bytes(data)
