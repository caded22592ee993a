"""Floor 4: the app that users write, a Flask app with a database. Runs in the process that serves a request."""
