CREATE TABLE lines (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL
);

CREATE TABLE nights (
    on_date TEXT PRIMARY KEY,
    lines   INTEGER NOT NULL
);
