-- An alias counts as long as the asset of its owner has this content. Nobody had any before.
ALTER TABLE aliases ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
