"""The server: listens, knows when the next timer is due, wakes the app, keeps its processes alive, and stops them."""
