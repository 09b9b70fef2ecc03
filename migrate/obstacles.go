package migrate

import (
	"assetferry/sources"
)

// ObstacleVanished marks an item of an approved plan whose object is not listed any more.
const ObstacleVanished sources.Obstacle = "gone since the plan was approved"

// ObstacleAbsent marks an item of an object that has arrived and that a whole listing did not find.
const ObstacleAbsent sources.Obstacle = "not at the source any more"

// ObstacleUnseen marks that of one which has arrived and is where the listing could not look.
const ObstacleUnseen sources.Obstacle = "where the listing could not look"

// ObstacleUnsettled marks what was sent and may have arrived, and is not at the source any more.
const ObstacleUnsettled sources.Obstacle = "sent before and not at the source any more"
