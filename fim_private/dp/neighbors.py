"""The neighbour relations: which pairs of data sets a guarantee makes hard to tell apart."""

from enum import StrEnum

from fim_private.errors import ParameterError, parameter, shown


class Neighbors(StrEnum):
    """A neighbour relation: the change of the data that a release hides.

    Source: docs/privacy.md, "Neighbours".

    Attributes:
        REPLACE_ONE: The data of one privacy unit is replaced by any other. The number of units is
            public. Every support changes by at most 1, up or down.
        ADD_REMOVE: One privacy unit is added or removed. Every support changes by at most 1, and
            all in the same direction.
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    @property
    def changed_units(self) -> int:
        """How many units are added or removed: 1, or 2 as replacing one removes and adds.

        It is also by how much the difference of two supports can change, in units.
        """
        return 1 if self is Neighbors.ADD_REMOVE else 2


def exact_neighbors(neighbors: str) -> Neighbors:
    """Return the neighbour relation of that name. Raises ParameterError for any other name."""
    if isinstance(neighbors, str) and neighbors in [*Neighbors]:
        return Neighbors(neighbors)
    raise ParameterError(
        f"{parameter('neighbors')} must be one of {', '.join(Neighbors)}, not {shown(neighbors)}"
    )
