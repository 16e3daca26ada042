// Loaded by every node process of a package script in which a test runner
// stands where no argument of the script's caller reaches it: the runner, and
// nothing else, finds the arguments of AGENCY_ARGS behind its own.
'use strict';
const fs = require('fs');

const given = process.env.AGENCY_ARGS;
let program = process.argv[1] || '';
try { program = fs.realpathSync(program); } catch { /* not a file: none of the runners */ }
if (given && /[\\/](jest|jest-cli)[\\/]bin[\\/]jest(\.js)?$|[\\/]vitest[\\/](vitest\.mjs|dist[\\/]cli\.js)$|[\\/]mocha[\\/]bin[\\/]_?mocha(\.js)?$/.test(program)) {
  process.argv.push(...JSON.parse(given));
  delete process.env.AGENCY_ARGS; // what is tested need not know
}
