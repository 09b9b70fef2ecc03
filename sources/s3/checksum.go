package s3

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"net/http"
	"strings"
)

// crc64NVME is the polynomial of CRC64NVME, reversed.
const crc64NVME = 0x9a6c_9329_ac4b_c9b5

// checksums are the algorithms of S3. If an answer has several checksums, the last one counts, as in
// the SDK.
var checksums = []struct {
	name, header string
	start        func() hash.Hash
}{
	{"CRC64NVME", "X-Amz-Checksum-Crc64nvme", func() hash.Hash { return crc64.New(crc64.MakeTable(crc64NVME)) }},
	{"CRC32", "X-Amz-Checksum-Crc32", func() hash.Hash { return crc32.NewIEEE() }},
	{"CRC32C", "X-Amz-Checksum-Crc32c", func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }},
	{"SHA256", "X-Amz-Checksum-Sha256", sha256.New},
	{"SHA1", "X-Amz-Checksum-Sha1", sha1.New},
	{"SHA512", "X-Amz-Checksum-Sha512", sha512.New},
}

// checked returns a body that fails at its end if it has another checksum than the header. Checksums
// of the checksums of parts contain a hyphen, and cannot be compared.
func checked(body io.ReadCloser, header http.Header) io.ReadCloser {
	c := checkedBody{ReadCloser: body}
	for _, known := range checksums {
		if value := header.Get(known.header); value != "" {
			c.name, c.want, c.sum = known.name, value, known.start()
		}
	}
	if c.sum == nil || strings.Contains(c.want, "-") {
		return body
	}
	return &c
}

type checkedBody struct {
	io.ReadCloser
	name, want string
	sum        hash.Hash
}

func (c *checkedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	_, _ = c.sum.Write(p[:n]) // it never fails
	if err == io.EOF {
		if got := base64.StdEncoding.EncodeToString(c.sum.Sum(nil)); !strings.EqualFold(got, c.want) {
			return n, fmt.Errorf("checksum did not match: algorithm %s, expect %s, actual %s", c.name, c.want, got)
		}
	}
	return n, err
}
