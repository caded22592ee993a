"""Work that must not be lost: stored with the app's data until a worker has run it; in every process of the app."""
