package registry

import (
	"errors"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/store"
)

// AddImages keeps the pictures that a person gives a run.
func AddImages(tx *store.Tx, run agency.RunID, images []llm.Image) error {
	for n, i := range images {
		blob, err := tx.PutBlob(i.Data)
		if err == nil && blob != i.Hash {
			err = agency.Errorf(agency.KindDenied, "the picture %s holds a secret of the configuration", i.Name)
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(insertImage, string(run), n, i.Name, string(blob)); err != nil {
			return err
		}
	}
	return nil
}

// Images are the pictures that a person gave a run, in their order.
func Images(q *store.Snapshot, run agency.RunID) (out []llm.Image, err error) {
	rows, err := q.Query(selectImages, string(run))
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var i llm.Image
		if err := rows.Scan(&i.Name, &i.Hash); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		out = append(out, i)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for n, i := range out {
		data, err := q.Blob(i.Hash)
		if err != nil {
			return nil, err
		}
		if out[n], err = llm.ReadImage(i.Name, data); err != nil {
			return nil, err
		}
	}
	return out, nil
}
