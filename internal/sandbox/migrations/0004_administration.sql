-- Groups, their permissions, and the order of categories.

CREATE TABLE groups (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    is_default   INTEGER NOT NULL CHECK (is_default IN (0, 1))
) STRICT;

CREATE INDEX groups_by_workspace ON groups (workspace_id);
CREATE UNIQUE INDEX one_default_group ON groups (workspace_id) WHERE is_default = 1;

-- A category that is deleted stays in the list: an empty list means all categories.
CREATE TABLE permissions (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    group_id   TEXT NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    categories TEXT NOT NULL, -- JSON array of IDs
    granted    TEXT NOT NULL  -- JSON object of booleans
) STRICT;

CREATE INDEX permissions_by_group ON permissions (group_id);

INSERT INTO groups (id, workspace_id, name, is_default)
SELECT 'default-' || id, id, 'Default group', 1 FROM workspaces;

INSERT INTO permissions (id, group_id, categories, granted)
SELECT id, id, '[]', '{"category:access":true,"asset:create":true,"asset:delete":true,"asset:metadata:modify":true,'
    || '"asset:overwrite":true,"asset:revision:change":true,"asset:revision:delete":true,'
    || '"folder:create":true,"folder:delete":true,"folder:metadata:modify":true}'
FROM groups;

-- Where a category stands in the order that an administrator gave; until then, and
-- for new ones, the order is that of creation.
ALTER TABLE categories ADD COLUMN position INTEGER;

-- What a search looks at, folded; NULL until one has come by. Whatever changes an
-- asset need not know of it.
ALTER TABLE assets ADD COLUMN searchable TEXT;

CREATE INDEX assets_to_fold ON assets (seq) WHERE searchable IS NULL;

CREATE TRIGGER fold_again AFTER UPDATE OF name, extension, description, tags, attributes ON assets
WHEN OLD.searchable IS NOT NULL
BEGIN
    UPDATE assets SET searchable = NULL WHERE seq = OLD.seq;
END;

ALTER TABLE workspaces ADD COLUMN ai_processing INTEGER NOT NULL DEFAULT 0 CHECK (ai_processing IN (0, 1));

-- What holds for a whole environment, where somebody has set it.
CREATE TABLE environments (
    id         TEXT PRIMARY KEY,
    extensions TEXT NOT NULL DEFAULT '[]', -- JSON array, as given
    restricted INTEGER NOT NULL DEFAULT 0 CHECK (restricted IN (0, 1)), -- to these extensions
    template   TEXT -- JSON array of the categories of new workspaces; NULL: those that come with the sandbox
) STRICT, WITHOUT ROWID;
