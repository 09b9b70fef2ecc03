package migrate

// Absent marks, in the journal, the items of objects that have arrived and that a whole
// listing did not find: see absent.
const Absent = string(absent)
