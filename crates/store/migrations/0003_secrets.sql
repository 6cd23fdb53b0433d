-- Which key opens what is sealed here: one row.
CREATE TABLE installation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    key_fingerprint TEXT NOT NULL
);

-- Sensitive values by the token that stands for them, encrypted with the installation's key.
CREATE TABLE sealed (
    token TEXT PRIMARY KEY,
    body BLOB NOT NULL
) WITHOUT ROWID;
