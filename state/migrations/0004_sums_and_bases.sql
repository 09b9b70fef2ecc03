-- Whether the tallies of a run are kept, which they are once its plan is finished.
ALTER TABLE runs ADD COLUMN tallied INTEGER NOT NULL DEFAULT 0 CHECK (tallied IN (0, 1));

-- How many items of a run share an action, a reason and a state, and their bytes, so that
-- nobody has to count them. Those that are in flight or wait are few, and counted.
CREATE TABLE tallies (
  run     INTEGER NOT NULL REFERENCES runs (num),
  action  TEXT NOT NULL,
  reason  TEXT NOT NULL,
  state   TEXT NOT NULL CHECK (state NOT IN ('sending', 'sent', 'in_doubt', 'waiting')),
  objects INTEGER NOT NULL,
  bytes   INTEGER NOT NULL,
  PRIMARY KEY (run, action, reason, state)
) STRICT, WITHOUT ROWID;

INSERT INTO tallies (run, action, reason, state, objects, bytes)
  SELECT r.num, coalesce(i.action, ''), i.reason, i.state, count(*), sum(i.size)
  FROM runs r JOIN items i ON i.run = r.num
  WHERE r.state NOT IN ('scanning', 'planning') AND i.state NOT IN ('sending', 'sent', 'in_doubt', 'waiting')
  GROUP BY 1, 2, 3, 4;

UPDATE runs SET tallied = 1 WHERE state NOT IN ('scanning', 'planning');

-- How many receipts a pair has, and their bytes, for the same reason.
ALTER TABLE pairs ADD COLUMN objects INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pairs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

UPDATE pairs SET (objects, bytes) = (SELECT count(*), coalesce(sum(size), 0) FROM receipts WHERE pair = pairs.id);

-- What many assets of a destination have in common: their category, what their addresses
-- are before and after the id, and of what type their content is, where the source keeps
-- that and nothing else with it. bases.go tells which rows name one instead.
CREATE TABLE bases (
  id           INTEGER PRIMARY KEY,
  category     TEXT NOT NULL,
  url_before   TEXT NOT NULL,
  url_after    TEXT NOT NULL,
  content_type TEXT NOT NULL,
  UNIQUE (category, url_before, url_after, content_type)
) STRICT;

ALTER TABLE items ADD COLUMN base INTEGER REFERENCES bases (id);
ALTER TABLE receipts ADD COLUMN base INTEGER REFERENCES bases (id);
