"""Floor 1: SQLite. Runs in whichever process holds the database; a connection never crosses a fork."""
