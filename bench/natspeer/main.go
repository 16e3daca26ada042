// Command natspeer is the contender that sends messages through NATS JetStream,
// embedded and with a sync before each acknowledgement. It is a module of its
// own, so that the server's dependencies bind nobody.
//
//	natspeer send DIR SENDERS EACH      messages a second
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const messageBytes = 240

func main() {
	rate, err := contend(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "natspeer:", err)
		os.Exit(1)
	}
	fmt.Println(rate)
}

func contend(args []string) (rate float64, err error) {
	if len(args) < 3 {
		return 0, errors.New("want send DIR SENDERS EACH")
	}
	var n []int
	for _, a := range args[2:] {
		v, err := strconv.Atoi(a)
		if err != nil {
			return 0, err
		}
		n = append(n, v)
	}
	s, err := server.NewServer(&server.Options{
		DontListen: true, JetStream: true, StoreDir: args[1], SyncAlways: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		return 0, err
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(30 * time.Second) {
		return 0, errors.New("the server did not start")
	}
	switch {
	case args[0] == "send" && len(n) == 2:
		return send(s, n[0], n[1])
	}
	return 0, fmt.Errorf("unknown job %q", args)
}

// client is a connection in the server's own process, which spares it the
// network.
func client(s *server.Server) (*nats.Conn, jetstream.JetStream, error) {
	c, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(c)
	return c, js, err
}

// send measures senders that each wait for the acknowledgement of a message
// before they send the next.
func send(s *server.Server, senders, each int) (float64, error) {
	ctx := context.Background()
	c, js, err := client(s)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "MAIL", Subjects: []string{"mail.>"}, Storage: jetstream.FileStorage}); err != nil {
		return 0, err
	}
	body := []byte(strings.Repeat("m", messageBytes))
	conns := make([]jetstream.JetStream, senders)
	for i := range conns {
		c, own, err := client(s)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		conns[i] = own
	}
	errs := make([]error, senders)
	var all sync.WaitGroup
	begun := time.Now()
	for i := range senders {
		all.Go(func() {
			for n := range each {
				_, err := conns[i].Publish(ctx, fmt.Sprintf("mail.%d", i), body, jetstream.WithMsgID(fmt.Sprintf("%d-%d", i, n)))
				if err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	all.Wait()
	return float64(senders*each) / time.Since(begun).Seconds(), errors.Join(errs...)
}
