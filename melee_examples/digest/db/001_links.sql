CREATE TABLE links (
    id        TEXT NOT NULL PRIMARY KEY,
    shared_at DOUBLE PRECISION NOT NULL,
    title     TEXT NOT NULL,
    url       TEXT NOT NULL
);

CREATE TABLE in_digests (
    period  TEXT NOT NULL,
    link_id TEXT NOT NULL,
    digest  TEXT NOT NULL,
    is_sent INTEGER NOT NULL,
    PRIMARY KEY (period, link_id)
);
