package llm

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
)

// isTLS says that the connection failed because the two ends do not agree on
// who they are: trying for minutes does not mend that.
func isTLS(err error) bool {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		verify    *tls.CertificateVerificationError
	)
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &record) || errors.As(err, &verify)
}

// safeURL leaves out a password.
func safeURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "its base_url"
	}
	return u.Redacted()
}
