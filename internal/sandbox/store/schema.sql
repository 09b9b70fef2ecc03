-- The schema of the sandbox's database. Times are milliseconds since 1970, UTC. seq is the
-- order of creation.

CREATE TABLE sandbox (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    clean INTEGER NOT NULL CHECK (clean IN (0, 1)) -- nothing to sweep at the next start
) STRICT;

INSERT INTO sandbox (one, clean) VALUES (1, 1);

-- Environments and workspaces.

-- Settings of an environment. Environments without settings have no row.
CREATE TABLE environments (
    id         TEXT PRIMARY KEY,
    extensions TEXT NOT NULL DEFAULT '[]', -- JSON array, as given
    restricted INTEGER NOT NULL DEFAULT 0 CHECK (restricted IN (0, 1)), -- 1: categories may use only these extensions
    template   TEXT -- JSON array of the categories of new workspaces; NULL: the categories of the sandbox
) STRICT, WITHOUT ROWID;

CREATE TABLE workspaces (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    environment   TEXT NOT NULL,
    name          TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    ai_processing INTEGER NOT NULL DEFAULT 0 CHECK (ai_processing IN (0, 1))
) STRICT;

-- Categories and folders.

CREATE TABLE categories (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    private      INTEGER NOT NULL CHECK (private IN (0, 1)),
    position     INTEGER -- in the order that an administrator set; NULL: after the others, in the order of creation
) STRICT;

CREATE INDEX categories_by_workspace ON categories (workspace_id);

CREATE TABLE extensions (
    category_id TEXT NOT NULL REFERENCES categories (id) ON DELETE CASCADE,
    folded      TEXT NOT NULL,
    extension   TEXT NOT NULL,
    position    INTEGER NOT NULL,
    PRIMARY KEY (category_id, folded)
) STRICT, WITHOUT ROWID;

-- Parents are checked at the commit, so that deleting a category can delete its folders
-- in any order.
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

-- Assets.

-- An asset references an extension of its category, so that the category must allow the
-- extension, and deleting the extension deletes its assets.
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
    checksum     TEXT NOT NULL, -- SHA-256 in hex
    content      TEXT NOT NULL, -- name of the stored bytes
    uploaded_at  INTEGER NOT NULL,
    modified_at  INTEGER NOT NULL,
    image        TEXT NOT NULL CHECK (image IN ('no', 'readable', 'broken')),
    processed_at INTEGER NOT NULL, -- until then, an image is queued
    width        INTEGER NOT NULL,
    height       INTEGER NOT NULL,
    description  TEXT NOT NULL,
    tags         TEXT NOT NULL, -- JSON array
    attributes   TEXT NOT NULL, -- JSON object
    trashed_at   INTEGER,
    revision     TEXT NOT NULL DEFAULT '',
    number       INTEGER NOT NULL DEFAULT 1, -- of the revision
    made_at      INTEGER NOT NULL DEFAULT 0,
    made_by      TEXT, -- NULL: not known
    normal       TEXT NOT NULL DEFAULT '', -- the name in Unicode form C, for comparisons
    displaced    INTEGER NOT NULL DEFAULT 0 CHECK (displaced IN (0, 1)), -- 1: in the trash, and its former folder was deleted
    analysis     TEXT NOT NULL DEFAULT '' -- empty: not requested
        CHECK (analysis IN ('', 'queued', 'success', 'error', 'skipped')),
    searchable   TEXT, -- the text that a search compares, folded; NULL before the first search
    FOREIGN KEY (category_id, folded) REFERENCES extensions (category_id, folded) ON DELETE CASCADE,
    FOREIGN KEY (folder_id, category_id) REFERENCES folders (id, category_id) DEFERRABLE INITIALLY DEFERRED
) STRICT;

CREATE INDEX assets_by_container ON assets (category_id, folder_id, trashed_at, uploaded_at);
CREATE INDEX assets_in_trash ON assets (workspace_id, trashed_at) WHERE trashed_at IS NOT NULL;
CREATE INDEX assets_by_content ON assets (content);
CREATE INDEX assets_by_name ON assets (category_id, folder_id, normal, folded) WHERE trashed_at IS NULL;
CREATE INDEX assets_to_analyse ON assets (seq) WHERE analysis = 'queued';
CREATE INDEX assets_to_fold ON assets (seq) WHERE searchable IS NULL;

-- For each extension of a category: whether assets use it, and the assets that are
-- deleted with it.
CREATE INDEX assets_by_extension ON assets (category_id, folded);

-- The total size of a category or folder, and its largest assets.
CREATE INDEX assets_by_size ON assets (category_id, folder_id, size) WHERE trashed_at IS NULL;

-- Revisions and stored bytes.

-- Earlier contents of assets. The current revision is in the row of the asset, in
-- columns of the same names.
CREATE TABLE revisions (
    seq      INTEGER PRIMARY KEY,
    asset_id TEXT NOT NULL REFERENCES assets (id) ON DELETE CASCADE,
    revision TEXT NOT NULL UNIQUE,
    number   INTEGER NOT NULL, -- in the order of creation
    content  TEXT NOT NULL,
    size     INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    image    TEXT NOT NULL CHECK (image IN ('no', 'readable', 'broken')),
    width    INTEGER NOT NULL,
    height   INTEGER NOT NULL,
    made_at  INTEGER NOT NULL,
    made_by  TEXT -- NULL: not known
) STRICT;

