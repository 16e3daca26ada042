package check

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"agency/internal/race"
	"agency/internal/testreport"
)

// spoken are the tokens of a document that say something, neighbouring texts as
// one; ok is false where it is no XML.
func spoken(dec *xml.Decoder) (tokens []string, ok bool) {
	text := ""
	for {
		tok, err := dec.Token()
		if data, is := tok.(xml.CharData); is {
			text += string(data)
			continue
		}
		switch tok.(type) {
		case xml.Comment, xml.Directive:
			continue
		}
		if text != "" {
			tokens, text = append(tokens, text), ""
		}
		if err != nil {
			return tokens, errors.Is(err, io.EOF)
		}
		tokens = append(tokens, fmt.Sprintf("%T %v", tok, tok))
	}
}

// Whatever a document is, the decoder holds little of it at a time.
func TestNoTokenIsLong(t *testing.T) {
	if race.Enabled {
		t.Skip("reads much")
	}
	for name, doc := range hostile() {
		dec := testreport.NewXML(doc(8 << 20))
		for at := int64(0); ; {
			_, err := dec.Token()
			held := dec.InputOffset() - at
			if at += held; held > 1<<20 {
				t.Errorf("%s: %d bytes at a time", name, held)
			}
			if err != nil {
				break
			}
		}
	}
}

// Of a document that holds nothing long, the decoder is handed what it would read
// of it anyway.
func FuzzShortXML(f *testing.F) {
	for _, doc := range []string{
		`<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "x>y"> <!-- ' --> <!ATTLIST c d CDATA '>'>]><a b="c>d">t<!-- > -->u<![CDATA[<x>]]]]></a>`,
		`<a><?x a > b ? c?>t</a>`, `<!D [ <a><b> ] <a/>`, `<a/><!"><b/>">`, `<a/><!><b/>>`, `<!D <!-- > -> --> ><a/>`, `<a><!-x></a>`, `<a><![x]></a>`, `<?`, `<!`, `<!D "`,
	} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		if len(doc) > testreport.MaxXMLName {
			return
		}
		plain := xml.NewDecoder(strings.NewReader(doc))
		plain.CharsetReader = testreport.NewXML(strings.NewReader("")).CharsetReader
		want, ok := spoken(plain)
		got, still := spoken(testreport.NewXML(strings.NewReader(doc)))
		if ok && (!still || strings.Join(got, "\n") != strings.Join(want, "\n")) {
			t.Errorf("%q: %q, and not %q", doc, got, want)
		}
	})
}
