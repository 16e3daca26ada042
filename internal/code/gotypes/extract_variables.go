package gotypes

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// use is how a variable of the function occurs.
type use struct {
	v                                   *types.Var
	inside, after                       bool
	assignedInside, assigned, addressed bool
	captured, declaredInside            bool
}

// variables finds what has to be handed in and out.
func (x *extraction) variables() error {
	r := reading{x: x, uses: map[*types.Var]*use{}, loop: x.loop()}
	ast.Inspect(x.fn, r.visit)
	return x.sort(r.uses)
}

// reading goes through the function and notes how its variables occur.
type reading struct {
	x       *extraction
	uses    map[*types.Var]*use
	literal int       // function literals around
	loop    token.Pos // where the outermost loop around the lines begins
}

// mark notes something of the variable that an expression begins with.
func (r *reading) mark(e ast.Expr, set func(*use)) {
	for {
		switch t := e.(type) {
		case *ast.ParenExpr:
			e = t.X
			continue
		case *ast.SelectorExpr:
			e = t.X
			continue
		case *ast.IndexExpr:
			e = t.X
			continue
		case *ast.Ident:
			if v := r.x.variable(t); v != nil {
				set(get(r.uses, v))
			}
		}
		return
	}
}

func (r *reading) assign(e ast.Expr) {
	r.mark(e, func(u *use) {
		u.assigned = true
		if r.x.inside(e.Pos()) {
			u.assignedInside = true
		}
	})
}

func (r *reading) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		r.literal++
		ast.Inspect(n.Body, r.visit)
		r.literal--
		return false
	case *ast.AssignStmt:
		for _, e := range n.Lhs {
			if id, ok := e.(*ast.Ident); !ok || r.x.declares(id) == nil {
				r.assign(e)
			}
		}
	case *ast.IncDecStmt:
		r.assign(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if e != nil {
					r.assign(e)
				}
			}
		}
	case *ast.SelectorExpr: // a method of the address is called on the variable
		if r.x.byAddress(n.Sel) {
			r.mark(n.X, func(u *use) {
				_, pointer := u.v.Type().Underlying().(*types.Pointer)
				u.addressed = u.addressed || !pointer
			})
		}
	case *ast.SliceExpr:
		r.mark(n.X, func(u *use) {
			_, array := u.v.Type().Underlying().(*types.Array)
			u.addressed = u.addressed || array
		})
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			r.mark(n.X, func(u *use) { u.addressed = true })
		}
	case *ast.Ident:
		r.ident(n)
	}
	return true
}

func (r *reading) ident(n *ast.Ident) {
	x, v := r.x, r.x.variable(n)
	if v == nil {
		return
	}
	u := get(r.uses, v)
	u.captured = u.captured || r.literal > 0
	u.declaredInside = x.inside(v.Pos())
	switch {
	case x.inside(n.Pos()):
		u.inside = true
	case n.Pos() >= x.to:
		u.after = true
	}
	if r.loop.IsValid() && v.Pos() < r.loop && n.Pos() >= r.loop {
		u.after = true // the next time around, be it by the lines themselves
	}
}

func get(uses map[*types.Var]*use, v *types.Var) *use {
	if uses[v] == nil {
		uses[v] = &use{v: v}
	}
	return uses[v]
}

// sort says of each variable what becomes of it.
func (x *extraction) sort(uses map[*types.Var]*use) error {
	x.fresh = map[*types.Var]bool{}
	for _, u := range uses {
		if !u.inside {
			continue
		}
		shared := u.addressed || u.captured
		switch {
		case u.declaredInside && u.after:
			if shared {
				return refuse("%s is declared in the lines, used behind them, and shared by its address or a function literal", u.v.Name())
			}
			x.outs, x.fresh[u.v] = append(x.outs, u.v), true
		case !u.declaredInside:
			if shared && u.assigned || u.addressed {
				return refuse("%s is shared by its address or a function literal: a copy of it would be another variable", u.v.Name())
			}
			x.ins = append(x.ins, u.v)
			if u.assignedInside {
				if x.result(u.v) || u.after {
					x.outs = append(x.outs, u.v)
				}
			}
		}
	}
	if x.returns {
		x.outs = nil // nothing of the function runs behind them
	}
	order := func(a, b *types.Var) int { return cmp.Compare(a.Pos(), b.Pos()) }
	slices.SortFunc(x.ins, order)
	slices.SortFunc(x.outs, order)
	return nil
}

// result tells whether a variable is a named result of the function, which a return without
// values reads.
func (x *extraction) result(v *types.Var) bool {
	if x.fn.Type.Results == nil {
		return false
	}
	for _, f := range x.fn.Type.Results.List {
		for _, id := range f.Names {
			if id.Pos() == v.Pos() {
				return true
			}
		}
	}
	return false
}

// loop is where the outermost loop around the lines begins: what comes first in it also
// comes behind them.
func (x *extraction) loop() (at token.Pos) {
	ast.Inspect(x.fn.Body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if !at.IsValid() && n.Pos() < x.from && n.End() >= x.to {
				at = n.Pos()
			}
		}
		return true
	})
	return at
}

func (x *extraction) inside(p token.Pos) bool { return x.from <= p && p < x.to }

// variable is the local variable that an identifier stands for.
func (x *extraction) variable(id *ast.Ident) *types.Var {
	objs, _ := x.p.object(x.file, id)
	for _, o := range objs {
		if v, ok := o.(*types.Var); ok && !v.IsField() && x.fn.Pos() <= v.Pos() && v.Pos() < x.fn.End() && id.Name != "_" {
			return x.one(v)
		}
	}
	return nil
}

// byAddress tells whether a name is that of a method that wants its value's address.
func (x *extraction) byAddress(id *ast.Ident) bool {
	objs, _ := x.p.object(x.file, id)
	for _, o := range objs {
		if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
			if _, pointer := f.Signature().Recv().Type().(*types.Pointer); pointer {
				return true
			}
		}
	}
	return false
}

// one is the same variable for the package with its tests and without.
func (x *extraction) one(v *types.Var) *types.Var {
	if x.fn == nil {
		return v
	}
	if x.known == nil {
		x.known = map[token.Pos]*types.Var{}
	}
	if k := x.known[v.Pos()]; k != nil {
		return k
	}
	x.known[v.Pos()] = v
	return v
}

// declares is the variable that an identifier declares.
func (x *extraction) declares(id *ast.Ident) *types.Var {
	if v := x.variable(id); v != nil && v.Pos() == id.Pos() {
		return v
	}
	return nil
}
