// A reporter for node:test that writes one JSON line a result into a file of
// its own, beside whatever reporter the user has. It shows nothing.
import { appendFileSync } from 'node:fs';

const base = process.env.AGENCY_REPORT;
delete process.env.AGENCY_REPORT; // what is tested need not know
const out = base ? `${base}-${process.pid}.ndjson` : '';
const clip = (s) => (s.length > 4096 ? s.slice(0, 4096) : s);
const put = (o) => { if (out) appendFileSync(out, JSON.stringify(o) + '\n'); };

function reason(error) {
  const cause = error?.cause ?? error;
  if (cause === undefined) return '';
  return clip(String(cause?.stack ?? cause?.message ?? cause));
}

export default async function* report(source) {
  const open = new Map(); // by file: the names of the open suites
  put({ begin: true });
  for await (const { type, data } of source) {
    const file = data?.file ?? '';
    if (type === 'test:start') {
      const names = open.get(file) ?? [];
      names.length = data.nesting;
      names[data.nesting] = data.name;
      open.set(file, names);
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const whole = data.nesting === 0 && file !== '' && data.name.length > 1 && (file === data.name || file.endsWith('/' + data.name));
    const suite = data.details?.type === 'suite';
    const kids = /subtests? failed/.test(String(data.details?.error?.message ?? '')) || data.details?.error?.failureType === 'subtestsFailed';
    if (type === 'test:pass' && (suite || whole)) continue;
    if (suite && kids) continue;
    const name = whole ? [] : [...(open.get(file) ?? []).slice(0, data.nesting), data.name];
    const skipped = (data.skip !== undefined && data.skip !== false) || (data.todo !== undefined && data.todo !== false);
    put({ file, name, status: skipped ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed', out: type === 'test:fail' ? reason(data.details?.error) : '' });
  }
  put({ end: true });
}
