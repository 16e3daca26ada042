package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/textproto"
	"os"
	"strings"
	"syscall"

	"agency/internal/agency"
)

// errElsewhere is a redirect that is not followed.
var errElsewhere = errors.New("redirected")

// errPlain is a request that would go to another machine without encryption.
var errPlain = errors.New("not encrypted")

// refused is an error about the channel itself: trying again does not help.
func refused(format string, args ...any) *agency.Error {
	return agency.Errorf(agency.KindInvalid, format, args...)
}

// reason says why the other side was not reached, in words of ours alone.
func reason(err error) error {
	var dns *net.DNSError
	var reply *textproto.Error
	var timeout net.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errElsewhere):
		return refused("it redirects, and no message is sent to another address than the configured one").WithMend("write the address that it redirects to")
	case errors.Is(err, errPlain):
		return refused("it would be spoken to without encryption").WithMend("take disabletls out of the url, or write insecure: true")
	case untrusted(err):
		return refused("its TLS certificate is not trusted").WithMend("mend the server's certificate, or its certificate authority on this machine")
	case errors.As(err, &reply):
		return mailReply(reply.Code)
	case errors.As(err, &dns) && dns.IsNotFound:
		return agency.Errorf(agency.KindTransient, "the name of its host is not known").WithMend("see whether the url is right, and the network up")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return agency.Errorf(agency.KindTransient, "no answer in time").WithMend("see whether the host of the url is up and can be reached from here")
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, syscall.ECONNREFUSED):
		return agency.Errorf(agency.KindTransient, "the connection was refused").WithMend("see whether its server runs, and the port of the url")
	case tlsBroken(err):
		return agency.Errorf(agency.KindTransient, "it does not speak TLS there").WithMend("see whether the scheme and the port of the url belong together")
	}
	return agency.Errorf(agency.KindTransient, "the connection failed").WithMend("see whether the host of the url can be reached from here")
}

// untrusted tells whether a certificate was refused.
func untrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &invalid)
}

func tlsBroken(err error) bool {
	var header tls.RecordHeaderError
	return errors.As(err, &header) || strings.Contains(err.Error(), "HTTP response to HTTPS client")
}

// mailReply says what a mail server's code means (RFC 5321, 4.2.3). What it says beside the
// code may quote what it was told.
func mailReply(code int) error {
	switch {
	case code == 535 || code == 534 || code == 530:
		return refused("the mail server refused the user or password (%d)", code).WithMend("mend the user and password in the url")
	case code/100 == 4:
		return agency.Errorf(agency.KindTransient, "the mail server cannot take it now (%d)", code).WithMend("try again later")
	}
	return refused("the mail server refused the message (%d)", code).WithMend("see whether the sender and the recipients are right: from and to")
}

// status judges the answer of a server.
func status(code int) error {
	switch {
	case code/100 == 2:
		return nil
	case code/100 == 3:
		return reason(errElsewhere)
	case code == 408 || code == 425 || code == 429 || code/100 == 5:
		return agency.Errorf(agency.KindTransient, "it answered with status %d", code).WithMend("try again later, or see its server's log")
	case code == 401 || code == 403 || code == 404 || code == 410:
		return refused("it answered with status %d", code).WithMend("see whether the url still holds: a key in it may have been withdrawn")
	}
	return refused("it answered with status %d", code).WithMend("see whether the url takes such messages")
}
