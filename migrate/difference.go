package migrate

// FieldFurther is the field of a Difference that reports further assets of the name and
// size of one of ours, in the same place. They are what another state database leaves that
// is used for the same destination: no run can see that while both are at work.
const FieldFurther = "further"

// A Difference is one thing that is not as the state database says. A Note is no fault
// of the transfer, such as an image that the service cannot process.
type Difference struct {
	Key, Asset string
	Field      string // "presence", "place", "size", "name", "content", "processing" or FieldFurther
	Want, Got  string // where they can be said in a word
	What       string // for people: what the asset is or does
	Note       bool
}
