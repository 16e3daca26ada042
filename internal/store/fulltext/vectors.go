package fulltext

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// maxVectors is how many bytes of vectors are kept.
const maxVectors = 128 << 20

// Bare is a passage that has no vector.
type Bare struct{ Key, Label, Same string }

// Bare are the passages of these sources that have no vector of a model, each text once.
// Vectors of another model are forgotten: they say nothing beside those of this one.
func (i *Index) Bare(ctx context.Context, model string, keys map[string]bool) (out []Bare, err error) {
	err = i.do(ctx, func(db *sql.DB) error {
		out = nil
		if err := follow(ctx, db, model); err != nil {
			return err
		}
		rows, err := db.QueryContext(ctx, selectBare)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		seen := map[string]bool{}
		for rows.Next() {
			var b Bare
			if err := rows.Scan(&b.Key, &b.Label, &b.Same); err != nil {
				return err
			}
			if keys[b.Key] && !seen[b.Same] {
				seen[b.Same] = true
				out = append(out, b)
			}
		}
		return rows.Err()
	})
	return out, err
}

// modelOf is the model of which vectors are kept; "": none yet.
func modelOf(ctx context.Context, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
},
) (name string, err error) {
	if err = q.QueryRowContext(ctx, selectModel).Scan(&name); errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return name, err
}

// follow makes a model the one of which vectors are kept.
func follow(ctx context.Context, db *sql.DB, model string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	have, err := modelOf(ctx, tx)
	if err != nil || have == model {
		return err
	}
	for _, s := range []string{deleteVectors, deleteModel} {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, insertModel, model); err != nil {
		return err
	}
	return tx.Commit()
}

// errFull says that no more vectors are kept.
var errFull = fmt.Errorf("the index holds its most of vectors, %d MiB", maxVectors>>20)

// AddVectors keeps vectors of a model by what their passages share. Where that is no longer
// the model of the index they are dropped.
func (i *Index) AddVectors(ctx context.Context, model string, vectors map[string][]float32) error {
	return i.do(ctx, func(db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after a commit it does nothing
		if have, err := modelOf(ctx, tx); err != nil || have != model {
			return err
		}
		var n, size int64
		if err := tx.QueryRowContext(ctx, sizeVectors).Scan(&n, &size); err != nil {
			return err
		}
		if (n+int64(len(vectors)))*size > maxVectors {
			return errFull
		}
		for same, v := range vectors {
			if _, err := tx.ExecContext(ctx, insertVector, same, pack(v)); err != nil {
				return err
			}
		}
		return tx.Commit()
	})
}

// Near finds the passages whose vectors of a model are nearest to one, by the angle between
// them, the nearest first.
func (i *Index) Near(ctx context.Context, model string, vector []float32, most int) (out []Hit, err error) {
	want := unit(vector)
	err = i.do(ctx, func(db *sql.DB) error {
		out = nil
		if have, err := modelOf(ctx, db); err != nil || have != model {
			return err
		}
		near, err := nearest(ctx, db, want, most)
		if err != nil {
			return err
		}
		for _, c := range near {
			more, err := hitsOf(ctx, db, c.same)
			if err != nil {
				return err
			}
			out = append(out, more...)
		}
		return nil
	})
	return out, err
}

type candidate struct {
	same  string
	angle float32 // its cosine
}

// nearest looks at all vectors in the order of the file, and keeps no more than it gives.
func nearest(ctx context.Context, db *sql.DB, want []float32, most int) ([]candidate, error) {
	rows, err := db.QueryContext(ctx, selectVectors)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []candidate
	byAngle := func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.angle, a.angle), cmp.Compare(a.same, b.same))
	}
	var same, data sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&same, &data); err != nil {
			return nil, err
		}
		if c, ok := cosine(want, data); ok && c > 0 {
			all = append(all, candidate{string(same), c})
		}
		if len(all) >= 4*most {
			slices.SortFunc(all, byAngle)
			all = all[:most]
		}
	}
	slices.SortFunc(all, byAngle)
	return all[:min(len(all), most)], rows.Err()
}

func hitsOf(ctx context.Context, db *sql.DB, same string) (out []Hit, err error) {
	rows, err := db.QueryContext(ctx, selectSame, same)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var h Hit
		if err := rows.Scan(&h.Key, &h.Label); err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, rows.Err()
}

// unit is a vector of the length 1 in the same direction.
func unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	out := make([]float32, len(v))
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return out
	}
	by := float32(1 / math.Sqrt(sum))
	for i, x := range v {
		out[i] = x * by
	}
	return out
}

// pack writes a vector's direction, a byte a number behind what the largest of them stands
// for: a quarter of its size, and ranks stay what they are.
func pack(v []float32) []byte {
	v = unit(v)
	var top float32
	for _, x := range v {
		top = max(top, x, -x)
	}
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(v)), math.Float32bits(top))
	for _, x := range v {
		n := 0
		if top > 0 {
			n = int(math.Round(float64(x / top * 127)))
		}
		out = append(out, byte(int8(n)))
	}
	return out
}

// cosine is that of the angle between a direction and a packed one; false where they are of
// different spaces.
func cosine(want []float32, data []byte) (float32, bool) {
	if len(data) != 4+len(want) {
		return 0, false
	}
	top := math.Float32frombits(binary.LittleEndian.Uint32(data))
	data = data[4:]
	var a, b, c, d float32
	i := 0
	for ; i+4 <= len(want); i += 4 {
		w, p := want[i:i+4:i+4], data[i:i+4:i+4]
		a += w[0] * float32(int8(p[0]))
		b += w[1] * float32(int8(p[1]))
		c += w[2] * float32(int8(p[2]))
		d += w[3] * float32(int8(p[3]))
	}
	for ; i < len(want); i++ {
		a += want[i] * float32(int8(data[i]))
	}
	return (a + b + c + d) * top / 127, true
}
