-- What is asked of each extension of a category: whether it is in use, and, when it
-- is dropped, which assets go with it.
CREATE INDEX assets_by_extension ON assets (category_id, folded);
