"""The audit: how much of its guarantee a mechanism uses, from exact output distributions on hard neighbours."""
