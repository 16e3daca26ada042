package web

import (
	"context"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"agency/internal/block"
	"agency/internal/tool"
)

type fetchPageArgs struct {
	URL string `json:"url"`
}

// shownHead is how much is shown of a page that is too long, in bytes; all of it is in a file.
const shownHead = 8 << 10

func fetchPage() tool.Tool {
	return tool.Define(texts, "fetch_page", tool.Write, func(ctx context.Context, env *tool.Env, a fetchPageArgs) (tool.Result, error) {
		if env.Pages == nil {
			return tool.Refuse("this run may reach no host"), nil
		}
		page, err := env.Pages.Page(ctx, strings.TrimSpace(a.URL))
		if ctx.Err() != nil {
			return tool.Result{}, ctx.Err()
		}
		if err != nil {
			return tool.Fail("not fetched: %s", block.InLine(err.Error())), nil // a server may have written it
		}
		if page.Status != 200 {
			return tool.Fail("%s answers with status %d", block.InLine(page.URL), page.Status), nil
		}
		words, err := readable(page)
		if err != nil {
			return tool.Fail("%s is not shown: %v", block.InLine(page.URL), err), nil
		}
		return tool.OK(show(env, page, block.Clean(env.Hide(words)))), nil
	})
}

// decoded is a page in UTF-8: by what it declares, else as it stands where it is valid, else
// as browsers guess.
func decoded(p tool.Page) []byte {
	enc, name, declared := charset.DetermineEncoding(p.Body, p.Media)
	begun := p.Body
	for i := 0; p.Cut && i < utf8.UTFMax && !utf8.Valid(begun); i++ {
		begun = begun[:max(len(begun)-1, 0)] // the last letter is not whole
	}
	if name == "utf-8" || !declared && utf8.Valid(begun) {
		return p.Body
	}
	out, err := enc.NewDecoder().Bytes(p.Body)
	if err != nil {
		return p.Body
	}
	return out
}

// readable is a page as text: what is no text has none.
func readable(p tool.Page) (string, error) {
	media, _, _ := mime.ParseMediaType(p.Media)
	p.Body = decoded(p)
	switch {
	case tool.Binary(p.Body):
		return "", fmt.Errorf("it is no text, whatever it is called (%q)", p.Media)
	case media == "text/html", media == "application/xhtml+xml":
		return markdown(p.Body)
	case strings.HasPrefix(media, "text/"), media == "application/json", media == "application/xml", media == "application/yaml",
		media == "application/javascript", strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml"):
		return string(p.Body), nil
	}
	return "", fmt.Errorf("it is of the kind %q: pages, text and JSON are", p.Media)
}

// show sets a page apart. A long one goes into a file of the checkout, as a long output does.
func show(env *tool.Env, p tool.Page, words string) string {
	note := ""
	if p.Cut {
		note = fmt.Sprintf("[only its first %s were fetched]\n", tool.Size(int64(len(p.Body))))
	}
	if env.Files != nil && len(words) > tool.MaxShown {
		spill := tool.NewSpill(env.Files)
		_, _ = spill.Write([]byte(words)) // it never fails
		where := "it could not be kept"
		if long := spill.End([]byte(words)); long != nil && long.File != "" {
			where = "all of it is in " + long.File + ", for read_file (offset, limit) and search_files (path)"
		}
		note += fmt.Sprintf("[%s, too long to show; it begins as below; %s]\n", tool.Size(int64(len(words))), where)
		words = tool.CutHead(words, shownHead)
	}
	return fmt.Sprintf("%s\n%s%s\n", block.InLine(p.URL), note, block.Data("page "+p.URL, words))
}
