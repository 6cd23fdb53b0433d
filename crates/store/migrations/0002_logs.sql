-- Closed logs, in the order they were closed. The bytes lie in the file of their chunk.
CREATE TABLE log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    node TEXT NOT NULL,
    execution INTEGER NOT NULL,
    length INTEGER NOT NULL,
    digest TEXT NOT NULL,
    chunk INTEGER NOT NULL,
    UNIQUE (run, node, execution)
);
CREATE INDEX log_chunk ON log (chunk);

-- Where the compressed pieces of a log lie: the first byte's offset within the log, and place, size
-- and check sum within the chunk.
CREATE TABLE log_piece (
    log INTEGER NOT NULL REFERENCES log (id) ON DELETE CASCADE,
    offset INTEGER NOT NULL,
    position INTEGER NOT NULL,
    size INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    PRIMARY KEY (log, offset)
) WITHOUT ROWID;
