package llm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"strings"
	"testing"

	"agency/internal/llm"
	"agency/internal/llm/llmtest"
)

// A picture is what its content says, whatever it is called, and its size is known without
// decoding it.
func TestReadImage(t *testing.T) {
	var asGIF, asJPEG bytes.Buffer
	at := image.Rect(0, 0, 7, 5)
	if err := errors.Join(gif.Encode(&asGIF, image.NewPaletted(at, palette.Plan9), nil), jpeg.Encode(&asJPEG, image.NewGray(at), nil)); err != nil {
		t.Fatal(err)
	}
	riff := func(chunk string) []byte { return []byte("RIFF\x00\x00\x00\x00WEBP" + chunk) }
	for name, data := range map[string][]byte{
		"image/png": llmtest.PNG(7, 5), "image/gif": asGIF.Bytes(), "image/jpeg": asJPEG.Bytes(),
		"image/webp":          riff("VP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x07\x00\x05\x00"),
		"image/webp lossless": riff("VP8L\x00\x00\x00\x00\x2f\x06\x00\x01\x00\x00\x00\x00\x00\x00"),
		"image/webp extended": riff("VP8X\x0a\x00\x00\x00\x10\x00\x00\x00\x06\x00\x00\x04\x00\x00"),
	} {
		i, err := llm.ReadImage("a.txt", data)
		if media, _, _ := strings.Cut(name, " "); err != nil || i.Media != media || i.Width != 7 || i.Height != 5 || i.Bytes != int64(len(data)) {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
	}
	for name, data := range map[string][]byte{
		"words": []byte("GIF is a word"), "empty": nil, "cut": llmtest.PNG(7, 5)[:12], "webp without a size": riff("VP8 " + strings.Repeat("\x00", 14)),
		"too wide": llmtest.PNG(llm.MaxImageSide+1, 1), "too large": append(llmtest.PNG(7, 5), make([]byte, llm.MaxImage)...),
	} {
		if i, err := llm.ReadImage("a.png", data); err == nil {
			t.Errorf("%s is a picture: %+v", name, i)
		}
	}
}

// The estimate is that of the dearest vendor, and bounded.
func TestImageTokens(t *testing.T) {
	for _, tt := range []struct {
		w, h        int
		least, most int64
	}{
		{1, 1, 1120, 1200}, {1000, 1000, 2400, 2700}, {2000, 2000, 4700, 4900}, {8000, 8000, 4784, 33000}, {8000, 1, 1120, 9000},
	} {
		n := llm.Image{Width: tt.w, Height: tt.h}.Tokens()
		if n < tt.least || n > tt.most {
			t.Errorf("%d × %d: %d tokens", tt.w, tt.h, n)
		}
		bytes := llm.Bytes(llm.Request{Messages: []llm.Message{{Blocks: []llm.Block{llm.Image{Width: tt.w, Height: tt.h}}}}})
		if got := llm.EstimateTokens(bytes); got < n || got > n+40 {
			t.Errorf("a request with it: %d tokens, want %d", got, n)
		}
	}
}

// A stored message names its pictures and does not hold them.
func TestImageIsStoredApart(t *testing.T) {
	in := llm.Message{Role: llm.User, Blocks: []llm.Block{llmtest.Picture(t, "a.png", "c1", 40, 30)}}
	raw, err := json.Marshal(in)
	if err != nil || len(raw) > 300 {
		t.Fatalf("%d bytes: %s, %v", len(raw), raw, err)
	}
	var out llm.Message
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	got, want := out.Blocks[0].(llm.Image), in.Blocks[0].(llm.Image)
	if want.Data = nil; got.Hash != want.Hash || got.String() != want.String() || got.Of != "c1" || got.Data != nil {
		t.Errorf("%+v, want %+v", got, want)
	}
}
