//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"agency/internal/agency"
	"agency/internal/daemon"
	"agency/internal/store"
)

// nowhere TEXT... looks for texts in everything that a run left: files of the
// state folder, blobs of the store (which are compressed), and the history that
// the run wrote, with its trees. The user's own commits are not the run's.
func nowhere(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: nowhere TEXT...")
	}
	for _, text := range args {
		if len(text) >= 16 { // a key: however it is written
			args = append(args, hex.EncodeToString([]byte(text)), url.QueryEscape(text))
			for shift := range 3 {
				enc := base64.StdEncoding.EncodeToString([]byte("abc"[:shift] + text))
				args = append(args, enc[4:len(enc)-4])
			}
		}
	}
	look := func(where string, b []byte) {
		for _, text := range args {
			if i := bytes.Index(b, []byte(text)); i >= 0 {
				ts.Fatalf("%s holds %s: %q", where, text, b[max(0, i-200):min(len(b), i+60)])
			}
		}
	}
	state := filepath.Join(ts.Getenv("XDG_STATE_HOME"), "agency")
	ts.Check(filepath.WalkDir(state, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(state, p) // p lies below it
		look("a name", []byte(rel))
		if !e.Type().IsRegular() || strings.Contains(p, "/work/") { // checkouts hold the user's files
			return nil
		}
		b, err := os.ReadFile(p)
		look(p, b)
		return err
	}))
	dbs, err := filepath.Glob(filepath.Join(state, "repos", "*", "agency.db"))
	ts.Check(err)
	for _, db := range dbs {
		blobs, err := blobsOf(db)
		ts.Check(err)
		if len(blobs) == 0 {
			ts.Fatalf("no blobs in %s", db)
		}
		for _, b := range blobs {
			look("a blob of "+db, b)
		}
	}
	for _, args := range [][]string{
		{"for-each-ref"},
		{"log", "--all", "--not", "main", "--format=fuller", "-p", "--full-history"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME")}
		out, err := cmd.CombinedOutput()
		ts.Check(err)
		look("git "+args[0], out)
	}
}

func blobsOf(path string) (out [][]byte, err error) {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Options{Path: path, Sets: daemon.Migrations(), ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // only read
	err = db.Read(ctx, func(s *store.Snapshot) error {
		rows, err := s.Query("SELECT hash FROM store_blob")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // only read
		for rows.Next() {
			var hash agency.Hash
			if err := rows.Scan(&hash); err != nil {
				return err
			}
			b, err := s.Blob(hash)
			if err != nil {
				return err
			}
			out = append(out, b)
		}
		return rows.Err()
	})
	return out, err
}
