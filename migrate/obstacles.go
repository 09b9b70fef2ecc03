package migrate

import (
	"assetferry/sources"
)

// ObstacleVanished marks an item of an approved plan whose object is not listed any more.
const ObstacleVanished sources.Obstacle = "deleted at the source after the plan was approved"

// ObstacleAbsent marks an item of an uploaded object that a complete listing did not find.
const ObstacleAbsent sources.Obstacle = "not at the source any more"

// ObstacleUnseen marks an item of an uploaded object in a folder that could not be listed.
const ObstacleUnseen sources.Obstacle = "in a folder that could not be listed"

// ObstacleUnconfirmed marks an item that may have been uploaded and is not at the source any more.
const ObstacleUnconfirmed sources.Obstacle = "uploaded before and not at the source any more"
