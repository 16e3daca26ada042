package quality

import (
	"go/ast"
	"go/token"
	"strings"

	"agency/internal/regexp"
)

// statement is how one of SQL begins.
var statement = regexp.MustCompile("(?i)^[fFbrR]*[\"'`]*\\s*(?:select\\s.*\\sfrom\\b|select\\s|insert\\s+into\\s|update\\s.*\\sset\\b|delete\\s+from\\s|drop\\s+table\\s|replace\\s+into\\s)")

// harmless are the names of what is put into statements that no user says: placeholders,
// names of tables and columns, constants.
var harmless = regexp.MustCompile(`(?i:placeholder|marks|table|column|cols|fields|where|clause|order|schema|quoted|escape|ident|limit|offset)|^[A-Z][A-Z0-9_]*$|^\d+$`)

// queries are the methods that take a statement, with the place of it.
var queries = map[string]int{
	".Query": 0, ".QueryRow": 0, ".Exec": 0, ".Prepare": 0, ".Raw": 0, ".Get": 1, ".Select": 1,
	".QueryContext": 1, ".QueryRowContext": 1, ".ExecContext": 1, ".PrepareContext": 1,
}

func (v *goFunction) call(c *ast.CallExpr, loop bool) {
	name := v.calls(c)
	arg := func(i int) ast.Expr {
		if i < len(c.Args) {
			return v.value(c.Args[i])
		}
		return nil
	}
	switch name {
	case "os/exec.Command", "os/exec.CommandContext":
		from := 0
		if strings.HasSuffix(name, "Context") {
			from = 1
		}
		if v.shell(c, from) {
			v.at(c, shellLine)
		}
	case "path/filepath.Join", "path.Join", "os.Open", "os.ReadFile", "os.Create", "os.OpenFile", "os.Remove", "os.WriteFile", "net/http.ServeFile":
		v.path(c, name)
	case "io.ReadAll", "io/ioutil.ReadAll":
		if v.request != "" && len(c.Args) == 1 && v.text(c.Args[0]) == v.request+".Body" && !strings.Contains(v.body, "MaxBytesReader") {
			v.at(c, goUnbounded)
		}
	case "html/template.HTML", "html/template.JS":
		if made := arg(0); made != nil && (v.mixes(made) || v.request != "" && asks(v.request).MatchString(v.text(made))) {
			v.at(c, goTemplate)
		}
	case "crypto/md5.Sum", "crypto/sha1.Sum", "crypto/sha256.Sum256":
		if len(c.Args) == 1 && password.MatchString(v.text(c.Args[0])) {
			v.at(c, fastHash)
		}
	case "regexp.MustCompile", "regexp.Compile":
		if _, fixed := arg(0).(*ast.BasicLit); loop && fixed {
			v.at(c, goRegexpLoop)
		}
	default:
		if at, ok := queries[name]; ok {
			if made := arg(at); made != nil && v.sql(made) {
				v.at(c, sqlText)
			}
		}
		if strings.HasPrefix(name, "math/rand") && secretName.MatchString(v.decl.Name.Name) {
			v.at(c, goRandom)
		}
	}
}

var (
	password   = regexp.MustCompile(`(?i)passw(?:or)?d|passphrase`)
	secretName = regexp.MustCompile(`(?i)token|secret|password|nonce|apikey|sessionid|salt`)
)

// shell tells of a command line for a shell that is more than a literal.
func (v *goFunction) shell(c *ast.CallExpr, from int) bool {
	if len(c.Args) < from+3 {
		return false
	}
	switch strings.Trim(v.text(c.Args[from]), "\"`") {
	case "sh", "bash", "/bin/sh", "/bin/bash", "zsh", "cmd":
	default:
		return false
	}
	if flag := strings.Trim(v.text(c.Args[from+1]), "\"`"); flag != "-c" && flag != "-lc" && flag != "/c" && flag != "/C" {
		return false
	}
	return v.mixes(v.value(c.Args[from+2]))
}

