// The functions of tree-sitter that package code calls, flat enough for a
// WebAssembly host: parse a text, and write its tree down in preorder.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tree_sitter/api.h>

#define EXPORT(n) __attribute__((export_name(#n)))

// host_progress is asked now and then while there is work; non-zero: stop.
__attribute__((import_module("host"), import_name("progress"))) int host_progress(void);

// ticks comes first: the patched lexer counts in it (build.sh).
typedef struct { uint32_t ticks, len; const char *s; } Source;

static TSParser *parser;
static uint32_t *out; // the records of the last walk
static uint32_t used, room;

// tsw_tick is called from within lexers, whose loops the parser's own check of
// progress does not see. Nothing there can unwind, so it traps, and the host
// drops the instance.
void tsw_tick(void *payload) {
  ((Source *)payload)->ticks = 0;
  if (host_progress()) __builtin_trap();
}

// tsw_overflow: a scanner wrote more state than a tree can hold (build.sh).
void tsw_overflow(void) { __builtin_trap(); }

EXPORT(tsw_malloc) void *tsw_malloc(uint32_t n) { return malloc(n); }
EXPORT(tsw_memalign) void *tsw_memalign(uint32_t align, uint32_t n) { return aligned_alloc(align, n); }
EXPORT(tsw_free) void tsw_free(void *p) { free(p); }

EXPORT(tsw_symbols) uint32_t tsw_symbols(const TSLanguage *l) { return ts_language_symbol_count(l); }
EXPORT(tsw_symbol) const char *tsw_symbol(const TSLanguage *l, uint32_t i) { return ts_language_symbol_name(l, (TSSymbol)i); }
EXPORT(tsw_fields) uint32_t tsw_fields(const TSLanguage *l) { return ts_language_field_count(l); }
EXPORT(tsw_field) const char *tsw_field(const TSLanguage *l, uint32_t i) { return ts_language_field_name_for_id(l, (TSFieldId)i); }

static const char *read_source(void *payload, uint32_t from, TSPoint at, uint32_t *n) {
  Source *s = payload;
  (void)at;
  *n = from < s->len ? s->len - from : 0;
  return *n ? s->s + from : "";
}
static bool stop(TSParseState *s) { (void)s; return host_progress() != 0; }

// tsw_parse gives a tree; 0 where the host stopped it or the core is too old
// for the grammar.
EXPORT(tsw_parse) TSTree *tsw_parse(const TSLanguage *lang, const char *text, uint32_t len) {
  if (!parser) parser = ts_parser_new();
  if (!ts_parser_set_language(parser, lang)) return NULL;
  ts_parser_reset(parser);
  Source s = {0, len, text};
  TSInput in = {.payload = &s, .read = read_source, .encoding = TSInputEncodingUTF8, .decode = NULL};
  TSParseOptions o = {.payload = NULL, .progress_callback = stop};
  TSTree *t = ts_parser_parse_with_options(parser, NULL, in, o);
  if (!t) ts_parser_reset(parser);
  return t;
}
EXPORT(tsw_tree_delete) void tsw_tree_delete(TSTree *t) { ts_tree_delete(t); }

// A record is 4 words: symbol | field << 16; flags (1 named, 2 missing, 4 extra,
// 8 error, 16 holds an error) | depth << 8; first byte; byte behind the last.
static bool put(TSNode n, uint32_t field, uint32_t depth) {
  if (used + 4 > room) {
    uint32_t want = room ? room + room / 2 : 1 << 16;
    uint32_t *p = realloc(out, want * sizeof *out);
    if (!p) return false;
    out = p;
    room = want;
  }
  out[used++] = ts_node_symbol(n) | field << 16;
  out[used++] = (ts_node_is_named(n) ? 1 : 0) | (ts_node_is_missing(n) ? 2 : 0) | (ts_node_is_extra(n) ? 4 : 0) |
                (ts_node_is_error(n) ? 8 : 0) | (ts_node_has_error(n) ? 16 : 0) | depth << 8;
  out[used++] = ts_node_start_byte(n);
  out[used++] = ts_node_end_byte(n);
  return true;
}

// tsw_walk writes all nodes down, the outer before the inner, and gives their
// number; -1 where the host stopped it, -2 where memory ran out.
EXPORT(tsw_walk) int32_t tsw_walk(const TSTree *t) {
  TSTreeCursor c = ts_tree_cursor_new(ts_tree_root_node(t));
  uint32_t depth = 0, seen = 0;
  int32_t result = 0;
  used = 0;
  for (bool more = true; more;) {
    if (!put(ts_tree_cursor_current_node(&c), ts_tree_cursor_current_field_id(&c), depth)) { result = -2; break; }
    result++;
    if ((++seen & 0x3ff) == 0 && host_progress()) { result = -1; break; }
    if (ts_tree_cursor_goto_first_child(&c)) { depth++; continue; }
    while (!ts_tree_cursor_goto_next_sibling(&c)) {
      if (!ts_tree_cursor_goto_parent(&c)) { more = false; break; }
      depth--;
    }
  }
  ts_tree_cursor_delete(&c);
  return result;
}
EXPORT(tsw_out) uint32_t *tsw_out(void) { return out; }
EXPORT(tsw_out_free) void tsw_out_free(void) { free(out); out = NULL; used = room = 0; }
