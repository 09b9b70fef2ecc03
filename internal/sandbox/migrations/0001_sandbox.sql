-- Times are milliseconds since 1970, UTC. seq is the order of creation.

CREATE TABLE sandbox (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    clean INTEGER NOT NULL CHECK (clean IN (0, 1)) -- nothing to sweep at the next start
) STRICT;

INSERT INTO sandbox (one, clean) VALUES (1, 1);

CREATE TABLE workspaces (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    environment TEXT NOT NULL,
    name        TEXT NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE categories (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    private      INTEGER NOT NULL CHECK (private IN (0, 1))
) STRICT;

CREATE INDEX categories_by_workspace ON categories (workspace_id);

CREATE TABLE extensions (
    category_id TEXT NOT NULL REFERENCES categories (id) ON DELETE CASCADE,
    folded      TEXT NOT NULL,
    extension   TEXT NOT NULL,
    position    INTEGER NOT NULL,
    PRIMARY KEY (category_id, folded)
) STRICT, WITHOUT ROWID;

-- Parents are checked at the commit, so that a category may take all its folders
-- with it in any order.
CREATE TABLE folders (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    category_id TEXT NOT NULL REFERENCES categories (id) ON DELETE CASCADE,
    parent_id   TEXT,
    name        TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    UNIQUE (id, category_id),
    FOREIGN KEY (parent_id, category_id) REFERENCES folders (id, category_id) DEFERRABLE INITIALLY DEFERRED
) STRICT;

CREATE INDEX folders_by_parent ON folders (parent_id, category_id);
CREATE INDEX folders_by_category ON folders (category_id);

-- An asset hangs on an extension of its category: no asset where it is not
-- allowed, and an extension that is dropped takes its assets along.
CREATE TABLE assets (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL,
    category_id  TEXT NOT NULL,
    folder_id    TEXT,
    name         TEXT NOT NULL,
    extension    TEXT NOT NULL,
    folded       TEXT NOT NULL,
    size         INTEGER NOT NULL,
    digest       TEXT NOT NULL, -- SHA-256 in hex
    content      TEXT NOT NULL, -- name of the stored bytes
    uploaded_at  INTEGER NOT NULL,
    modified_at  INTEGER NOT NULL,
    image        TEXT NOT NULL CHECK (image IN ('no', 'readable', 'broken')),
    processed_at INTEGER NOT NULL, -- an image is queued before
    width        INTEGER NOT NULL,
    height       INTEGER NOT NULL,
    description  TEXT NOT NULL,
    tags         TEXT NOT NULL, -- JSON array
    attributes   TEXT NOT NULL, -- JSON object
    trashed_at   INTEGER,
    FOREIGN KEY (category_id, folded) REFERENCES extensions (category_id, folded) ON DELETE CASCADE,
    FOREIGN KEY (folder_id, category_id) REFERENCES folders (id, category_id) DEFERRABLE INITIALLY DEFERRED
) STRICT;

CREATE INDEX assets_by_container ON assets (category_id, folder_id, trashed_at, uploaded_at);
CREATE INDEX assets_in_trash ON assets (workspace_id, trashed_at) WHERE trashed_at IS NOT NULL;
