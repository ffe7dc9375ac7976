"""How long the tests wait before they call something hung: no bound on speed."""

PATIENCE = 300.0  # seconds; runners share their cores, and what takes 2 s alone has taken 30
