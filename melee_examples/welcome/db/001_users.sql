CREATE TABLE users (
    id         TEXT NOT NULL PRIMARY KEY,
    created_at TEXT NOT NULL,
    email      TEXT NOT NULL
);

CREATE UNIQUE INDEX users_email ON users (lower(email));
