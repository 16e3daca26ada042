package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/smtp"
	"net/url"
	"strings"
	"time"
)

// email hands a message to the mail server of the url: smtp:// with STARTTLS, without only on
// this machine or where the channel says insecure; smtps:// with TLS from the first byte.
//
// The library's own SMTP goes on unencrypted where a server offers nothing else, and once
// connected waits for ever.
func (s Sender) email(ctx context.Context, c Channel, m Message) error {
	u, err := mailServer(c)
	if err != nil {
		return err
	}
	conn, err := dialMail(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it may have been closed with the conversation
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	client, err := smtp.NewClient(conn, u.Hostname())
	if err != nil {
		return reason(err)
	}
	if err := secure(client, c, u); err != nil {
		return err
	}
	if u.User != nil {
		password, _ := u.User.Password()
		if err := client.Auth(smtp.PlainAuth("", u.User.Username(), password, u.Hostname())); err != nil {
			return reason(err)
		}
	}
	from := cmp.Or(c.From, sender(u))
	if err := client.Mail(from); err != nil {
		return reason(err)
	}
	for _, to := range c.To {
		if err := client.Rcpt(to); err != nil {
			return reason(err)
		}
	}
	w, err := client.Data()
	if err == nil {
		_, err = w.Write(s.letter(from, c.To, m))
	}
	if err == nil {
		err = w.Close() // the server has it from here on
	}
	if err != nil {
		return reason(err)
	}
	_ = client.Quit() // how it says good-bye changes nothing
	return nil
}

// secure has the conversation encrypted, or refuses it.
func secure(client *smtp.Client, c Channel, u *url.URL) error {
	if u.Scheme == "smtps" {
		return nil
	}
	offered, _ := client.Extension("STARTTLS")
	switch {
	case offered:
		return reason(client.StartTLS(&tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}))
	case !c.Insecure && !loopback(u.Hostname()):
		return refused("the mail server offers no encryption").WithMend("write smtps://, or insecure: true")
	}
	return nil
}

func mailServer(c Channel) (*url.URL, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, refused("its url is no mail server").WithMend("write smtp://user:password@host:587, or smtps://")
	}
	if len(c.To) == 0 {
		return nil, refused("it has no recipient").WithMend("write to: [you@example.org]")
	}
	return u, nil
}

// dialMail connects to the mail server, by TLS where the scheme says so.
func dialMail(ctx context.Context, c Channel) (net.Conn, error) {
	u, err := mailServer(c)
	if err != nil {
		return nil, err
	}
	addr := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"smtp": "25", "smtps": "465"}[u.Scheme]))
	var conn net.Conn
	if u.Scheme == "smtps" {
		conn, err = (&tls.Dialer{Config: &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", addr)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}
	return conn, reason(err)
}

// sender is who writes where the channel does not say it.
func sender(u *url.URL) string {
	if name := u.User.Username(); strings.Contains(name, "@") {
		return name
	}
	return "agency@" + u.Hostname()
}

// letter is a message as a mail. The id is the same whenever the same is sent again, so that
// mail servers and readers keep one of it.
func (s Sender) letter(from string, to []string, m Message) []byte {
	host := from[strings.LastIndexByte(from, '@')+1:]
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", "agency <" + from + ">"},
		{"To", strings.Join(to, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", m.Title)},
		{"Date", s.now().Format(time.RFC1123Z)},
		{"Message-ID", fmt.Sprintf("<%s@%s>", idText(m.Key), host)},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(h[0] + ": " + strings.NewReplacer("\r", " ", "\n", " ").Replace(h[1]) + "\r\n")
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = io.WriteString(w, strings.Join(m.Lines, "\r\n")+"\r\n") // to memory
	_ = w.Close()
	return b.Bytes()
}

// idText is a key of letters that an id may hold.
func idText(key string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '.'
	}, key)
}
