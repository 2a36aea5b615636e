"""Character classes of one pinned Unicode version, as arrays over all code points."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout

UNICODE_VERSION = "16.0"

# Ordered by number of code points, so that the tool that writes the table needs few tests.
CATEGORIES = (
    *("Cn", "Co", "Lo", "So", "Cs", "Mn", "Ll", "Lu", "Sm", "No", "Nd", "Po", "Mc", "Lm", "Nl", "Cf"),
    *("Ps", "Pe", "Cc", "Sc", "Lt", "Sk", "Pd", "Zs", "Me", "Pi", "Pf", "Pc", "Zl", "Zp"),
)

# The property White_Space, the meaning of \s in every engine that tokenizers use.
WHITE_SPACE = (
    *(*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680),
    *(*range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
)

WHITESPACE = "".join(map(chr, WHITE_SPACE))

OTHER = 0  # the class of code points that are not LETTER, NUMBER or SPACE

# Names of categories; a single letter means all categories that begin with it.
GENERAL_CATEGORIES = """
    L:Letter LC:Cased_Letter Lu:Uppercase_Letter Ll:Lowercase_Letter Lt:Titlecase_Letter Lm:Modifier_Letter
    Lo:Other_Letter M:Mark:Combining_Mark Mn:Nonspacing_Mark Mc:Spacing_Mark Me:Enclosing_Mark N:Number
    Nd:Decimal_Number:Digit Nl:Letter_Number No:Other_Number P:Punctuation:Punct Pc:Connector_Punctuation
    Pd:Dash_Punctuation Ps:Open_Punctuation Pe:Close_Punctuation Pi:Initial_Punctuation Pf:Final_Punctuation
    Po:Other_Punctuation S:Symbol Sm:Math_Symbol Sc:Currency_Symbol Sk:Modifier_Symbol So:Other_Symbol Z:Separator
    Zs:Space_Separator Zl:Line_Separator Zp:Paragraph_Separator C:Other Cc:Control:Cntrl Cf:Format Cs:Surrogate
    Co:Private_Use Cn:Unassigned
"""

# Scripts with their four-letter codes, in the order of the data file; the last is for code points without a script.
SCRIPTS = """
    Adlam:Adlm Ahom:Ahom Anatolian_Hieroglyphs:Hluw Arabic:Arab Armenian:Armn Avestan:Avst Balinese:Bali Bamum:Bamu
    Bassa_Vah:Bass Batak:Batk Bengali:Beng Bhaiksuki:Bhks Bopomofo:Bopo Brahmi:Brah Braille:Brai Buginese:Bugi
    Buhid:Buhd Canadian_Aboriginal:Cans Carian:Cari Caucasian_Albanian:Aghb Chakma:Cakm Cham:Cham Cherokee:Cher
    Chorasmian:Chrs Common:Zyyy Coptic:Copt Cuneiform:Xsux Cypriot:Cprt Cypro_Minoan:Cpmn Cyrillic:Cyrl Deseret:Dsrt
    Devanagari:Deva Dives_Akuru:Diak Dogra:Dogr Duployan:Dupl Egyptian_Hieroglyphs:Egyp Elbasan:Elba Elymaic:Elym
    Ethiopic:Ethi Garay:Gara Georgian:Geor Glagolitic:Glag Gothic:Goth Grantha:Gran Greek:Grek Gujarati:Gujr
    Gunjala_Gondi:Gong Gurmukhi:Guru Gurung_Khema:Gukh Han:Hani Hangul:Hang Hanifi_Rohingya:Rohg Hanunoo:Hano
    Hatran:Hatr Hebrew:Hebr Hiragana:Hira Imperial_Aramaic:Armi Inherited:Zinh Inscriptional_Pahlavi:Phli
    Inscriptional_Parthian:Prti Javanese:Java Kaithi:Kthi Kannada:Knda Katakana:Kana Kawi:Kawi Kayah_Li:Kali
    Kharoshthi:Khar Khitan_Small_Script:Kits Khmer:Khmr Khojki:Khoj Khudawadi:Sind Kirat_Rai:Krai Lao:Laoo Latin:Latn
    Lepcha:Lepc Limbu:Limb Linear_A:Lina Linear_B:Linb Lisu:Lisu Lycian:Lyci Lydian:Lydi Mahajani:Mahj Makasar:Maka
    Malayalam:Mlym Mandaic:Mand Manichaean:Mani Marchen:Marc Masaram_Gondi:Gonm Medefaidrin:Medf Meetei_Mayek:Mtei
    Mende_Kikakui:Mend Meroitic_Cursive:Merc Meroitic_Hieroglyphs:Mero Miao:Plrd Modi:Modi Mongolian:Mong Mro:Mroo
    Multani:Mult Myanmar:Mymr Nabataean:Nbat Nag_Mundari:Nagm Nandinagari:Nand New_Tai_Lue:Talu Newa:Newa Nko:Nkoo
    Nushu:Nshu Nyiakeng_Puachue_Hmong:Hmnp Ogham:Ogam Ol_Chiki:Olck Ol_Onal:Onao Old_Hungarian:Hung Old_Italic:Ital
    Old_North_Arabian:Narb Old_Permic:Perm Old_Persian:Xpeo Old_Sogdian:Sogo Old_South_Arabian:Sarb Old_Turkic:Orkh
    Old_Uyghur:Ougr Oriya:Orya Osage:Osge Osmanya:Osma Pahawh_Hmong:Hmng Palmyrene:Palm Pau_Cin_Hau:Pauc Phags_Pa:Phag
    Phoenician:Phnx Psalter_Pahlavi:Phlp Rejang:Rjng Runic:Runr Samaritan:Samr Saurashtra:Saur Sharada:Shrd Shavian:Shaw
    Siddham:Sidd SignWriting:Sgnw Sinhala:Sinh Sogdian:Sogd Sora_Sompeng:Sora Soyombo:Soyo Sundanese:Sund Sunuwar:Sunu
    Syloti_Nagri:Sylo Syriac:Syrc Tagalog:Tglg Tagbanwa:Tagb Tai_Le:Tale Tai_Tham:Lana Tai_Viet:Tavt Takri:Takr
    Tamil:Taml Tangsa:Tnsa Tangut:Tang Telugu:Telu Thaana:Thaa Thai:Thai Tibetan:Tibt Tifinagh:Tfng Tirhuta:Tirh
    Todhri:Todr Toto:Toto Tulu_Tigalari:Tutg Ugaritic:Ugar Vai:Vaii Vithkuqi:Vith Wancho:Wcho Warang_Citi:Wara
    Yezidi:Yezi Yi:Yiii Zanabazar_Square:Zanb Unknown:Zzzz
