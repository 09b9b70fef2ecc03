-- How much is in a place, and which of it is the largest.
CREATE INDEX assets_by_size ON assets (category_id, folder_id, size) WHERE trashed_at IS NULL;
