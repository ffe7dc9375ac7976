"""How the page looks. Colours have a contrast of 4.5 or more; nothing is loaded from anywhere."""

from __future__ import annotations

from fim_private.charts.style import DARK, LIGHT, variables

STYLE = (
    f"""
:root {{ color-scheme: light dark; {variables(LIGHT)}"""
    """
  --rule: #d5dbe3; --card: #f4f6f9; --accent: #1f5fbf; --warnpaper: #fff1e3;
  --l0: #d3dae3; --l1: #b5cdf0; --l2: #7fa9e4; --l3: #3f78c9; --l4: #123f80; }
@media (prefers-color-scheme: dark) { :root { """
    f"{variables(DARK)}"
    """
  --rule: #333c48; --card: #1d232c; --accent: #8bb8ff; --warnpaper: #33230f;
  --l0: #333c48; --l1: #2c4a75; --l2: #3f6db0; --l3: #6f9fe6; --l4: #c2dafc; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main, header, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; }
h1 { font-size: clamp(1.5rem, 5vw, 2.25rem); line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem; }
p { max-width: 44rem; margin: .5rem 0; overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; color: var(--soft); }
.note, footer, caption { color: var(--soft); font-size: .9rem; }
.warning { background: var(--warnpaper); color: var(--warn); border-left: .3rem solid; padding: .75rem 1rem;
  font-weight: 600; }
.nothing { background: var(--card); border-radius: .5rem; padding: .75rem 1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .75rem; padding: 0;
  margin: 1rem 0; }
.cards div { background: var(--card); border-radius: .5rem; padding: .75rem 1rem; }
.cards dt { color: var(--soft); font-size: .85rem; }
.cards dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
caption { text-align: left; padding: .25rem 0 .5rem; }
th, td { text-align: left; padding: .45rem .6rem .45rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: middle;
  font-weight: 400; }
thead th { color: var(--soft); font-size: .85rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.number .interval { display: block; color: var(--soft); font-size: .8rem; }
thead th:nth-child(n+3) { text-align: right; } .rules thead th:nth-child(3) { text-align: left; }
.chips { display: inline-flex; flex-wrap: wrap; gap: .3rem; }
.chip { border: 1px solid var(--rule); background: var(--card); border-radius: .4rem; padding: .05rem .5rem;
  overflow-wrap: anywhere; }
abbr { text-decoration: none; color: var(--warn); font-weight: 700; margin-left: .4rem; }
.bars { width: 34%; min-width: 8rem; }
.bar { display: block; position: relative; height: 1.25rem; }
.fill { position: absolute; inset: .1rem auto .1rem 0; background: var(--bar); border-radius: 0 .2rem .2rem 0; }
.fill.doubtful { background: repeating-linear-gradient(135deg, var(--bar) 0 .35rem, transparent .35rem .6rem); }
.line { position: absolute; top: 50%; height: 0; border-top: 2px solid var(--line); }
.line::before, .line::after { content: ""; position: absolute; top: -.35rem; height: .6rem;
  border-left: 2px solid var(--line); }
.line::before { left: 0; } .line::after { right: 0; }
.plain li { margin: .5rem 0; }
.matrix { overflow-x: auto; border: 1px solid var(--rule); border-radius: .5rem; padding: .5rem; }
.matrix:focus-visible, a:focus-visible, summary:focus-visible { outline: 3px solid var(--accent);
  outline-offset: 2px; }
svg { display: block; max-width: none; } svg text { fill: var(--ink); font-size: 12px; }
svg text.row { text-anchor: end; } svg line { stroke: var(--rule); }
circle { stroke: var(--ink); stroke-width: .5; }
circle.hollow { fill: none; stroke-dasharray: 3 2; stroke-width: 1.2; }
.lift0 { fill: var(--l0); } .lift1 { fill: var(--l1); } .lift2 { fill: var(--l2); } .lift3 { fill: var(--l3); }
.lift4 { fill: var(--l4); }
.arrow { color: var(--soft); }
.parts { display: flex; height: 1.5rem; border-radius: .4rem; overflow: hidden; margin: .5rem 0; max-width: 44rem; }
.parts span { background: var(--l3); border-right: 2px solid var(--paper); }
.parts span:nth-child(2n) { background: var(--l2); }
footer { padding-top: 2rem; padding-bottom: 2.5rem; }
@media (max-width: 40rem) {
  table, tbody { display: block; }
  thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  caption { display: block; }
  tr { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; padding: .6rem 0;
    border-bottom: 1px solid var(--rule); }
  th, td { border: 0; padding: .1rem 0; } th[scope=row], .bars { flex: 1 0 100%; width: 100%; min-width: 0; }
  .rules td:nth-child(3) { flex: 1 1 auto; }
  .number { text-align: left; } .number.interval, .number .interval { color: var(--soft); font-size: .85rem; }
  .rules .number::before { color: var(--soft); font-size: .8rem; margin-right: .35rem; }
  .rules .share::before { content: "share"; } .rules .confidence::before { content: "confidence"; }
  .rules .lift::before { content: "lift"; } }
@media print { :root { color-scheme: light; --paper: #fff; --ink: #000; --soft: #444; --card: #fff; }
  body { font-size: 11pt; } header { padding-top: 0; } tr, .cards div, .matrix { break-inside: avoid; }
  h2 { break-after: avoid; }
  .fill, circle, .parts span { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
)
