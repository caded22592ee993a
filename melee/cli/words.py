"""How a command puts things, see `melee.words`."""

from melee.words import distance, moment, shortened, visible

__all__ = ["distance", "moment", "shortened", "visible"]
