-- What was found of an object, by where it was found, when its asset was described last.
ALTER TABLE described ADD COLUMN found TEXT NOT NULL DEFAULT '{}' CHECK (json_type(found) = 'object');

-- Files beside objects that describe them, as they were listed last. An asset that is there
-- already is still to be described by one that is pending; sidecars.go tells the values.
CREATE TABLE sidecars (
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  key         TEXT NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  pending     INTEGER NOT NULL,
  folded      TEXT NOT NULL,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX sidecars_folded ON sidecars (pair, folded);

CREATE INDEX sidecars_pending ON sidecars (pair, key) WHERE pending <> 0;

-- Keys under which objects had arrived that go by another one now: that of a receipt.
CREATE TABLE former_keys (
  pair  INTEGER NOT NULL REFERENCES pairs (id),
  key   TEXT NOT NULL,
  owner TEXT NOT NULL,
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX former_keys_owner ON former_keys (pair, owner);

-- Objects whose content is that of another one, the owner, and which have no asset but the
-- one of that: as they were when that was found.
CREATE TABLE aliases (
  pair        INTEGER NOT NULL REFERENCES pairs (id),
  key         TEXT NOT NULL,
  size        INTEGER NOT NULL,
  time        INTEGER NOT NULL,
  version_tag TEXT NOT NULL,
  owner       TEXT NOT NULL,
  run         INTEGER NOT NULL REFERENCES runs (num),
  PRIMARY KEY (pair, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX aliases_owner ON aliases (pair, owner);

-- What was found of the objects of a run, by where it was found: of how many, and of how many
-- of these it went nowhere.
CREATE TABLE fields (
  run      INTEGER NOT NULL REFERENCES runs (num),
  origin   TEXT NOT NULL,
  field    TEXT NOT NULL,
  objects  INTEGER NOT NULL,
  unmapped INTEGER NOT NULL,
  PRIMARY KEY (run, origin, field)
) STRICT, WITHOUT ROWID;
