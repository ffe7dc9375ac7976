"""The linter of prose: what it refuses, and what it lets pass."""

from __future__ import annotations

import sys

from real_data import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))
import lint_prose

LONG = "some word " * 12 + "and other."  # 26 words
BAD = [
    (LONG, 1, "26 words"),
    ("- one\n- " + LONG.replace(" other.", ";\n  other."), 2, "26 words"),
    ("| cell | " + LONG + " |", 1, "26 words"),
    ("Fine.\nAll pass, but for\none.", 2, "banned: but for"),
    ("It tells the size.", 1, "banned: tells"),
    ("## Whom it protects", 1, "banned: Whom"),
    ("Noise is added to the\nthe count.", 1, "doubled: the the"),
    ("`x` is 1. What is measured is time.", 1, "a clause is the subject"),
    ("**Who pays** is known.", 1, "a clause is the subject"),
    ("That the noise is small follows.", 1, "a clause is the subject"),
    ("```\ncode\n```\n\nWhether it holds is open.", 5, "a clause is the subject"),
]
GOOD = [
    LONG.removesuffix(" other."),
    "some word " * 12 + "c(1) ≥ c(2) ≥ … `so many` [x + y](of_which.md) 12.",
    "What is measured? That bound is p.",
    "It tells you more. A number tells the two apart.",
    "| Whether a row counts. | What it is, such as text. |",
    "```\nso many told\n```\n\n    in place of\n\n> held to\n\n<!-- whom -->",
    "- item\n\n    ```sh\n    so many\n    ```",
]


def test_bad_prose_is_found_where_it_begins() -> None:
    for text, line, rule in BAD:
        found = [(each.line, each.rule) for each in lint_prose.findings("page.md", text)]
        assert found == [(line, rule)], text


def test_good_prose_passes() -> None:
    for text in GOOD:
        assert not [*lint_prose.findings("page.md", text)], text


def test_docstrings_help_and_messages_are_read() -> None:
    source = f'''
def asked(rows: int) -> None:
    """What was asked for.

    rows: Whether it has rows. So many rows are read.
    """
    raise ValueError(f"{{rows}} rows. Who asks gets whom he wants.", "{LONG}")

def _own() -> None:
    """What so many wrote."""
'''
    found = {each.rule for each in lint_prose.findings("module.py", source)}
    assert found == {"banned: So many", "banned: whom", "a clause is the subject", "26 words"}


def test_sql_and_style_sheets_in_the_code_are_no_prose() -> None:
    sql = f"case when so_many > 1 then 'told' else {LONG[:-1]!r} end"
    sheet = f"p {{{{ margin: 0 }}}} /* {LONG} */"
    for text in (sql, sheet):
        assert not [*lint_prose.findings("module.py", f'WRITTEN = "{text}"\n')], text
    assert [*lint_prose.findings("module.py", f'WRITTEN = "When, in that {sql}"\n')]
