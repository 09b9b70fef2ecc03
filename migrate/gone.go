package migrate

import "assetferry/sources"

// absent marks an item of an object that has arrived and that a whole listing did not find.
const absent sources.Obstacle = "not at the source any more"
