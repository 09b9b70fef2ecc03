// Package s3server tests S3 as a source with a real S3 server, which verifies signatures: the tests
// of package sourcetest, and the built program, killed and resumed. It is a module of its own,
// because that server has many dependencies.
//
// ASSETFERRY_S3SERVER_OBJECTS is the number of objects that the program uploads; the default is
// 2,000.
package s3server
