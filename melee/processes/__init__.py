"""Processes that fork others or are kept alive; runs in the request parent, its children and the server."""
