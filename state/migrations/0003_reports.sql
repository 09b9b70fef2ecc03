-- Who let a plan be carried out that was written to a file, and when.
ALTER TABLE runs ADD COLUMN approved_by TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN approved_at INTEGER;

-- The run that an undo takes back.
ALTER TABLE runs ADD COLUMN undoes INTEGER REFERENCES runs (num);

-- When the service says that the asset was changed last, as we left it; NULL where that
-- is not known.
ALTER TABLE receipts ADD COLUMN modified INTEGER;

-- Whether the destination is a sandbox; NULL where nobody has asked yet.
ALTER TABLE pairs ADD COLUMN rehearsal INTEGER CHECK (rehearsal IN (0, 1));

-- Categories as they were last seen at a destination, so that reports have their
-- names and know what is private.
CREATE TABLE categories (
  destination TEXT NOT NULL,
  id          TEXT NOT NULL,
  name        TEXT NOT NULL,
  private     INTEGER NOT NULL CHECK (private IN (0, 1)),
  PRIMARY KEY (destination, id)
) STRICT, WITHOUT ROWID;

-- What a run got done in each minute (since 1970): items that came to an outcome, and
-- the bytes of those that were sent, from the first outcome to the last.
CREATE TABLE throughput (
  run    INTEGER NOT NULL REFERENCES runs (num),
  minute INTEGER NOT NULL,
  items  INTEGER NOT NULL,
  bytes  INTEGER NOT NULL,
  first  INTEGER NOT NULL,
  last   INTEGER NOT NULL,
  PRIMARY KEY (run, minute)
) STRICT, WITHOUT ROWID;

-- What the last verification of a pair found, beside its sums.
CREATE TABLE differences (
  verification INTEGER NOT NULL REFERENCES verifications (id),
  key          TEXT NOT NULL,
  asset        TEXT NOT NULL,
  field        TEXT NOT NULL,
  what         TEXT NOT NULL,
  PRIMARY KEY (verification, key, field)
) STRICT, WITHOUT ROWID;

-- The addresses at which the service has an image in other sizes, NULL for what is no
-- image; images.go tells the form.
ALTER TABLE receipts ADD COLUMN images TEXT CHECK (json_type(images) = 'array');

-- Objects that are compared by their content while a plan is looked into. The digest is
-- of as much as was read so far; NULL if nothing could be read.
CREATE TABLE contents (
  run    INTEGER NOT NULL REFERENCES runs (num),
  key    TEXT NOT NULL,
  size   INTEGER NOT NULL,
  digest BLOB,
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;
