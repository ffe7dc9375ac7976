"""Set the formulas of docs/privacy.md as MathML, when the site is built: a hook of mkdocs.yml.

In the source they are text with signs of Unicode, which reads well in an editor: e^{−ε/2}, √(2ρ),
c′(ℓ) ≤ t_max. A formula in a sentence is a run of words of such signs that holds together by an
operator, a power or an index. A block that is indented is a formula on each line, or a list of
steps. A browser needs no script, no font and no network for MathML.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Any

PAGE = "privacy.md"
NAMES = {"ln", "max", "min", "exp", "tanh", "log", "Var", "Cov"}
PRODUCTS = {"xc", "xt"}
RELATIONS = "=≤≥<>∈∉∝≈≠+−·/×±→|"
SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵇᵍ"
SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"
HALVES = {"½": (1, 2), "¼": (1, 4), "¾": (3, 4)}
ACCENTS = {"\u0302": "^", "\u0303": "~", "\u0304": "‾"}
BRACKETS = dict(zip(")]}⌉⌋", "([{⌈⌊", strict=True))
LETTERS = re.compile(r"[A-Za-z]+")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
STEP = re.compile(r"    (\d+\. )")
# A word that may be in a formula has no two letters in a row, but for names and indices.
WORDS_IN = re.compile(r"[A-Za-z]{2,}")
HOLDS_TOGETHER = re.compile(rf"[\^_√{SUPERSCRIPTS}{SUBSCRIPTS}]|\S ?[{RELATIONS}] ?\S")
# What a sentence has of its own: code, links, tags, words in bold.
KEPT = re.compile(r"`+[^`]*`+|\[[^]]*\]\([^)]*\)|\]\([^)]*\)|<[a-z/!][^>]*>|\*\*?[^*\s][^*]*\*\*?")


# -------------------- one formula


def mathml(formula: str, *, block: bool = False) -> str:
    """Return a formula as MathML. block: whether it has a line of its own."""
    text = unicodedata.normalize("NFD", formula) if ACCENTED.search(formula) else formula
    display = "block" if block else "inline"
    return f'<math display="{display}"><mrow>{"".join(_nodes(text))}</mrow></math>'


ACCENTED = re.compile(r"[ŝŵẑŷĉâêîôû]")


def _nodes(text: str) -> list[str]:
    """Return a formula as elements, one behind the other."""
    nodes: list[str] = []
    place = 0
    while place < len(text):
        sign = text[place]
        if sign in "^_" + SUPERSCRIPTS + SUBSCRIPTS and nodes:
            script, place = _script(text, place)
            is_above = sign == "^" or sign in SUPERSCRIPTS
            nodes.append(_with_script(nodes.pop(), script, above=is_above))
        elif sign in "′″" and nodes:
            nodes.append(_with_script(nodes.pop(), f"<mo>{sign}</mo>", above=True))
            place += 1
        elif sign in ACCENTS and nodes:
            accent = f'<mo stretchy="false">{ACCENTS[sign]}</mo>'
            nodes.append(f'<mover accent="true">{nodes.pop()}{accent}</mover>')
            place += 1
        else:
            node, place = _atom(text, place)
            nodes.append(node)
    return nodes


def _atom(text: str, place: int) -> tuple[str, int]:
    """Return the element that begins at a place, and the place behind it."""
    sign = text[place]
    spaces = len(text[place:]) - len(text[place:].lstrip(" "))
    if spaces:
        return '<mspace width="1.5em"/>' * (spaces > 1), place + spaces
    if letters := LETTERS.match(text, place):
        return _of_letters(letters[0]), letters.end()
    if number := NUMBER.match(text, place):
        return f"<mn>{number[0]}</mn>", number.end()
    if sign in HALVES:
        top, bottom = HALVES[sign]
        return f"<mfrac><mn>{top}</mn><mn>{bottom}</mn></mfrac>", place + 1
    if sign == "√":
        argument, end = _argument(text, place + 1)
        return f"<msqrt>{''.join(_nodes(argument))}</msqrt>", end
    if sign.isalpha() or sign in "∞⊥∅":
        return f"<mi>{sign}</mi>", place + 1
    spacing = ' lspace="0" rspace="0"' if sign == "/" else ""
    return f'<mo stretchy="false"{spacing}>{escape(sign)}</mo>', place + 1


def _of_letters(letters: str) -> str:
    if len(letters) == 1 or letters in NAMES:
        return f"<mi>{letters}</mi>"
    if letters in PRODUCTS:
        return "".join(f"<mi>{letter}</mi>" for letter in letters)
    return f"<mtext>&nbsp;{letters}&nbsp;</mtext>"


def _script(text: str, place: int) -> tuple[str, int]:
    """Return the power or the index at a place as an element, and the place behind it."""
    sign = text[place]
    if sign in "^_":
        argument, place = _argument(text, place + 1)
        if argument.isalpha() and argument.isascii():
            return f"<mi>{argument}</mi>", place
    else:
        alphabet = SUPERSCRIPTS if sign in SUPERSCRIPTS else SUBSCRIPTS
        end = place
        while end < len(text) and text[end] in alphabet:
            end += 1
        argument, place = unicodedata.normalize("NFKC", text[place:end]), end
    return f"<mrow>{''.join(_nodes(argument))}</mrow>", place


def _argument(text: str, place: int) -> tuple[str, int]:
    """Return what √, ^ or _ is about, without its brackets, and the place behind it."""
    if text[place : place + 1] in ("{", "("):
        end = _closing(text, place)
        return text[place + 1 : end], end + 1
    for pattern in (LETTERS, NUMBER):
        if run := pattern.match(text, place):
            end = run.end()
            break
    else:
        end = place + 1
    while end < len(text) and text[end] in SUBSCRIPTS:
        end += 1
    if text[end : end + 1] == "_" and text[place - 1] == "√":
        _, end = _script(text, end)
    return text[place:end], end


def _closing(text: str, place: int) -> int:
    """Return the place of the bracket that closes the one at a place."""
    depth = 0
    for end in range(place, len(text)):
        depth += (text[end] in BRACKETS.values()) - (text[end] in BRACKETS)
        if depth == 0:
            return end
    raise ValueError(f"a bracket is not closed: {text}")


def _with_script(base: str, script: str, *, above: bool) -> str:
    """Return an element with a power or an index; one that has the other has both then."""
    if above and base.startswith("<msub>"):
        return f"<msubsup>{base[6:-7]}{script}</msubsup>"
    if above:
        return f"<msup>{base}{script}</msup>"
    return f"<msub>{base}{script}</msub>"


# -------------------- formulas in sentences


def formulas_set(sentence: str) -> str:
    """Return a line of prose with its formulas as MathML."""
    parts, end = [], 0
    for kept in KEPT.finditer(sentence):
        parts += [_runs_set(sentence[end : kept.start()]), kept[0]]
        end = kept.end()
    return "".join([*parts, _runs_set(sentence[end:])])


def _runs_set(text: str) -> str:
    words = re.split(r"( +)", text)
    parts: list[str] = []
    for may_be, run in groupby(_runs(words), key=lambda word: word[0]):
        joined = "".join(word for _, word in run)
        parts.append(_formula_in(joined) if may_be else joined)
    return "".join(parts)


def _runs(words: list[str]) -> Iterator[tuple[int, str]]:
    """Yield words and spaces, with the number of the run that each is in; 0 for prose.

    A comma or a full stop ends a run, unless a bracket is open.
    """
    number, depth = 1, 0
    for place, word in enumerate(words):
        if not word.strip():
            after = words[place + 1] if place + 1 < len(words) else ""
            yield (number if _may_be(after) else 0), word
            continue
        if not _may_be(word):
            depth, number = 0, number + 1
            yield 0, word
            continue
        yield number, word
        depth += sum((sign in BRACKETS.values()) - (sign in BRACKETS) for sign in word)
        if depth <= 0 and word[-1] in ",.;:":
            number += 1


def _may_be(word: str) -> bool:
    """Return whether a word may be part of a formula."""
    core = word.strip(",.;:")
    if not core or core in ("a", "A", "I") or not re.search(r"[^\W_]|[" + RELATIONS + "]", core):
        return False
    without = re.sub(r"_\{?[A-Za-z]+|\^\{[^}]*\}", "", core)
    return all(found in NAMES for found in WORDS_IN.findall(without))


def _formula_in(run: str) -> str:
    """Return a run with the formula in it as MathML; as it is if nothing holds it together."""
    before = re.match(rf"[\s,.;:]*(?:[{RELATIONS.replace('|', '').replace('−', '')}] )*", run)
    after = re.search(rf"(?: [{RELATIONS.replace('|', '')}])*[\s,.;:]*$", run)
    assert before is not None
    assert after is not None
    start, end = before.end(), after.start()
    formula = run[start:end]
    # A bracket that opens or closes in the prose beside it is not of the formula.
    while formula and not _is_balanced(formula):
        if formula[0] in "([" and (formula[-1] not in ")]" or _depth(formula) > 0):
            start, formula = start + 1, formula[1:]
        elif formula[-1] in ")].,;:":
            end, formula = end - 1, formula[:-1]
        else:
            return run
    if not HOLDS_TOGETHER.search(formula) or not re.search(r"[^\d,.%/−+]", formula):
        return run
    return run[:start] + mathml(formula) + run[end:]


def _depth(formula: str) -> int:
    return sum((sign in BRACKETS.values()) - (sign in BRACKETS) for sign in formula)


def _is_balanced(formula: str) -> bool:
    depth = 0
    for sign in formula:
        depth += (sign in BRACKETS.values()) - (sign in BRACKETS)
        if depth < 0:
            return False
    return depth == 0


# -------------------- the page


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return the page with its formulas set: what mkdocs asks of a hook."""
    return page_set(markdown) if page.file.src_uri == PAGE else markdown


def page_set(markdown: str) -> str:
    """Return a page of Markdown with its formulas as MathML."""
    lines: list[str] = []
    is_code = False
    blank_before = True
    for line in markdown.split("\n"):
        if line.startswith("```"):
            is_code = not is_code
        is_block = line.startswith("    ") and (blank_before or lines[-1].startswith("<div"))
        if is_code or line.startswith(("#", "```")):
            lines.append(line)
        elif step := STEP.match(line):
            lines.append(step[1] + formulas_set(line[step.end() :]))
        elif is_block:
            lines.append(_block(line.strip()))
        elif line.startswith("|"):
            lines.append("|".join(map(formulas_set, line.split("|"))))
        else:
            lines.append(formulas_set(line))
        blank_before = not line.strip()
    return "\n".join(lines)


def _block(formula: str) -> str:
    """Return a formula on a line of its own, with its number."""
    found = re.fullmatch(r"(.*?)(?:\s{3,}(\(\d+\)))?", formula)
    assert found is not None
    number = "" if found[2] is None else f"<span>{found[2]}</span>"
    return f'<div class="formula">{mathml(found[1], block=True)}{number}</div>'
