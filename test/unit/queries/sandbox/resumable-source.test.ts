import { describe, expect, test } from 'vitest';
import { toResumableSource } from '../../../../src/queries/sandbox/programs/resumable-source.ts';

const WAIT = 'getRow(getRow.waits()&&(yield))';

describe('a list function that can wait', () => {
  test.each([
    [
      'function (head, req) { var row; while (row = getRow()) send(row.key); }',
      `function* (head, req) { var row; while (row = ${WAIT}) send(row.key); }`,
    ],
    // No semicolon goes missing in front of it, since a call stays a call.
    ['function(){ var a = b\n getRow()\n}', `function*(){ var a = b\n ${WAIT}\n}`],
    ['function named(head) { return getRow(); };', `function* named(head) { return ${WAIT}; };`],
    ['(head, req) => { send(getRow().id); }', `function*(head, req)  { send(${WAIT}.id); }`],
    ['head => { if (a) { getRow() } }', `function*(head ) { if (a) { ${WAIT} } }`],
    [
      '/* first */ function () { for (;;) { getRow( ); } } // end',
      '/* first */ function* () { for (;;) { getRow(getRow.waits()&&(yield) ); } } // end',
    ],
    ['function () { return "none"; }', 'function () { return "none"; }'],
    [
      'function () { provides("html", function () { return getRow().id; }); provides("json", () => { send(1); getRow(); }); }',
      `function () { provides("html", function* () { return ${WAIT}.id; }); provides("json", function*()  { send(1); ${WAIT}; }); }`,
    ],
    [
      `function () { var r = /"[/"]/g, d = a / b / c; send(\`\${getRow().id} "\${\`}\`}\`); // getRow\n }`,
      `function* () { var r = /"[/"]/g, d = a / b / c; send(\`\${${WAIT}.id} "\${\`}\`}\`); // getRow\n }`,
    ],
  ])('%s', (source, resumable) => {
    expect(toResumableSource(source)?.text).toBe(resumable);
  });

  test('is compiled for a check with await added', () => {
    expect(toResumableSource('function () { getRow(); }')?.check).toBe(
      'async function () { getRow(getRow.waits()&&(await 0)); }',
    );
    // The isolate refuses this one: `await` in an arrow function that is not async.
    expect(toResumableSource('function () { [1].map((x) => getRow()); }')?.check).toBe(
      'async function () { [1].map((x) => getRow(getRow.waits()&&(await 0))); }',
    );
  });
});

describe('a list function that must get its rows at once', () => {
  test.each([
    ['passes getRow on', 'function () { each(getRow); }'],
    ['gives it another name', 'function () { var next = getRow; next(); }'],
    ['calls it as a member', 'function () { this.getRow(); }'],
    ['names it in a text', 'function () { globalThis["getRow"](); }'],
    ['calls it in a function of its own', 'function () { function next() { return getRow(); } next(); }'],
    ['calls it in a callback', 'function () { [1, 2].forEach(function () { getRow(); }); }'],
    ['calls it in a method', 'function () { var o = { next() { return getRow(); } }; o.next(); }'],
    ['calls itself', 'function again() { if (getRow()) again(); }'],
    ['evaluates text', 'function () { eval("1"); getRow(); }'],
    ['yields itself', 'function* () { yield getRow(); }'],
    ['is asynchronous', 'async function () { getRow(); }'],
    ['uses its arguments in an arrow function', '() => { getRow(); return this; }'],
    ['is no function', 'getRow()'],
    ['is called at once', '(function () { return function () { getRow(); }; })()'],
    ['is a class', 'class { m() { getRow(); } }'],
    ['is not closed', 'function () { getRow(); '],
    ['defines it', 'function () { function getRow() { return null; } return getRow(); }'],
    ['provides by another function', 'function () { other.provides("html", function () { getRow(); }); }'],
    ['has a text without end', "function () { getRow(); 'abc }"],
  ])('%s', (_what, source) => {
    expect(toResumableSource(source)).toBeUndefined();
  });
});