// mixes tells whether a text is put together from literals and values.
func (v *goFunction) mixes(e ast.Expr) bool { return len(v.parts(e)) > 0 && v.literal(e) != "" }

// literal is the first literal of a text.
func (v *goFunction) literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.BinaryExpr:
		if s := v.literal(e.X); s != "" {
			return s
		}
		return v.literal(e.Y)
	case *ast.ParenExpr:
		return v.literal(e.X)
	case *ast.CallExpr:
		if v.calls(e) == "fmt.Sprintf" && len(e.Args) > 0 {
			return v.literal(e.Args[0])
		}
	}
	return ""
}

// parts are the values that a text is put together from. Numbers by %d are none.
func (v *goFunction) parts(e ast.Expr) (out []ast.Expr) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return nil
		}
		for _, side := range []ast.Expr{e.X, e.Y} {
			switch s := side.(type) {
			case *ast.BasicLit:
			case *ast.BinaryExpr, *ast.ParenExpr:
				out = append(out, v.parts(s)...)
			default:
				out = append(out, s)
			}
		}
	case *ast.ParenExpr:
		return v.parts(e.X)
	case *ast.CallExpr:
		if v.calls(e) != "fmt.Sprintf" || len(e.Args) < 2 {
			return nil
		}
		for i, verb := range verbs.FindAllString(v.literal(e.Args[0]), -1) {
			if i+1 < len(e.Args) && (strings.HasSuffix(verb, "s") || strings.HasSuffix(verb, "v")) {
				out = append(out, e.Args[i+1])
			}
		}
	}
	return out
}

var verbs = regexp.MustCompile(`%[-+# 0]*\d*(?:\.\d+)?[a-zA-Z]`)

// sql tells whether a statement is put together from values that somebody says.
func (v *goFunction) sql(e ast.Expr) bool {
	if !statement.MatchString(v.literal(e)) {
		return false
	}
	for _, p := range v.parts(e) {
		text := v.text(p)
		if name, ok := p.(*ast.Ident); ok && !v.local(name.Name) {
			continue // a constant of the package, as far as is seen
		}
		if _, call := p.(*ast.CallExpr); !call && !harmless.MatchString(text) {
			return true
		}
	}
	return false
}

// local tells whether a name is a parameter or a variable of the function.
func (v *goFunction) local(name string) bool {
	if len(v.assigned[name]) > 0 {
		return true
	}
	for _, p := range v.decl.Type.Params.List {
		for _, n := range p.Names {
			if n.Name == name {
				return true
			}
		}
	}
	return false
}

// requestOf is the name of the parameter that is a request.
func requestOf(t *ast.FuncType) string {
	for _, p := range t.Params.List {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok || len(p.Names) == 0 {
			continue
		}
		if sel, ok := star.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "Request" {
			return p.Names[0].Name
		}
	}
	return ""
}

// asks is what a request says.
func asks(request string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(request) + `\.(?:URL\.Query\(\)|FormValue\(|PathValue\(|PostFormValue\(|URL\.Path\b|Header\.Get\()`)
}

// fenced is what keeps a path within a folder.
var fenced = regexp.MustCompile(`IsLocal\(|\.Base\(|HasPrefix\(|OpenRoot|OpenInRoot|\.Rel\(|ValidPath\(|SecureJoin|EvalSymlinks|ContainsAny\(|MatchString\(|strconv\.|Parse\(`)

// path tells of a path that is made of what a request says.
func (v *goFunction) path(c *ast.CallExpr, name string) {
	if v.request == "" || v.fenced {
		return
	}
	said := asks(v.request)
	for i, a := range c.Args {
		if name == "net/http.ServeFile" && i < 2 || name == "os.WriteFile" && i > 0 {
			continue
		}
		text := v.text(v.value(a))
		if sum, ok := v.value(a).(*ast.BinaryExpr); ok {
			for _, p := range v.parts(sum) {
				text += " " + v.text(v.value(p))
			}
		}
		if said.MatchString(text) && !strings.Contains(text, "Join(") {
			v.at(c, goPath)
			return
		}
	}
}
