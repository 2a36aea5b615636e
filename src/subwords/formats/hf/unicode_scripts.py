"""HF's UnicodeScripts: split where the script changes, by the scripts of Unicode 9."""

from __future__ import annotations

from functools import cache

from subwords.components.splitter import Rule, Split, members
from subwords.unicode.tables import SCRIPTS, first_names

__all__ = ["unicode_scripts"]

# Characters that got a script only after Unicode 9, with unassigned code points between them. Like the space, they
# belong to any script.
_LATER = (
    "560 588 5EF 61D 7FD-7FF 860-89F 8B5 8BE-8D3 9FC-9FE A76 AFA-AFF B55 C04 C3C C5D C77 C84 CDD CF3-D00 D04 D3B-D3C "
    "D81 E86 E89 E8C E8E-E93 E98 EA0 EA8-EA9 EAC EBA ECE 170D 1715-171F 180F 1878 1ABF-1ACE 1B4C-1B4F 1B7D-1B7F "
    "1C89-1CBF 1CF7 1CFA 1DF6-1DFA 20BF-20C0 23FF 2427-2429 2B97 2BBA-2BBC 2BC9 2BD2-2BEB 2BF0-2BFF 2C2F 2C5F "
    "2E45-2E5D 2FFC-2FFF 312E-312F 31BB-31BF 31E4-31EF 32FF 4DB6-4DBF 9FD6-9FFF A7AF A7B8-A7F6 A82C A8FE-A8FF "
    "AB66-AB6B FBC2 FD40-FD4F FDCF FDFE-FDFF 1019C 1032D-1032F 10570-105F3 10780-107BA 10A34-10A35 10A48 10D00-10D8F "
    "10E80-10FF6 11070-11075 110C2-110CD 11144-11147 111CE-111CF 1123F-11241 1133B 11380-113E2 1145A 1145E-11461 "
    "116B8-116B9 116D0-116E3 1171A 11740-1183B 11900-11ABF 11B00-11BF9 11D00-11FFF 12F90-12FF2 1342F-143FA "
    "16100-16139 16A70-16AC9 16D40-16E9A 16F45-16F4F 16F7F-16F87 16FE1-16FF1 187ED-187F7 18AF3-1AFFE 1B002-1B2FB "
    "1CC00-1CFC3 1D1E9-1D1EA 1D2C0-1D2F3 1D372-1D378 1DF00-1DF2A 1E030-1E7FE 1E94B 1EC71-1ED3D 1F10D-1F10F 1F12F "
    "1F16C-1F16F 1F1AD 1F260-1F265 1F6D3-1F6DF 1F6F7-1F6FC 1F774-1F77F 1F7D5-1F7F0 1F8B0-1F90F 1F91F 1F928-1F92F "
    "1F931-1F932 1F93F 1F94C-1F94F 1F95F-1F97F 1F992-1F9BF 1F9C1-1FBF9 2A6D7-2A6DF 2B735-2B739 2CEB0-2EE5D 30000-323AF"
)
_ANY = rf" \p{{Cn}}\p{{Co}}{members(_LATER)}"

# Five characters have changed their script since Unicode 9; kana count as Han.
_MOVED = {"Armenian": "589", "Arabic": "61C", "Inherited": "953-954", "Common": "30FC"}
_JOINED = {"Common": members("589 61C"), "Devanagari": members("953-954"), "Han": r"\p{Hiragana}\p{Katakana}ー"}


# Scripts are grouped because an automaton has too few classes for all scripts.
GROUPS = 13


@cache
def unicode_scripts() -> Rule:
    """Return the rule; it drops text before the first character that has a script.

    The first step splits where the group of scripts changes, the second where the script changes within a group.
    """
    names = [name for name in first_names(SCRIPTS) if name not in ("Hiragana", "Katakana", "Unknown")]
    columns = [names[k::GROUPS] for k in range(GROUPS)]
    rows = [names[k : k + GROUPS] for k in range(0, len(names), GROUPS)]
    steps = (
        Split("|".join(f"[{''.join(map(_script, group))}{_ANY}]+" for group in groups)) for groups in (columns, rows)
    )
    return (Split(rf"[^{_ANY}][\s\S]*", "removed", invert=True), *steps)


def _script(name: str) -> str:
    kept = rf"[\p{{{name}}}&&[^{members(_MOVED[name])}]]" if name in _MOVED else rf"\p{{{name}}}"
    return kept + _JOINED.get(name, "")
