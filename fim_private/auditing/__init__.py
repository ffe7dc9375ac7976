"""How much of its guarantee a mechanism uses: hard neighbours, exact output distributions, divergences."""
