-- What processing has made of an image. It hangs on the stored bytes, so that
-- copies share it, and a revision that comes back has it already. An image is
-- looked at ready_at the earliest.
CREATE TABLE pictures (
    content   TEXT PRIMARY KEY,
    state     TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'success', 'error')),
    ready_at  INTEGER NOT NULL,
    blur_hash TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX pictures_queued ON pictures (ready_at) WHERE state = 'queued';

-- Whatever gives an asset an image, queues it, and whatever takes its last bytes
-- away, takes it off the list.
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

INSERT OR IGNORE INTO pictures (content, ready_at) SELECT content, processed_at FROM assets WHERE image <> 'no';

-- Empty: nobody has asked for an analysis.
ALTER TABLE assets ADD COLUMN analysis TEXT NOT NULL DEFAULT ''
    CHECK (analysis IN ('', 'queued', 'success', 'error', 'skipped'));

CREATE INDEX assets_to_analyse ON assets (seq) WHERE analysis = 'queued';

-- The quality of what is made of images, where it was changed.
CREATE TABLE image_qualities (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    format       TEXT NOT NULL,
    quality      INTEGER NOT NULL CHECK (quality BETWEEN 1 AND 100),
    changed_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, format)
) STRICT, WITHOUT ROWID;
