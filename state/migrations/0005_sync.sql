-- The key under which an object had arrived that goes by another one now; empty but for
-- what is moved.
ALTER TABLE items ADD COLUMN origin TEXT NOT NULL DEFAULT '';

-- What a run was about to replace, describe, move or trash, as it was before: the receipt
-- of the journal, and of the asset what people can change. An undo needs both.
CREATE TABLE former (
  run     INTEGER NOT NULL REFERENCES runs (num),
  key     TEXT NOT NULL,
  receipt TEXT NOT NULL CHECK (json_type(receipt) = 'object'),
  asset   TEXT NOT NULL CHECK (json_type(asset) = 'object'),
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

-- Objects that have arrived and that finished runs did not find at the source any more:
-- since when, and how many runs in a row.
CREATE TABLE orphans (
  pair  INTEGER NOT NULL REFERENCES pairs (id),
  key   TEXT NOT NULL,
  since INTEGER NOT NULL,
  runs  INTEGER NOT NULL,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

-- What the source said of an object when its asset was described last.
CREATE TABLE described (
  pair     INTEGER NOT NULL,
  key      TEXT NOT NULL,
  metadata TEXT NOT NULL CHECK (json_type(metadata) = 'object'),
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

-- Since when an object fails run after run; NULL in rows of earlier versions.
ALTER TABLE failures ADD COLUMN since INTEGER;

-- How far the receipts of a pair were compared with the destination in the last night.
ALTER TABLE pairs ADD COLUMN drift_cursor TEXT NOT NULL DEFAULT '';

-- Why a guard kept a run, or a part of it, from being carried out, and how far its plan
-- compared receipts with the destination.
ALTER TABLE runs ADD COLUMN stopped TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN drift_cursor TEXT NOT NULL DEFAULT '';

-- When the items of a run were deleted because it is too long ago; its sums stay.
ALTER TABLE runs ADD COLUMN pruned_at INTEGER;
