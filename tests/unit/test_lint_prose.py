"""The linter of prose: what it refuses, and what it lets pass."""

from __future__ import annotations

import sys

from real_data import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))
import lint_prose

LONG = "some word " * 15 + "other."  # 31 words
BAD = [
    (LONG, 1, "31 words"),
    ("- one\n- " + LONG.replace(" other.", ";\n  other."), 2, "31 words"),
    ("| cell | " + LONG + " |", 1, "31 words"),
    ("Fine.\nAll pass, but for\none.", 2, "banned: but for"),
    ("## Whom it protects", 1, "banned: Whom"),
    ("Noise is added to the\nthe count.", 1, "doubled: the the"),
]
GOOD = [
    LONG.removesuffix(" other."),
    "some word " * 14 + "c(1) ≥ c(2) ≥ … `but for` [x + y](of_which.md) 12.",
    "What is measured? That bound is p. What is measured is time.",
    "```\nbut for whom\n```\n\n    in place of\n\n> held to\n\n<!-- whom -->",
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

    rows: Whether it has rows, but for one.
    """
    raise ValueError(f"{{rows}} rows. Who asks gets whom he wants.", "{LONG}")

def _own() -> None:
    """Rows of whom."""
'''
    found = {each.rule for each in lint_prose.findings("module.py", source)}
    assert found == {"banned: but for", "banned: whom", "31 words"}


def test_sql_and_style_sheets_in_the_code_are_no_prose() -> None:
    sql = f"case when so_many > 1 then 'told' else {LONG[:-1]!r} end"
    sheet = f"p {{{{ margin: 0 }}}} /* {LONG} */"
    for text in (sql, sheet):
        assert not [*lint_prose.findings("module.py", f'WRITTEN = "{text}"\n')], text
    assert [*lint_prose.findings("module.py", f'WRITTEN = "When, in that {sql}"\n')]
