package code

import (
	"fmt"
	"strings"
)

var (
	javaTypes   = []string{"class_declaration", "interface_declaration", "enum_declaration", "record_declaration", "annotation_type_declaration"}
	javaMethods = []string{"method_declaration", "constructor_declaration", "compact_constructor_declaration"}
	javaTests   = map[string]bool{"Test": true, "ParameterizedTest": true, "RepeatedTest": true, "TestFactory": true, "TestTemplate": true}
)

// javaFunctions are methods and constructors; a lambda belongs to the method
// around it.
func javaFunctions(t *tree) []found {
	l := lister{t: t, lines: linesOf(t.src)}
	nameOf := func(n Node) string {
		if n.Is(javaTypes...) || n.Is(javaMethods...) {
			return n.Field("name").Text()
		}
		return ""
	}
	for n := range t.root().All() {
		body := n.Field("body")
		if !n.Is(javaMethods...) || !body.OK() {
			continue
		}
		f := found{node: n, body: body}
		f.Name = pathTo(n, n.Field("name").Text(), nameOf)
		for a := range n.Child("modifiers").children() {
			if a.Is("marker_annotation", "annotation") {
				name := a.Field("name").Text()
				f.Test = f.Test || javaTests[name[strings.LastIndexByte(name, '.')+1:]]
			}
		}
		l.add(f, n.Start(), body.Start()+1, body.End()-1)
	}
	return l.out
}

// javaSwitches puts a statement behind the brace, or behind the call of another
// constructor, and a class at the end of the file.
//
// A constructor returns where it may: in a class whose final fields have their
// values, and not in a record; else every cut throws.
func javaSwitches(t *tree, asked []request, n switchNames) (edits []edit, skipped []Skipped) {
	returns := map[Node]bool{} // by the class's body
	for _, r := range asked {
		if _, known := returns[r.node.Parent()]; !known {
			returns[r.node.Parent()] = javaMayReturn(r.node.Parent())
		}
		at, mode, zero, other, there := r.BodyStart, modeAll, "", "", ""
		switch {
		case r.node.Is("method_declaration"):
			zero, other = javaValues(r.node.Field("type").Text(), r.node.Field("dimensions").OK())
			there = javaThere(r.node.Field("type").Text(), zero)
		case r.node.Is("compact_constructor_declaration"), !returns[r.node.Parent()]:
			mode = modePanic
		}
		for c := range r.body.children() {
			if c.Is("explicit_constructor_invocation") {
				at = c.End()
			}
		}
		text := fmt.Sprintf(` switch (AgencyCut_%s.of("%s", %d)) { case 1: return%s; case 2: return%s; case 3: return%s; default: } `, n.mark, r.id, mode, zero, other, there)
		if mode == modePanic {
			text = fmt.Sprintf(` AgencyCut_%s.of("%s", %d); `, n.mark, r.id, mode)
		}
		edits = append(edits, edit{at: at, end: at, text: text})
	}
	return append(edits, epilogue(t.src, javaHelper(n))), nil
}

// javaMayReturn tells whether a constructor of a class may return at its start.
func javaMayReturn(class Node) bool {
	for m := range class.children() {
		if !m.Is("field_declaration") {
			continue
		}
		words := m.Child("modifiers").Text()
		if strings.Contains(words, "final") && !strings.Contains(words, "static") && !m.Field("declarator").Field("value").OK() {
			return false
		}
	}
	return !class.Parent().Is("record_declaration")
}

// javaValues are zero and other by the declared type, with a blank before them.
func javaValues(typ string, array bool) (zero, other string) {
	if array {
		return " null", " null"
	}
	switch t := strings.TrimPrefix(typ, "java.lang."); t {
	case "void":
		return "", ""
	case "boolean":
		return " false", " true"
	case "byte", "short", "int":
		return " 0", " 1"
	case "long":
		return " 0L", " 1L"
	case "float":
		return " 0f", " 1f"
	case "double":
		return " 0d", " 1d"
	case "char":
		return ` '\0'`, " 't'"
	case "Boolean":
		return " null", " true"
	case "Integer":
		return " null", " 1"
	case "Long":
		return " null", " 1L"
	case "Double":
		return " null", " 1d"
	case "String", "CharSequence", "Object":
		return " null", ` "taken out"`
	}
	return " null", " null"
}

// javaThere is an optional value that is there; else zero.
func javaThere(typ, zero string) string {
	switch t := strings.TrimPrefix(typ, "java.util."); {
	case t == "OptionalInt", t == "OptionalLong", t == "OptionalDouble":
		return " java.util." + t + ".of(1)"
	case strings.HasPrefix(t, "Optional<") && strings.HasSuffix(t, ">"):
		if _, inner := javaValues(t[len("Optional<"):len(t)-1], false); inner != " null" {
			return " java.util.Optional.of(" + strings.TrimSpace(inner) + ")"
		}
	}
	return zero
}

func javaHelper(n switchNames) string {
	return strings.NewReplacer("MARK", n.mark, "ENV", n.env).Replace(`
final class AgencyCut_MARK {
    private static final java.lang.String VALUE = java.lang.System.getenv("ENV");

    static int of(java.lang.String id, int mode) {
        if (VALUE == null) {
            return 0;
        }
        if (mode < 2 && (VALUE.equals("zero:" + id) || VALUE.equals("zero:*"))) {
            return 1;
        }
        if (mode < 1 && (VALUE.equals("other:" + id) || VALUE.equals("other:*"))) {
            return 2;
        }
        if (mode < 2 && (VALUE.equals("there:" + id) || VALUE.equals("there:*"))) {
            return 3;
        }
        for (java.lang.String cut : new java.lang.String[] {"panic:", "zero:", "there:", "other:"}) {
            if (VALUE.equals(cut + id) || VALUE.equals(cut + "*")) {
                throw new java.lang.RuntimeException("taken out");
            }
        }
        return 0;
    }
}
`)
}
