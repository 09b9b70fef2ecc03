-- Addresses that objects had, as their sources say, and in the form in which addresses are
-- compared. What was said once stays.
CREATE TABLE given_addresses (
  pair       INTEGER NOT NULL REFERENCES pairs (id),
  key        TEXT NOT NULL,
  address    TEXT NOT NULL,
  comparable TEXT NOT NULL,
  PRIMARY KEY (pair, key, address)
) STRICT, WITHOUT ROWID;

CREATE INDEX given_addresses_comparable ON given_addresses (pair, comparable);

-- The moves that are remembered, as far as none was taken back, each followed to the key
-- that the object got last. A key may have been that of several objects: the last one has it.
CREATE TABLE moves (
  pair  INTEGER NOT NULL,
  key   TEXT NOT NULL,
  num   INTEGER NOT NULL,
  owner TEXT NOT NULL,
  PRIMARY KEY (pair, key, num)
) STRICT, WITHOUT ROWID;

INSERT OR REPLACE INTO moves (pair, key, num, owner) SELECT r.pair, i.origin, r.num, i.key FROM items i JOIN runs r ON r.num = i.run
  WHERE i.origin <> '' AND i.state = 'done' AND r.undoes IS NULL
  AND NOT EXISTS (SELECT 1 FROM runs u JOIN items t ON t.run = u.num AND t.key = i.key WHERE u.undoes = r.num AND t.state = 'done');

INSERT OR REPLACE INTO former_keys (pair, key, owner)
  WITH RECURSIVE followed AS (
    SELECT pair, key, num AS first, num AS last, owner FROM moves
    UNION ALL SELECT f.pair, f.key, f.first, m.num, m.owner FROM followed f CROSS JOIN moves m ON m.pair = f.pair AND m.key = f.owner
      AND m.num = (SELECT min(n.num) FROM moves n WHERE n.pair = f.pair AND n.key = f.owner AND n.num > f.last)
  )
  SELECT pair, key, owner FROM followed ORDER BY first, last;

DELETE FROM former_keys WHERE key = owner;

DROP TABLE moves;
