"""The page at `/_melee/` that shows what goes on in an app under development; `melee dev` alone serves it."""