"""

# Binary properties of the data file, in its order, followed by computed ones.
PROPERTIES = """
    Alphabetic:Alpha Lowercase:Lower Uppercase:Upper Ideographic:Ideo Emoji Emoji_Presentation:EPres
    Extended_Pictographic:ExtPict White_Space:Space:WSpace Join_Control:Join_C Word Any ASCII Assigned
"""

# Categories included in a property: the data file has only the additional code points.
BASES = {"Alphabetic": ("L", "Nl"), "Lowercase": ("Ll",), "Uppercase": ("Lu",)}

JOIN_CONTROL = (0x200C, 0x200D)


@cache
def categories() -> NDArray[np.uint8]:
    """Return the index in `CATEGORIES` of every code point, uint8 of shape (0x110000,)."""
    return _spread(_category_runs())


@cache
def _category_runs() -> NDArray[np.int32]:
    """Return the runs of code points of one category: the first one, and the index of the category."""
    runs: NDArray[np.int32] = np.load(Path(__file__).with_name(f"unicode_{UNICODE_VERSION}.npy"))
    return runs


def _classes(of_category: list[int]) -> NDArray[np.uint8]:
    """Return a class for every code point, by its category; SPACE for white space."""
    runs = _category_runs()
    # By runs: a look-up for each code point takes 7 ms.
    classes = _spread(np.stack([runs[:, 0], np.array(of_category, np.int32)[runs[:, 1]]], axis=1))
    classes[list(WHITE_SPACE)] = layout.SPACE
    classes.flags.writeable = False
    return classes


@cache
def gpt2_classes() -> NDArray[np.uint8]:
    r"""Return OTHER, LETTER (\p{L}), NUMBER (\p{N}) or SPACE (\s) for every code point, uint8 of shape (0x110000,)."""
    return _classes([{"L": layout.LETTER, "N": layout.NUMBER}.get(name[0], OTHER) for name in CATEGORIES])


@cache
def cased_classes() -> NDArray[np.uint8]:
    r"""As `gpt2_classes`, with marks as letters, and with the bits of layout.py for kinds of letters."""
    upper, caseless, mark = (
        layout.LETTER | 1 << bit for bit in (layout.UPPER_BIT, layout.CASELESS_BIT, layout.MARK_BIT)
    )
    kinds = {
        "N": layout.NUMBER,
        "Ll": layout.LETTER,
        "Lu": upper,
        "Lt": upper,
        "Lm": caseless,
        "Lo": caseless,
        "M": caseless | mark,
    }
    return _classes([kinds.get(name, kinds.get(name[0], OTHER)) for name in CATEGORIES])


def property_members(name: str) -> NDArray[np.bool_]:
    r"""Return the code points of \p{name}, bool of shape (0x110000,), read-only; KeyError for an unknown name.

    Supported: general categories (L, Lu, Letter, gc=L), scripts (Han, Hani, sc=Han, IsHan) and a few binary properties,
    with the standard's loose matching of names. `Word` is \w.

    >>> property_members("Greek").nonzero()[0][:3].tolist()
    [880, 881, 882]

    Source: Unicode Standard Annex #44, 5.9.3 (loose matching), and #18, annex C (\w).
    """
    kind, _, value = name.replace(":", "=").rpartition("=")
    tables = {"": (GENERAL_CATEGORIES, PROPERTIES, SCRIPTS), "gc": (GENERAL_CATEGORIES,), "sc": (SCRIPTS,)}
    tables |= {"generalcategory": tables["gc"], "script": tables["sc"]}
    for spelling in (_loose(value), _loose(value).removeprefix("is")):
        for table in tables.get(_loose(kind), ()):
            if spelling in _spellings(table):
                return _members(table, _spellings(table)[spelling])
    raise KeyError(name)


def first_names(table: str) -> list[str]:
    """Return the first name of each entry of GENERAL_CATEGORIES, SCRIPTS or PROPERTIES."""
    return [entry.split(":")[0] for entry in table.split()]


def _loose(name: str) -> str:
    return name.translate({ord(ignored): None for ignored in " _-"}).lower()


@cache
def _spellings(table: str) -> dict[str, str]:
    entries = [entry.split(":") for entry in table.split()]
    return {_loose(spelling): names[0] for names in entries for spelling in names}


@lru_cache(maxsize=16)  # 1 MB each
def _members(table: str, name: str) -> NDArray[np.bool_]:
    if table is GENERAL_CATEGORIES:
        parts = ("Lu", "Ll", "Lt") if name == "LC" else tuple(c for c in CATEGORIES if c.startswith(name))
        members = np.isin(categories(), [CATEGORIES.index(part) for part in parts])
    elif table is SCRIPTS:
        members = _scripts() == first_names(SCRIPTS).index(name)
    else:
        members = _property(name)
    members.flags.writeable = False
    return members


def _property(name: str) -> NDArray[np.bool_]:
    members = np.zeros(layout.CODE_POINTS, np.bool_)
    for base in BASES.get(name, ()):
        members |= property_members(base)
    match name:
        case "White_Space":
            members[list(WHITE_SPACE)] = True
        case "Join_Control":
            members[list(JOIN_CONTROL)] = True
        case "Any":
            members[:] = True
        case "ASCII":
            members[:0x80] = True
        case "Assigned":
            members = ~property_members("Cn")
        case "Word":
            parts = ("Alphabetic", "M", "Nd", "Pc", "Join_Control")
            members = np.logical_or.reduce([property_members(part) for part in parts])
        case _:
            index = first_names(PROPERTIES).index(name)
            extras = _table("extras")
            bounds = extras[extras[:, 0] == index, 1]
            for start, stop in bounds.reshape(-1, 2).tolist():
                members[start:stop] = True
    return members


@cache
def _scripts() -> NDArray[np.uint8]:
    return _spread(_table("scripts"))


@cache
def case_folds() -> NDArray[np.int32]:
    """Return characters that differ from others only in case, shape (n, 2): each with the least equal character.

    Equality follows simple case folding: k, K and the Kelvin sign are equal, ß and ss are not.
    """
    return _table("folds")


def _table(name: str) -> NDArray[np.int32]:
    with np.load(Path(__file__).with_name(f"unicode_{UNICODE_VERSION}_properties.npz")) as tables:
        return np.asarray(tables[name])


def _spread(runs: NDArray[np.int32]) -> NDArray[np.uint8]:
    lengths = np.diff(runs[:, 0], append=layout.CODE_POINTS)
    return np.repeat(runs[:, 1].astype(np.uint8), lengths)