CREATE INDEX revisions_by_asset ON revisions (asset_id);
CREATE INDEX revisions_by_content ON revisions (content);

-- Copies share stored bytes. These triggers record bytes that no asset or revision uses
-- any more. The transaction that caused it deletes these rows; then the store deletes the bytes.
CREATE TABLE released (content TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE TRIGGER release_asset AFTER DELETE ON assets
WHEN NOT EXISTS (SELECT 1 FROM assets WHERE content = OLD.content)
    AND NOT EXISTS (SELECT 1 FROM revisions WHERE content = OLD.content)
BEGIN
    INSERT OR IGNORE INTO released (content) VALUES (OLD.content);
END;

CREATE TRIGGER release_revision AFTER DELETE ON revisions
WHEN NOT EXISTS (SELECT 1 FROM assets WHERE content = OLD.content)
    AND NOT EXISTS (SELECT 1 FROM revisions WHERE content = OLD.content)
BEGIN
    INSERT OR IGNORE INTO released (content) VALUES (OLD.content);
END;

-- Recently used assets.

-- Users and the assets that they used, in the order of seq.
CREATE TABLE uses (
    seq          INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    user         TEXT NOT NULL,
    asset_id     TEXT NOT NULL REFERENCES assets (id) ON DELETE CASCADE,
    UNIQUE (asset_id, user)
) STRICT;

CREATE INDEX uses_by_user ON uses (workspace_id, user, seq);

-- Images.

-- The result of processing an image. The key is the stored bytes, so that copies and
-- restored revisions share the result. An image is processed after ready_at.
CREATE TABLE pictures (
    content   TEXT PRIMARY KEY,
    state     TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'success', 'error')),
    ready_at  INTEGER NOT NULL,
    blur_hash TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX pictures_queued ON pictures (ready_at) WHERE state = 'queued';

-- These triggers queue an image when an asset receives it, and delete its row when its
-- stored bytes are released.
CREATE TRIGGER queue_picture AFTER INSERT ON assets WHEN NEW.image <> 'no'
BEGIN
    INSERT OR IGNORE INTO pictures (content, ready_at) VALUES (NEW.content, NEW.processed_at);
END;

CREATE TRIGGER queue_replaced_picture AFTER UPDATE OF content ON assets WHEN NEW.image <> 'no'
BEGIN
    INSERT OR IGNORE INTO pictures (content, ready_at) VALUES (NEW.content, NEW.processed_at);
END;

CREATE TRIGGER drop_picture AFTER INSERT ON released
BEGIN
    DELETE FROM pictures WHERE content = NEW.content;
END;

-- The quality of renditions, if it differs from the default.
CREATE TABLE image_qualities (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    format       TEXT NOT NULL,
    quality      INTEGER NOT NULL CHECK (quality BETWEEN 1 AND 100),
    changed_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, format)
) STRICT, WITHOUT ROWID;

-- Groups and their permissions.

CREATE TABLE groups (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    is_default   INTEGER NOT NULL CHECK (is_default IN (0, 1))
) STRICT;

CREATE INDEX groups_by_workspace ON groups (workspace_id);
CREATE UNIQUE INDEX one_default_group ON groups (workspace_id) WHERE is_default = 1;

-- A deleted category stays in the list, because an empty list means all categories.
CREATE TABLE permissions (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    group_id   TEXT NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    categories TEXT NOT NULL, -- JSON array of IDs
    granted    TEXT NOT NULL  -- JSON object of booleans
) STRICT;

CREATE INDEX permissions_by_group ON permissions (group_id);

-- Search.

-- Code that changes an asset does not need to know what searches compare.
CREATE TRIGGER fold_again AFTER UPDATE OF name, extension, description, tags, attributes ON assets
WHEN OLD.searchable IS NOT NULL
BEGIN
    UPDATE assets SET searchable = NULL WHERE seq = OLD.seq;
END;

-- Limits.

-- The bytes of all assets and revisions of a workspace, so that a check of the
-- limit does not add them up for each upload and each delivery.
CREATE TABLE storage (
    workspace_id TEXT PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    bytes        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER add_asset AFTER INSERT ON assets
BEGIN
    INSERT INTO storage (workspace_id, bytes) VALUES (NEW.workspace_id, NEW.size)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER resize_asset AFTER UPDATE OF size ON assets
BEGIN
    UPDATE storage SET bytes = bytes - OLD.size + NEW.size WHERE workspace_id = NEW.workspace_id;
END;

-- Deleting an asset deletes its revisions, after the asset itself.
CREATE TRIGGER subtract_asset BEFORE DELETE ON assets
BEGIN
    UPDATE storage SET bytes = bytes - OLD.size - (SELECT coalesce(sum(size), 0) FROM revisions WHERE asset_id = OLD.id)
    WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER add_revision AFTER INSERT ON revisions
BEGIN
    UPDATE storage SET bytes = bytes + NEW.size WHERE workspace_id = (SELECT workspace_id FROM assets WHERE id = NEW.asset_id);
END;

CREATE TRIGGER subtract_revision AFTER DELETE ON revisions
BEGIN
    UPDATE storage SET bytes = bytes - OLD.size WHERE workspace_id = (SELECT workspace_id FROM assets WHERE id = OLD.asset_id);
END;
