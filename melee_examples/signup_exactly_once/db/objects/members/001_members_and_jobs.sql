CREATE TABLE members (
    id         INTEGER PRIMARY KEY,
    email      TEXT NOT NULL UNIQUE COLLATE NOCASE,
    created_at TEXT NOT NULL
);

CREATE TABLE jobs (
    id         INTEGER NOT NULL PRIMARY KEY,
    key        TEXT NOT NULL UNIQUE,
    payload    TEXT NOT NULL,
    created_at TEXT NOT NULL,
    kind       TEXT NOT NULL,
    attempts   INTEGER DEFAULT 0 NOT NULL
);
