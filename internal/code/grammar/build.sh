#!/usr/bin/env bash
# Makes the modules of this folder anew, and is needed only to change them: the
# binary is built from the *.wasm.gz that lie here.
#
# The core of tree-sitter is compiled for WASI from the sources in its npm
# package; the grammars are the modules that their npm packages bring along
# (package.json has the versions). It needs npm, perl, and clang with what
# compiles to wasm32-wasi, on Debian:
#   apt-get install clang lld wasi-libc libclang-rt-dev-wasm32
# The folder to work in is the first argument; without one it is thrown away.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
cp "$here/package.json" "$work/"
(cd "$work" && npm install --ignore-scripts --legacy-peer-deps --no-audit --no-fund)
modules=$work/node_modules core=$work/core
rm -rf "$core"
cp -r "$modules/tree-sitter/vendor/tree-sitter/lib" "$core"

# Loops within a lexer end when the host says so. The core itself asks only
# between tokens, and a token can be as long as the file.
perl -0pi -e '
	s/static void ts_lexer__do_advance\(Lexer \*self, bool skip\) \{\n/extern void tsw_tick(void *);\n#define TSW_TICK(self) do { uint32_t *tk = (uint32_t *)(self)->input.payload; if (tk && ++*tk >= 65536u) tsw_tick(tk); } while (0)\nstatic void ts_lexer__do_advance(Lexer *self, bool skip) {\n  TSW_TICK(self);\n/;
	s/if \(!self->chunk\) return;/if (!self->chunk) { TSW_TICK(self); return; }/' "$core/src/lexer.c"
# An external scanner may write more state than the buffer holds: natively that
# is a crash. It gets room, and then the state that does not fit is not used.
perl -pi -e 's/char debug_buffer\[TREE_SITTER_SERIALIZATION_BUFFER_SIZE\];/char debug_buffer[TREE_SITTER_SERIALIZATION_BUFFER_SIZE * 64];/' "$core/src/lexer.h"
perl -0pi -e 's/  ts_assert\(length <= TREE_SITTER_SERIALIZATION_BUFFER_SIZE\);/  { extern void tsw_overflow(void); if (length > TREE_SITTER_SERIALIZATION_BUFFER_SIZE) tsw_overflow(); }/' "$core/src/parser.c"
patched() { grep -q "$1" "$core/src/$2" || { echo "build.sh: $2 of this tree-sitter is not as the patch expects" >&2; exit 1; }; }
patched 'TSW_TICK(self); return' lexer.c
patched 'BUFFER_SIZE \* 64' lexer.h
patched tsw_overflow parser.c
patched 'TIMEOUT_CHECK = 100;' parser.c # how often the host is asked whether to stop

flags="--target=wasm32-wasi -O2 -DNDEBUG -D_POSIX_C_SOURCE=200112L -D_DEFAULT_SOURCE -fno-exceptions -mmutable-globals -w"
clang $flags -std=c11 -I"$core/include" -I"$core/src" -c "$core/src/lib.c" -o "$work/core.o"
clang $flags -std=c11 -I"$core/include" -c "$here/shim.c" -o "$work/shim.o"
# What the grammars' modules import from the module that they are loaded into.
exports=""
for name in malloc calloc realloc free memcpy memmove memset memcmp memchr strcmp strlen strncmp abort __assert_fail \
	iswspace iswalpha iswalnum iswlower iswupper iswdigit iswxdigit iswpunct towlower towupper __stack_pointer; do
	exports="$exports -Wl,--export=$name"
done
clang --target=wasm32-wasi -mexec-model=reactor -Wl,--strip-all -Wl,-z,stack-size=1048576 -Wl,--stack-first \
	"$work/core.o" "$work/shim.o" $exports -Wl,--export-table -Wl,--growable-table -o "$work/core.wasm"

pack() { gzip -9 -n -c "$1" >"$here/$2.wasm.gz"; }
pack "$work/core.wasm" core
for language in python javascript rust java c cpp ruby php bash json; do
	pack "$modules/tree-sitter-$language/tree-sitter-$language.wasm" "$language"
done
pack "$modules/tree-sitter-c-sharp/tree-sitter-c_sharp.wasm" c_sharp
pack "$modules/@tree-sitter-grammars/tree-sitter-yaml/tree-sitter-yaml.wasm" yaml
for language in typescript tsx; do
	pack "$modules/tree-sitter-typescript/tree-sitter-$language.wasm" "$language"
done
ls -l "$here"/*.wasm.gz
