/** A week of docs/sync.md's app, in which everything happens that may happen to devices and servers (time sped up). */
import { afterEach, beforeAll, expect, test } from 'vitest';
import { buildServer } from '../support/crash/server-process.ts';
import { roundsOf } from '../support/long-runs.ts';
import { type Tree, type Trees, treesBehind } from '../support/replication/trees.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { type Device, isUpToDate } from '../support/week/device.ts';
import { SERVER } from '../support/week/device-network.ts';
import { DATABASE, DAY, NEXT_VERSION, Week } from '../support/week/week.ts';

const firstSeed = Number(process.env['SETTEE_WEEK_SEED'] ?? Date.now() % 2 ** 31);
const LONG_NOTE = 'x'.repeat(101);
const REASON = 'A note has at most 100 characters.';
const HOUR_MS = 3_600_000;

let week: Week | undefined;

beforeAll(buildServer, 300_000);
afterEach(async () => {
  await week?.close();
  week = undefined;
});

for (let round = 0; round < roundsOf(1, 20); round++) {
  const seed = firstSeed + round;
  test(`after a week all devices and the server are equal (seed ${seed})`, { timeout: 600_000 }, async () => {
    const random = new SeededRandom(seed);
    week = await Week.begin(random);
    const refusedRev = await live(week, random);
    await expectEqual(week);
    expectExplained(week, refusedRev);
  });
}

/** The events of the week. Returns the revision of the note that stays refused. */
async function live(running: Week, random: SeededRandom): Promise<string> {
  const { laptop, phone, desk, tablet, server, loginService } = running;
  // Monday. The desk's clock is three days ahead.
  desk.clock.aheadMs = 3 * DAY * HOUR_MS;
  for (const device of [laptop, phone, desk]) await running.add(device);
  for (const id of ['all-know', 'one-missed']) await phone.notes.put({ _id: id, owner: 'ann', text: 'to be deleted' });
  await running.passUntil(20);
  await running.wakeAll();
  running.refused.add('too-long-at-first');
  await phone.notes.put({ _id: 'too-long-at-first', owner: 'ann', text: LONG_NOTE });
  await deleteNote(phone, 'all-know');
  await running.settle();
  await running.untilAllHaveRead();
  expect(phone.denied).toEqual(new Map([['too-long-at-first', REASON]]));

  // Tuesday. The server purges tombstones, and the laptop sleeps until Thursday.
  await running.ask('PUT', `/${DATABASE}/_auto_purge`, { deleted_document_ttl: '6_hour' });
  await running.passUntil(DAY + 6);
  await running.sleep(laptop, 42);
  await running.passUntil(DAY + 12);
  await running.wake(phone);
  await deleteNote(phone, 'one-missed');
  await server.restart();

  // Wednesday. The desk's clock is set too far back, and the server dies.
  await running.passUntil(2 * DAY + 10);
  desk.clock.aheadMs = -DAY * HOUR_MS;
  await running.killDuringPush(phone);
  await running.until(phone, isUpToDate);
  await phone.edit('too-long-at-first', 'short enough');
  running.refused.delete('too-long-at-first');
  await running.passUntil(2 * DAY + 22);
  expect(await running.ask('GET', `/${DATABASE}/all-know`)).toEqual({ error: 'not_found', reason: 'missing' });
  expect(await running.ask('GET', `/${DATABASE}/one-missed`)).toEqual({ error: 'not_found', reason: 'deleted' });

  // Thursday. Another release, and another device.
  await running.passUntil(3 * DAY + random.between(1, 10));
  await server.upgrade(NEXT_VERSION);
  expect(await running.ask('GET', '/')).toMatchObject({ version: NEXT_VERSION });
  await running.add(tablet);
  await running.passUntil(4 * DAY);
  await running.ask('PUT', `/${DATABASE}/_auto_purge`, {});

  // Friday. No tokens for hours.
  loginService.isDown = true;
  await running.until(laptop, ({ state }) => state === 'unauthorized');
  const { push, pull } = laptop.sync.status();
  const waiting = [push, pull].find((direction) => direction?.state === 'unauthorized');
  expect(waiting?.last_error).toMatchObject({
    error: 'unauthorized',
    reason: `the page that provides bearer tokens for ${SERVER}/${DATABASE} failed: The login service is down.`,
  });
  await running.passUntil(4 * DAY + 9);
  loginService.isDown = false;

  // Saturday. The phone's session ends while it sleeps, and the desk's clock is right at last.
  await running.passUntil(5 * DAY);
  await running.until(phone, isUpToDate);
  const { logins } = phone;
  await running.sleep(phone, 10);
  await running.passUntil(5 * DAY + 12);
  await running.until(phone, isUpToDate);
  expect(phone.logins).toBeGreaterThan(logins);
  await running.wake(desk);
  desk.clock.aheadMs = 0;
  const since = new Date(desk.clock.now() - 60_000).toISOString();
  running.refused.add('too-long-for-good');
  const written = await desk.notes.put({ _id: 'too-long-for-good', owner: 'bob', text: LONG_NOTE });
  await server.restart();

  // Sunday.
  await running.passUntil(7 * DAY);
  await running.wakeAll();
  await running.settle();
  const { results } = Object(await desk.ask(`/notes/_changes?since=${since}`));
  expect(results).toContainEqual(expect.objectContaining({ id: 'too-long-for-good' }));
  return written.ok ? written.rev : '';
}

