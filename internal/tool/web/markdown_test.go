package web

import (
	"strings"
	"testing"
	"time"
)

// A page keeps its headings, lists, links, code and tables, and loses what is not read.
func TestMarkdown(t *testing.T) {
	got, err := markdown([]byte(`<!doctype html><head><title>How &amp; why</title><style>p{}</style></head><body><script>x<y</script>
<h1>Use <em>it</em></h1><p>Call <code>Do(a,
b)</code>, see
<a class=x href="https://example.com/a">the   manual</a>.</p><ul><li>one<li>two</ul>
<pre><code>if a {
	b()
}</code></pre><table><tr><th>Name<th>Size<tr><td>a<td>1</table>end<svg><text>no</text></svg>`))
	want := "How & why\n\n# Use _it_\n\nCall `Do(a, b)`, see [the manual](https://example.com/a).\n\n- one\n- two\n\n```\nif a {\n\tb()\n}\n```\n\n| Name | Size\n| a | 1\n\nend\n"
	if err != nil || got != want {
		t.Errorf("%q\nwant\n%q, %v", got, want, err)
	}
}

// What is made to be slow takes time and room in proportion to it.
func TestHostilePages(t *testing.T) {
	for _, page := range []string{
		strings.Repeat("<blockquote>", 500) + strings.Repeat("x<br>", 500_000), strings.Repeat("<ul><li>", 500_000), strings.Repeat("[", 4<<20),
		"<ol>" + strings.Repeat("<li>x", 800_000), strings.Repeat("<a href=x>", 400_000), strings.Repeat("<", 4<<20), "<script>" + strings.Repeat("</scrip", 500_000),
		strings.Repeat("<pre>", 800_000), "<a " + strings.Repeat("b=c ", 1<<20),
	} {
		begun := time.Now()
		got, err := markdown([]byte(page))
		if took := time.Since(begun); took > 20*time.Second || len(got) > 3*len(page) || err != nil {
			t.Errorf("%.20q: %v, %d bytes of %d, %v", page, took, len(got), len(page), err)
		}
	}
}
