package migrate

// FieldFurther is the field of a Difference about extra assets with the name and size of one of
// ours, in the same place. Another state database with the same destination causes them: no run can
// notice that while both are in use.
const FieldFurther = "further"

// FieldModified is the field of a Difference about an asset that was changed at the destination
// since a time: its content, description, tags or other metadata.
const FieldModified = "modified"

// A Difference is one difference between the destination and the state database. A Note is no
// failure of the upload, such as an image that the service cannot process.
type Difference struct {
	Key, Asset string
	Field      string // "presence", "place", "size", "name", "content", "processing", FieldFurther or FieldModified
	Want, Got  string // if they are short
	What       string // for people: the difference
	Note       bool
}
