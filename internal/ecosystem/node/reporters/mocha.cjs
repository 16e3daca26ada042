// A reporter for Mocha that writes one JSON line a result into a file and shows
// what the spec reporter shows, where that can be found.
'use strict';
const fs = require('fs');
const path = require('path');

const base = process.env.AGENCY_REPORT;
delete process.env.AGENCY_REPORT; // what is tested need not know
const clip = (s) => (s.length > 4096 ? s.slice(0, 4096) : s);

function shown() {
  for (const from of [process.cwd(), path.dirname(process.argv[1] || '.')]) {
    try {
      const lib = require(require.resolve('mocha', { paths: [from] }));
      if (lib && lib.reporters && lib.reporters.Spec) return lib.reporters.Spec;
    } catch { /* another place, or none */ }
  }
  return undefined;
}

function names(test) {
  const out = [];
  for (let t = test; t && !t.root; t = t.parent) if (t.title) out.unshift(t.title);
  return out;
}

function fileOf(test) {
  for (let t = test; t; t = t.parent) if (t.file) return t.file;
  return '';
}

module.exports = function report(runner, options) {
  const out = base ? `${base}-${process.pid}.ndjson` : '';
  const put = (o) => { if (out) fs.appendFileSync(out, JSON.stringify(o) + '\n'); };
  const Spec = shown();
  if (Spec) new Spec(runner, options);
  const result = (test, status, err) => put({
    file: fileOf(test), name: names(test), status, out: err ? clip(String(err.stack || err.message || err)) : '',
  });
  put({ begin: true });
  runner.on('pass', (t) => result(t, 'passed'));
  runner.on('fail', (t, err) => result(t, 'failed', err));
  runner.on('pending', (t) => result(t, 'skipped'));
  runner.on('end', () => put({ end: true }));
};
