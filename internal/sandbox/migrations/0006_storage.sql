-- The bytes of all assets and revisions of a workspace, so that a limit need not add
-- them up for each upload and each delivery.
CREATE TABLE storage (
    workspace_id TEXT PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    bytes        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO storage (workspace_id, bytes)
SELECT workspace_id, sum(size) FROM (
    SELECT workspace_id, size FROM assets
    UNION ALL
    SELECT a.workspace_id, r.size FROM revisions r JOIN assets a ON a.id = r.asset_id
) GROUP BY workspace_id;

CREATE TRIGGER add_asset AFTER INSERT ON assets
BEGIN
    INSERT INTO storage (workspace_id, bytes) VALUES (NEW.workspace_id, NEW.size)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER resize_asset AFTER UPDATE OF size ON assets
BEGIN
    UPDATE storage SET bytes = bytes - OLD.size + NEW.size WHERE workspace_id = NEW.workspace_id;
END;

-- The revisions go with their asset, and after it.
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
