-- What assets held before. The current revision is a part of the asset itself, in
-- columns of the same names.
CREATE TABLE revisions (
    seq      INTEGER PRIMARY KEY,
    asset_id TEXT NOT NULL REFERENCES assets (id) ON DELETE CASCADE,
    revision TEXT NOT NULL UNIQUE,
    number   INTEGER NOT NULL, -- in the order in which they were made
    content  TEXT NOT NULL,
    size     INTEGER NOT NULL,
    digest   TEXT NOT NULL,
    image    TEXT NOT NULL CHECK (image IN ('no', 'readable', 'broken')),
    width    INTEGER NOT NULL,
    height   INTEGER NOT NULL,
    made_at  INTEGER NOT NULL,
    made_by  TEXT -- NULL: not known
) STRICT;

CREATE INDEX revisions_by_asset ON revisions (asset_id);
CREATE INDEX revisions_by_content ON revisions (content);

ALTER TABLE assets ADD COLUMN revision TEXT NOT NULL DEFAULT '';
ALTER TABLE assets ADD COLUMN number INTEGER NOT NULL DEFAULT 1;
ALTER TABLE assets ADD COLUMN made_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN made_by TEXT;
-- The name in Unicode's form C, in which names are compared.
ALTER TABLE assets ADD COLUMN normal TEXT NOT NULL DEFAULT '';
-- In the trash, and the folder that it came from has been deleted.
ALTER TABLE assets ADD COLUMN displaced INTEGER NOT NULL DEFAULT 0 CHECK (displaced IN (0, 1));

UPDATE assets SET revision = lower(hex(randomblob(16))), made_at = uploaded_at;

CREATE INDEX assets_by_content ON assets (content);
CREATE INDEX assets_by_name ON assets (category_id, folder_id, normal, folded) WHERE trashed_at IS NULL;

-- Copies share stored bytes. Whatever deletes an asset or a revision, these say
-- which bytes nothing needs any more; the change that caused it takes them out.
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

-- Who used what, in the order of seq.
CREATE TABLE uses (
    seq          INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    user         TEXT NOT NULL,
    asset_id     TEXT NOT NULL REFERENCES assets (id) ON DELETE CASCADE,
    UNIQUE (asset_id, user)
) STRICT;

CREATE INDEX uses_by_user ON uses (workspace_id, user, seq);
