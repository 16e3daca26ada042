// Loaded by every node process of a test command: finds out through the engine
// which lines of a few files run. It leaves alone a process that is measured by
// another tool, and the package managers around the tests.
'use strict';
const fs = require('fs');
const path = require('path');

const out = process.env.AGENCY_COVERAGE;
const listed = process.env.AGENCY_LINES;
const manager = /[\\/](npm|npx|yarn|pnpm|corepack)(-cli)?(\.[cm]?js)?$/.test(process.argv[1] || '');

function measure() {
  const files = fs.readFileSync(listed, 'utf8').split('\n').filter(Boolean).map((f) => '/' + f.replace(/^(\.\.?\/)+/, ''));
  const wanted = (url) => {
    if (!url.startsWith('file://')) return false;
    try { return files.some((f) => decodeURI(url).endsWith(f)); } catch { return false; }
  };
  const { Session } = require('inspector');
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true });
  process.on('exit', () => {
    session.post('Profiler.takePreciseCoverage', (err, got) => {
      if (err) return;
      try {
        const result = got.result.filter((s) => wanted(s.url));
        fs.mkdirSync(out, { recursive: true });
        fs.writeFileSync(path.join(out, `coverage-${process.pid}-${require('worker_threads').threadId}.json`), JSON.stringify({ result }));
      } catch { /* then nothing is known of this process */ }
    });
  });
}

if (out && listed && !manager && !process.env.NODE_V8_COVERAGE) {
  try { measure(); } catch { /* an engine without it */ }
}
