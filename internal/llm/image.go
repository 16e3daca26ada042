package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"slices"

	"agency/internal/agency"
)

// Image is a picture that a model is shown: the user's, or what a call's result shows. It
// stands behind the results of its message. Its JSON form has everything but Data, which
// whoever stores a message stores apart, by Hash.
type Image struct {
	Name          string // as whoever shows it calls it
	Of            string // the ToolUse whose result shows it; empty: the user's
	Media         string // its media type
	Hash          agency.Hash
	Bytes         int64
	Width, Height int // in pixels
	Data          []byte
}

func (Image) block() {}

// The most that a picture may be, and those of a request together: what every vendor takes.
const (
	// MaxImage is in bytes: in base64 it is 5 MB.
	MaxImage = 3_750_000
	// MaxImageSide is in pixels.
	MaxImageSide = 8000
	MaxImages    = 16
	// MaxImagesBytes is of all pictures of a request.
	MaxImagesBytes = 12_000_000
)

// ErrNoImage says that bytes are no picture of a kind that models see.
var ErrNoImage = errors.New("it is no PNG, JPEG, GIF or WebP picture")

// ReadImage tells what a picture is by its content. Only its head is decoded.
func ReadImage(name string, data []byte) (Image, error) {
	media, size, err := headOf(data)
	if err != nil {
		return Image{}, err
	}
	sum := sha256.Sum256(data)
	i := Image{
		Name: name, Media: media, Hash: agency.Hash(hex.EncodeToString(sum[:])), Bytes: int64(len(data)),
		Width: size.Width, Height: size.Height, Data: data,
	}
	return i, i.fits()
}

// fits says what of a picture is beyond the limits.
func (i Image) fits() error {
	switch {
	case i.Width <= 0 || i.Height <= 0:
		return ErrNoImage
	case i.Bytes > MaxImage:
		return fmt.Errorf("it has %d bytes, and the most of a picture that a model sees is %d", i.Bytes, MaxImage)
	case max(i.Width, i.Height) > MaxImageSide:
		return fmt.Errorf("it has %d × %d pixels, and the most of a side that a model sees is %d", i.Width, i.Height, MaxImageSide)
	}
	return nil
}

func headOf(data []byte) (media string, size image.Config, err error) {
	head := func(s string) bool { return bytes.HasPrefix(data, []byte(s)) }
	switch {
	case head("\x89PNG\r\n\x1a\n"):
		media = "image/png"
		size, err = png.DecodeConfig(bytes.NewReader(data))
	case head("\xff\xd8\xff"):
		media = "image/jpeg"
		size, err = jpeg.DecodeConfig(bytes.NewReader(data))
	case head("GIF87a"), head("GIF89a"):
		media = "image/gif"
		size, err = gif.DecodeConfig(bytes.NewReader(data))
	case head("RIFF") && len(data) >= 30 && string(data[8:12]) == "WEBP":
		media = "image/webp"
		size = webpSize(data)
	default:
		return "", size, ErrNoImage
	}
	if err != nil {
		return "", size, fmt.Errorf("it begins as a picture (%s) and is none: %w", media, err)
	}
	return media, size, nil
}

// webpSize reads the size from the first chunk: lossy, lossless or extended.
func webpSize(data []byte) (size image.Config) {
	le := binary.LittleEndian
	switch string(data[12:16]) {
	case "VP8 ":
		if bytes.Equal(data[23:26], []byte{0x9d, 0x01, 0x2a}) {
			size.Width, size.Height = int(le.Uint16(data[26:])&0x3fff), int(le.Uint16(data[28:])&0x3fff)
		}
	case "VP8L":
		if bits := le.Uint32(data[21:]); data[20] == 0x2f {
			size.Width, size.Height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
		}
	case "VP8X":
		three := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		size.Width, size.Height = three(data[24:])+1, three(data[27:])+1
	}
	return size
}

// Tokens is how many the dearest of the vendors' rules counts for a picture: who is asked
// may change with each request.
func (i Image) Tokens() int64 {
	w, h := float64(i.Width), float64(i.Height)
	return int64(max(patches(w, h), tiles(w, h), units(w, h)))
}

