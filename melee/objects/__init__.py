"""Floor 3: durable objects. The object worker runs them (in `melee dev`, the dev server itself)."""
