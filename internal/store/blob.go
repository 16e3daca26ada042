package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"

	"agency/internal/agency"

	"github.com/klauspost/compress/zstd"
)

// MaxBlob is the largest blob, in bytes before compression.
const MaxBlob = 64 << 20

// The forms in which a blob's data is kept.
const (
	codecPlain = 0
	codecZstd  = 1
)

// compressor compresses blobs. Both halves may be used by several goroutines.
type compressor struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newCompressor() (compressor, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return compressor{}, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxBlob+1))
	return compressor{enc: enc, dec: dec}, err
}

// HashOf is the name that a blob of these bytes gets.
func HashOf(b []byte) agency.Hash {
	sum := sha256.Sum256(b)
	return agency.Hash(hex.EncodeToString(sum[:]))
}

// PutBlob stores b, redacted, and returns the hash of what was stored. The
// same content is stored once.
func (tx *Tx) PutBlob(b []byte) (agency.Hash, error) {
	b = tx.Redact(b)
	if len(b) > MaxBlob {
		return "", agency.Errorf(agency.KindInvalid, "blob of %d bytes: at most %d are stored", len(b), MaxBlob)
	}
	hash := HashOf(b)
	var one int
	switch err := tx.QueryRow(hasBlob, hash).Scan(&one); {
	case err == nil:
		return hash, nil
	case !errors.Is(err, sql.ErrNoRows):
		return "", err
	}
	codec, data := codecPlain, b
	if packed := tx.batch.w.db.zip.enc.EncodeAll(b, nil); len(packed) < len(b) {
		codec, data = codecZstd, packed
	}
	if data == nil {
		data = []byte{} // a nil slice would be NULL
	}
	// Straight to the conn: redacting compressed bytes would destroy them.
	_, err := tx.batch.w.conn.exec(insertBlob, string(hash), len(b), codec, data)
	return hash, tx.note(err)
}

// SweepBlobs deletes the blobs that no row of any set names and says how many
// there were. A closure that stores a blob stores the row that names it too,
// so what is under way elsewhere is safe: it comes wholly before or after.
func (tx *Tx) SweepBlobs() (int64, error) {
	if len(tx.batch.w.db.named) == 0 {
		return 0, nil
	}
	res, err := tx.Exec(deleteUnnamed(tx.batch.w.db.named))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Blob reads a blob; KindNotFound when there is none of this hash.
func (tx *Tx) Blob(h agency.Hash) ([]byte, error) { return tx.batch.w.db.readBlob(tx, h) }

// Blob reads a blob; KindNotFound when there is none of this hash.
func (s *Snapshot) Blob(h agency.Hash) ([]byte, error) { return s.db.readBlob(s, h) }

// Blob reads a blob; KindNotFound when there is none of this hash.
func (db *DB) Blob(ctx context.Context, h agency.Hash) (b []byte, err error) {
	err = db.Read(ctx, func(s *Snapshot) error {
		b, err = s.Blob(h)
		return err
	})
	return b, err
}

func (db *DB) readBlob(q Querier, h agency.Hash) ([]byte, error) {
	var codec int
	var data []byte
	err := q.QueryRow(selectBlob, h).Scan(&codec, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, agency.Errorf(agency.KindNotFound, "blob %s is not in the store", h)
	}
	if err != nil {
		return nil, err
	}
	if codec == codecZstd {
		if data, err = db.zip.dec.DecodeAll(data, nil); err != nil {
			return nil, corrupt(db.path, "blob "+string(h)+": "+err.Error())
		}
	}
	if HashOf(data) != h {
		return nil, corrupt(db.path, "blob "+string(h)+" has other content")
	}
	return data, nil
}
