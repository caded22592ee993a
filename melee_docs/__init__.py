"""Ties the pages of a guide to proofs, and fails the build when a block of code has none.

`python -m melee_docs prove` finds the blocks and decides their proofs; the Markdown extension `melee_docs.markdown`
shows them while the site is built.
"""
