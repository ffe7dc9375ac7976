"""The readable form of a vote: its answer, how it was held, and the guarantee."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from fim_private.learning.vote_result import Vote
from fim_private.mining import wording
from fim_private.output.console import Screen


def render_vote(vote: Vote, screen: Screen) -> str:
    """Return a vote as text."""
    return screen.render(_parts(vote))


def _parts(vote: Vote) -> Iterator[Text]:
    """Yield what is shown, in lines."""
    yield Text(vote.title, style="bold")
    yield Text(f"    {vote.text}" if not vote.abstained else vote.text)
    yield from map(Text, vote.remarks)
    yield from map(Text, vote.told)
    yield Text(vote.guarantee)
    yield from map(Text, wording.charged(vote.charged))
