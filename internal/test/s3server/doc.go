// Package s3server tests S3 as a source on a real S3 server, which verifies signatures:
// the law of sources, and the built program, killed and resumed. It is a module of its
// own, because that server brings many others.
//
// ASSETFERRY_S3SERVER_OBJECTS says how many objects the program has to bring over; 2,000
// without it.
package s3server
