"""Finds out which lines of a few files run, by a call before each statement of
them: everything else runs as fast as ever, which a tracer would not let it."""
import ast
import atexit
import builtins
import importlib.machinery
import os

_NAME = "__agency_line__"


class _Mark(ast.NodeTransformer):
    def __init__(self, file):
        self.file = file

    def _marked(self, body):
        out = []
        for i, node in enumerate(body):
            first = i == 0 and isinstance(node, ast.Expr) and isinstance(getattr(node, "value", None), ast.Constant)
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not first and not future:
                call = ast.Call(ast.Name(_NAME, ast.Load()), [ast.Constant(self.file), ast.Constant(node.lineno)], [])
                out.append(ast.fix_missing_locations(ast.copy_location(ast.Expr(ast.copy_location(call, node)), node)))
            out.append(node)
        return out

    def generic_visit(self, node):
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                setattr(node, field, self._marked(body))
        return node


def _statements(tree):
    """The lines of each statement, but for docstrings: of one that holds others
    its first line only."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        last = node.lineno if getattr(node, "body", None) else getattr(node, "end_lineno", None) or node.lineno
        yield node.lineno, last


class Lines(object):
    """Marks the files that a list names and writes lcov at the end."""

    def __init__(self, listed, out):
        self.out, self.ran, self.pid = out, {}, os.getpid()
        with open(listed, encoding="utf-8") as f:
            self.files = set(os.path.realpath(line.rstrip("\n")) for line in f if line.strip())
        setattr(builtins, _NAME, self.hit)
        loader, plain = importlib.machinery.SourceFileLoader, importlib.machinery.SourceFileLoader.get_code

        def get_code(this, fullname):
            path = os.path.realpath(this.get_filename(fullname))
            if path not in self.files:
                return plain(this, fullname)
            tree = _Mark(path).visit(ast.parse(this.get_data(path), path))
            return compile(tree, this.path, "exec", dont_inherit=True)

        loader.get_code = get_code
        atexit.register(self.end)

    def hit(self, file, line):
        self.ran.setdefault(file, set()).add(line)

    def end(self):
        if self.out is None or os.getpid() != self.pid:
            return
        text = []
        for file in sorted(self.files):
            try:
                with open(file, "rb") as f:
                    tree = ast.parse(f.read(), file)
            except (OSError, SyntaxError, ValueError):
                continue
            ran = self.ran.get(file, set())
            text.append("SF:" + file)
            for first, last in _statements(tree):
                text.extend("DA:%d,%d" % (n, 1 if first in ran else 0) for n in range(first, last + 1))
            text.append("end_of_record")
        with open(self.out, "w", encoding="utf-8") as f:
            f.write("\n".join(text) + "\n")
        self.out = None
