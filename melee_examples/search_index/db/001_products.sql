CREATE TABLE products (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL,
    description TEXT NOT NULL
);

CREATE VIRTUAL TABLE search USING fts5 (name, description);
