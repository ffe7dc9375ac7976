"""Check the prose that people read: documents, docstrings of public names, help, messages. Run by
`make lint`.

A sentence has at most 30 words. It ends at a full stop, a question mark or an exclamation mark, not
at a semicolon or colon. A list item, a table cell, a heading and a parameter of a docstring are
sentences of their own. A word has two letters or more, or is "a" or "I". All else is notation:
inline code, numbers, formulas. A run of notation is one word. Code, formulas in blocks, quotations
(`>`) and comments are not read.

A short list of phrases that make readers stop is refused, and so is a word that is written twice.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
MOST_WORDS = 30
READ = ("*.md", "docs/*.md", ".github/*.md", "fim_private/**/*.py")

BANNED = re.compile(r"\b(?:but for|(?:and|or) the like|in place of|held to|whom)\b", re.IGNORECASE)
DOUBLED = re.compile(r"\b([^\W\d_]{2,}) \1\b")
ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|et al|vs|cf|resp|Dr|pp)\.$")
SENTENCE = re.compile(r"(?<=[.!?])[\"”’')*_]*(?=\s|$)")
PLAIN_WORD = re.compile(r"(?:[^\W\d_]{2,}|a|A|I)(?:[-’'/][^\W\d_]+)*")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
PARAMETER = re.compile(
    r"\s*\*{0,2}[a-z_]\w*(?:, \*{0,2}[a-z_]\w*)*: "
    r"(?=\S)|\s*(?:Returns?|Raises|Warns|Yields) "
)
LINK = re.compile(r"!?\[((?:[^][]|\[[^]]*\])*)\]\((?:[^()\s]|\([^()]*\))*\)")
NOTATION = (
    re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL),
    re.compile(r"\$[^$\s][^$]*\$"),
    re.compile(r"<!--.*?-->|</?[a-z][^>]*>|\bhttps?://[^\s)]+"),
)


class Finding(NamedTuple):
    """A sentence that breaks a rule, and the line where it begins."""

    path: str
    line: int
    rule: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.sentence}"


class Block(NamedTuple):
    """Prose without a break, as numbered lines."""

    lines: list[tuple[int, str]]

    def sentences(self) -> Iterator[tuple[int, str]]:
        """Yield each sentence, code and formulas replaced by 0, and its line."""
        text = "\n".join(line for _, line in self.lines)
        for pattern in NOTATION:
            # as many lines as before
            text = pattern.sub(lambda found: "0" + "\n" * found[0].count("\n"), text)
        text = LINK.sub(r"\1", text)
        start = 0
        for end in [*(found.end() for found in SENTENCE.finditer(text)), len(text)]:
            said = text[start:end]
            if said.strip() and (end == len(text) or not ABBREVIATED.search(said)):
                before = text[:start] + said[: len(said) - len(said.lstrip())]
                yield (
                    self.lines[min(before.count("\n"), len(self.lines) - 1)][0],
                    " ".join(said.split()),
                )
                start = end


def number_of_words(sentence: str) -> int:
    """How many words a sentence has, a run of notation counting as one."""
    stripped = (token.strip(".,;:!?\"“”„'‘’()[]*_…–") for token in sentence.split())
    plain = [bool(PLAIN_WORD.fullmatch(token)) for token in stripped if token]
    return sum(here or before for here, before in zip(plain, [True, *plain], strict=False))


def broken_rules(sentence: str) -> Iterator[str]:
    """Yield the rules that a sentence breaks."""
    if (words := number_of_words(sentence)) > MOST_WORDS:
        yield f"{words} words"
    for rule, pattern in (("banned", BANNED), ("doubled", DOUBLED)):
        if found := pattern.search(sentence):
            yield f"{rule}: {found[0]}"


def blocks_of_markdown(text: str, first: int = 1) -> Iterator[Block]:
    """Yield the paragraphs, list items, headings and cells of Markdown (or of a docstring), but no
    code.
    """
    gathered: list[tuple[int, str]] = []
    fence, in_list, after_blank = "", False, True
    for number, line in enumerate(text.splitlines(), first):
        bare = line.strip()
        marker = re.match(r"(```+|~~~+)", bare)
        code = (
            bool(fence or marker)
            or (line.startswith("    ") and after_blank and not in_list)
            or bare[:3] == ">>>"
        )
        alone = bare.startswith(("#", "|", ">", "<!--", "!!!", "---")) or not bare
        parameter = PARAMETER.match(line)
        starts = ITEM.match(line) or parameter
        if gathered and (code or alone or starts):
            yield Block(gathered)
            gathered = []
        if marker:
            fence = "" if fence and bare.startswith(fence) else fence or marker[1]
        elif bare.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", bare.strip("|")):
                yield Block([(number, cell.strip())])
        elif bare.startswith("#") and not code:
            yield Block([(number, bare.strip("# "))])
        elif not code and not alone:
            gathered.append((number, line[starts.end() :] if starts else line))
        in_list = bool(ITEM.match(line)) or (in_list and (not bare or line.startswith(" ")))
        after_blank = not bare or (code and after_blank)
    if gathered:
        yield Block(gathered)


def blocks_of_python(source: str) -> Iterator[Block]:
    """Yield the prose of docstrings of public names, and of texts in the code: those of several
    words.
    """
    tree = ast.parse(source)
    seen: set[ast.AST] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(node) is not None
        ):
            docstring = node.body[0].value  # type: ignore[attr-defined]
            seen.add(docstring)
            if not getattr(node, "name", "").startswith("_"):
                yield from blocks_of_markdown(ast.get_docstring(node) or "", docstring.lineno)
        elif isinstance(node, (ast.JoinedStr, ast.Constant)) and node not in seen:
            seen.update(ast.walk(node))
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            said = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "0" for part in parts
            )
            # a style sheet, a script, SQL
            if " " in said and "{" not in said and not said.startswith("case "):
                yield from blocks_of_markdown(said, node.lineno)


def findings(path: str, text: str) -> Iterator[Finding]:
    """Yield what is wrong with the text of a file, which its name says how to read."""
    for block in blocks_of_python(text) if path.endswith(".py") else blocks_of_markdown(text):
        for line, sentence in block.sentences():
            for rule in broken_rules(sentence):
                yield Finding(path, line, rule, sentence)


def main(names: list[str]) -> int:
    """Print what is wrong in the files of these names, or in all; return the exit code."""
    paths = [Path(name) for name in names] or [
        path for pattern in READ for path in sorted(ROOT.glob(pattern))
    ]
    refused = 0
    for path in paths:
        name = path.resolve().relative_to(ROOT).as_posix()
        found = [*findings(name, path.read_text(encoding="utf-8"))]
        print(*found, sep="\n", end="\n" * bool(found))
        refused += len(found)
    return int(refused > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
