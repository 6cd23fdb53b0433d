-- What aggregates there are, and how many events each has.
CREATE TABLE aggregate (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    timer INTEGER,
    UNIQUE (kind, key)
);
CREATE INDEX aggregate_timer ON aggregate (timer) WHERE timer IS NOT NULL;

-- The facts, for ever.
CREATE TABLE event (
    aggregate INTEGER NOT NULL REFERENCES aggregate (id),
    revision INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (aggregate, revision)
);

-- A cache of the fold of the first events.
CREATE TABLE snapshot (
    aggregate INTEGER PRIMARY KEY REFERENCES aggregate (id),
    revision INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL
);

-- What arrived. A consumed input keeps its name, so that a repeat is known, and loses its body.
CREATE TABLE input (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    aggregate INTEGER NOT NULL REFERENCES aggregate (id),
    delivery TEXT NOT NULL,
    consumed INTEGER NOT NULL DEFAULT 0,
    body BLOB,
    UNIQUE (aggregate, delivery)
);
CREATE INDEX input_waiting ON input (aggregate, id) WHERE consumed = 0;

-- What must be done and is not settled yet.
CREATE TABLE action (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    aggregate INTEGER NOT NULL REFERENCES aggregate (id),
    not_before INTEGER NOT NULL DEFAULT 0,
    body BLOB NOT NULL
);
CREATE INDEX action_aggregate ON action (aggregate, id);
CREATE INDEX action_due ON action (not_before);

-- Who may drive an aggregate. A lease that was given back keeps its generation and loses its owner.
CREATE TABLE lease (
    aggregate INTEGER PRIMARY KEY REFERENCES aggregate (id),
    generation INTEGER NOT NULL,
    host TEXT,
    boot_id TEXT,
    pid INTEGER,
    start_time INTEGER,
    until INTEGER
);

-- What lists show of runs.
CREATE TABLE run (
    run TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    namespace TEXT NOT NULL,
    phase TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    settings BLOB NOT NULL
);
CREATE INDEX run_newest ON run (created_at, run);
CREATE INDEX run_name ON run (name, created_at);