async function deleteNote({ notes }: Device, id: string): Promise<void> {
  const note = await notes.get(id);
  if (note !== undefined) await notes.remove(note);
}

/** Trees of documents with a living leaf are the same everywhere. Those of deleted documents are, wherever they were not purged. */
async function expectEqual(running: Week): Promise<void> {
  const server = await running.treesOfServer();
  expect(Object.keys(server).length).toBeGreaterThan(300);
  for (const device of running.devices) {
    const trees = await treesOf(device);
    expect({ device: device.name, trees: livingIn(running, trees) }).toEqual({
      device: device.name,
      trees: livingIn(running, server),
    });
    for (const [id, tree] of Object.entries(trees)) {
      if (running.isCopied(id) && !isLiving(tree) && server[id] !== undefined) expect(tree).toEqual(server[id]);
    }
    expect(trees['all-know']?.leaves.some(isAlive) ?? false).toBe(false);
    expect(trees['one-missed']?.leaves.some(isAlive) ?? false).toBe(false);
  }
}

function treesOf(device: Device): Promise<Trees> {
  return treesBehind((path) => device.ask(`/notes${path}`));
}

function livingIn(running: Week, trees: Trees): Trees {
  return Object.fromEntries(Object.entries(trees).filter(([id, tree]) => running.isCopied(id) && isLiving(tree)));
}

function isLiving({ leaves }: Tree): boolean {
  return leaves.some(isAlive);
}

function isAlive(leaf: string): boolean {
  return JSON.parse(leaf)._deleted !== true;
}

/** The lists name the note that the rule of the server refuses, and nothing else; no log has an error. */
function expectExplained(running: Week, rev: string): void {
  const refused = [{ id: 'too-long-for-good', rev, error: 'forbidden', reason: REASON }];
  const told = running.devices.map(({ name, sync }) => {
    const { state, push, pull } = sync.status();
    return { name, state, refused: [...(push?.refused ?? []), ...(pull?.refused ?? [])] };
  });
  expect(told).toEqual([
    { name: 'laptop', state: 'paused', refused: [] },
    { name: 'phone', state: 'paused', refused: [] },
    { name: 'desk', state: 'denied', refused },
    { name: 'tablet', state: 'paused', refused: [] },
  ]);
  for (const { errors } of running.devices) expect(errors).toEqual([]);
  expect(running.server.output).not.toContain('[error]');
}
