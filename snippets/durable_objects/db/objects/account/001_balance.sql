CREATE TABLE balance (cents INTEGER NOT NULL);
CREATE TABLE entries (
    id      INTEGER PRIMARY KEY,
    cents   INTEGER NOT NULL,
    purpose TEXT NOT NULL
);