// patches are Anthropic's: squares of 28 pixels, at most 4784 (the models with the finest
// eyes), the long side at most 2576 pixels.
func patches(w, h float64) float64 {
	by := min(1, 2576/max(w, h))
	return min(4784, math.Ceil(w*by/28)*math.Ceil(h*by/28))
}

// tiles are OpenAI's, by both of its rules: squares of 512 pixels after the picture was
// scaled to a short side of 768, or of 32 pixels, at most 2500, which its dearest small model
// counts 2.46 times up to 1536.
func tiles(w, h float64) float64 {
	by := min(1, 2048/max(w, h))
	by = min(by, 768/min(w, h))
	large := 85 + 170*math.Ceil(w*by/512)*math.Ceil(h*by/512)
	small := math.Ceil(w/32) * math.Ceil(h/32)
	return max(large, min(small, 1536)*2.46, min(small, 2500)*1.2)
}

// units are Gemini's: 258 for each tile, whose side is 768 pixels or less in a small picture;
// its third generation counts 1120 at most.
func units(w, h float64) float64 {
	if max(w, h) <= 384 {
		return 1120
	}
	side := min(max(min(w, h)/1.5, 256), 768)
	return max(1120, 258*math.Ceil(w/side)*math.Ceil(h/side))
}

// String is a picture in words, for those who do not see it.
func (i Image) String() string {
	kinds := map[string]string{"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}
	return fmt.Sprintf("%s: a %s picture, %d × %d pixels, %d bytes", i.Name, kinds[i.Media], i.Width, i.Height, i.Bytes)
}

// Shown are the pictures of a message that a call's result shows; of "": the user's.
func (m Message) Shown(of string) (out []Image) {
	for _, b := range m.Blocks {
		if i, ok := b.(Image); ok && i.Of == of && len(i.Data) > 0 {
			out = append(out, i)
		}
	}
	return out
}

// Fill gives the pictures of a message their data, which its JSON does not hold.
func (m *Message) Fill(data func(agency.Hash) ([]byte, error)) (err error) {
	for n, b := range m.Blocks {
		i, ok := b.(Image)
		if !ok || i.Data != nil {
			continue
		}
		if i.Data, err = data(i.Hash); err != nil {
			return fmt.Errorf("picture %s: %w", i.Name, err)
		}
		m.Blocks[n] = i
	}
	return nil
}

// Pictures are those of a message, the user's and those of results.
func (m Message) Pictures() (out []Image) {
	for _, b := range m.Blocks {
		if i, ok := b.(Image); ok {
			out = append(out, i)
		}
	}
	return out
}

// Blind is messages for a model that does not see: words in the place of pictures. It copies
// only where there is one.
func Blind(messages []Message) []Message {
	out, copied := messages, false
	for n, m := range messages {
		if !slices.ContainsFunc(m.Blocks, isImage) {
			continue
		}
		if !copied {
			out, copied = slices.Clone(messages), true
		}
		out[n].Blocks = slices.Clone(m.Blocks)
		for at, b := range out[n].Blocks {
			if i, ok := b.(Image); ok {
				out[n].Blocks[at] = Text{Text: "[" + i.String() + "; you do not see pictures]"}
			}
		}
	}
	return out
}

// Pictured tells whether messages hold a picture.
func Pictured(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return slices.ContainsFunc(m.Blocks, isImage) })
}

func isImage(b Block) bool {
	_, ok := b.(Image)
	return ok
}

// Base64 appends a picture's data.
func (e *Encoder) Base64(data []byte) { e.Buf = base64.StdEncoding.AppendEncode(e.Buf, data) }

// DataURL appends a picture as the value of a string of JSON.
func (e *Encoder) DataURL(i Image) {
	e.Raw(`"data:` + i.Media + `;base64,`)
	e.Base64(i.Data)
	e.Raw(`"`)
}

// Label is what stands before a picture on a wire, so that words can speak of it.
func (i Image) Label() string { return "Picture " + i.Name + ":" }
