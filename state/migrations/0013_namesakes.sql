-- Assets that are not ours and go by the name, size and place of one that is, as far as a
-- plan saw them before it placed ours, or ours was replaced by a new one.
CREATE TABLE namesakes (
  pair  INTEGER NOT NULL REFERENCES pairs (id),
  asset TEXT NOT NULL,
  PRIMARY KEY (pair, asset)
) STRICT, WITHOUT ROWID;
