"""The parts of reading: one module for each family of sources, all ending in `gathering.gather`."""
