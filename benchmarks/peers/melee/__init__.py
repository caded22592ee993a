"""melee: an app whose job does nothing, and how it is measured on either store."""
