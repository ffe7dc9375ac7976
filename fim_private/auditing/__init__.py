"""Exact arithmetic, and neighbours that are hard, for audits."""
