"""Colours of charts and pages, on light and dark grounds, and how a chart in SVG looks. Text has a contrast of 4.5."""

from __future__ import annotations

from collections.abc import Mapping

# By what they are for: the ground, text, text beside it, bars, the intervals on them, and warnings.
LIGHT = {
    **{"paper": "#ffffff", "ink": "#1c2430", "soft": "#55606e"},
    **{"bar": "#86b1ea", "line": "#12335f", "warn": "#8a3b00"},
}
DARK = {
    **{"paper": "#14181e", "ink": "#e8ecf2", "soft": "#a6b1bf"},
    **{"bar": "#2f5f9f", "line": "#dbe8ff", "warn": "#ffbf85"},
}


def variables(colours: Mapping[str, str]) -> str:
    """Return colours as variables of CSS."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


SVG_STYLE = f"""
.fim-chart {{ {variables(LIGHT)} --rule: #e3e7ed;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }}
@media (prefers-color-scheme: dark) {{ .fim-chart {{ {variables(DARK)} --rule: #2b333e; }} }}
.fim-chart .paper {{ fill: var(--paper); }} .fim-chart text {{ fill: var(--ink); }}
.fim-chart .soft {{ fill: var(--soft); }} .fim-chart .warn {{ fill: var(--warn); font-weight: 600; }}
.fim-chart .title {{ font-weight: 600; }} .fim-chart .number {{ font-variant-numeric: tabular-nums; }}
.fim-chart .bar {{ fill: var(--bar); }} .fim-chart .maybe {{ fill: url(#fim-chart-maybe); stroke: var(--bar); }}
.fim-chart .interval {{ stroke: var(--line); stroke-width: 2; fill: none; }} .fim-chart .rule {{ stroke: var(--rule); }}
"""
