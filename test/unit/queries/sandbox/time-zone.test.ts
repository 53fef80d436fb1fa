import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestSandbox, openProgram } from './quickjs-files.ts';

const sandbox = createTestSandbox();
const { TZ } = process.env;
// Half an hour beside the full hours, with summer time: nothing of it looks like UTC.
beforeAll(() => {
  process.env['TZ'] = 'America/St_Johns';
});
afterAll(() => {
  if (TZ === undefined) delete process.env['TZ'];
  else process.env['TZ'] = TZ;
  sandbox.close();
});

const value = async (expression: string): Promise<unknown> => {
  const { program } = await openProgram(sandbox, { shows: { s: `function () { return { json: ${expression} }; }` } });
  return JSON.parse(`${(await program.show('s', 'null', '{}')).body}`);
};

test('the test process runs in another time zone than UTC', () => {
  expect(new Date(2026, 6, 1).getTimezoneOffset()).toBe(150);
});

// 2026-07-01T01:30:15Z is 23:00:15 of the day before in St. John's.
const SUMMER = 'new Date(Date.UTC(2026, 6, 1, 1, 30, 15, 250))';
test.each([
  ['new Date(2026, 6, 1, 12).toISOString()', '2026-07-01T12:00:00.000Z'],
  ['new Date(2026, 0, 1).getTime()', Date.UTC(2026, 0, 1)],
  [`[${SUMMER}.getFullYear(), ${SUMMER}.getMonth(), ${SUMMER}.getDate(), ${SUMMER}.getDay()]`, [2026, 6, 1, 3]],
  [`[${SUMMER}.getHours(), ${SUMMER}.getMinutes(), ${SUMMER}.getSeconds()]`, [1, 30, 15]],
  [`[${SUMMER}.getTimezoneOffset(), new Date(2026, 0, 1).getTimezoneOffset()]`, [0, 0]],
  ['[-1e12, 8.64e15, -8.64e15].map(function (at) { return new Date(at).getTimezoneOffset(); })', [0, 0, 0]],
  ['Date.parse("2026-07-01T12:00:00")', Date.UTC(2026, 6, 1, 12)],
  ['Date.parse("July 1, 2026 12:00")', Date.UTC(2026, 6, 1, 12)],
  ['Date.parse("Wed Jul 01 2026 12:00:00")', Date.UTC(2026, 6, 1, 12)],
  ['Date.parse("2026-07-01T12:00:00+02:00")', Date.UTC(2026, 6, 1, 10)],
  [`${SUMMER}.toString()`, 'Wed Jul 01 2026 01:30:15 GMT+0000'],
  [`${SUMMER}.toDateString() + " " + ${SUMMER}.toTimeString()`, 'Wed Jul 01 2026 01:30:15 GMT+0000'],
  [`${SUMMER}.toLocaleString()`, '07/01/2026, 01:30:15 AM'],
  [`(function (d) { d.setHours(0, 0, 0, 0); return d.toISOString(); })(${SUMMER})`, '2026-07-01T00:00:00.000Z'],
  [`(function (d) { d.setDate(32); return d.toISOString(); })(${SUMMER})`, '2026-08-01T01:30:15.250Z'],
])('%s is evaluated in UTC', async (expression, expected) => {
  expect(await value(expression)).toEqual(expected);
});

test('map functions run in UTC', async () => {
  const { program } = await openProgram(sandbox);
  const source =
    'function (doc) { var d = new Date(doc.at); emit([d.getFullYear(), d.getMonth(), d.getDate(), d.getHours()]); }';
  const mapper = await program.mapper([source]);
  const [rows] = await mapper.map(['{"at":"2026-01-01T00:30:00Z"}', '{"at":"2026-01-01T00:30:00"}']);
  expect(rows?.keys).toEqual(['[2026,0,1,0]', '[2026,0,1,0]']);
});
