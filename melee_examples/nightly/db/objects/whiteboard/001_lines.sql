CREATE TABLE lines (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL
);

CREATE TABLE nights (
    ended_on TEXT PRIMARY KEY,
    lines    INTEGER NOT NULL
);
