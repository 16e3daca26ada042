package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxJSONDepth bounds how deep a document of JSON is nested.
const maxJSONDepth = 256

// errMoreJSON says that a document goes on behind its end.
var errMoreJSON = errors.New("more than one value")

// JSON walks through a document and calls each with every string, number, truth and
// null of it, and with the keys above it; an element of an array has the key "". A
// number is a json.Number, and an object or array without anything the json.Delim
// that opens it. The keys are good for the call only. What each refuses ends the walk. Of the
// document nothing is held but where the walk stands: ErrTooLarge where it has more
// than so many keys and values, or is nested deeper than anybody writes. What is no
// JSON is an error as well, behind what was told of it until then.
func JSON(doc io.Reader, most int, each func(at []string, value json.Token) error) error {
	w := jsonWalk{dec: json.NewDecoder(doc), most: most, each: each}
	w.dec.UseNumber()
	if err := w.value(); err != nil {
		return err
	}
	if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
		return errMoreJSON
	}
	return nil
}

type jsonWalk struct {
	dec  *json.Decoder
	at   []string
	most int
	each func(at []string, value json.Token) error
}

func (w *jsonWalk) token() (json.Token, error) {
	if w.most--; w.most < 0 {
		return nil, fmt.Errorf("JSON: %w", ErrTooLarge)
	}
	t, err := w.dec.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return t, err
}

func (w *jsonWalk) value() error {
	t, err := w.token()
	if err != nil {
		return err
	}
	open, is := t.(json.Delim)
	if !is {
		return w.each(w.at, t)
	}
	if len(w.at) == maxJSONDepth {
		return fmt.Errorf("JSON: %w: %d levels", ErrTooLarge, maxJSONDepth)
	}
	if !w.dec.More() {
		if err := w.each(w.at, t); err != nil {
			return err
		}
	}
	w.at = append(w.at, "")
	for w.dec.More() {
		if open == '{' {
			key, err := w.token()
			if err != nil {
				return err
			}
			w.at[len(w.at)-1], _ = key.(string) // the decoder gives no other
		}
		if err := w.value(); err != nil {
			return err
		}
	}
	w.at = w.at[:len(w.at)-1]
	_, err = w.token()
	return err
}
