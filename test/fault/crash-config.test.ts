import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readIni } from '../../src/node/data-folder/ini-text.ts';
import { buildServer, ServerProcess } from '../support/crash/server-process.ts';
import { roundsOf } from '../support/long-runs.ts';
import { SeededRandom } from '../support/seeded-random.ts';

/**
 * A server process is killed again and again while its configuration is changed. Its file is then the old or the new one, to the letter.
 * SETTEE_CRASH_ROUNDS says how often (8, in a long run 50), SETTEE_CRASH_SEED repeats a run's choices.
 */
const rounds = Number(process.env['SETTEE_CRASH_ROUNDS'] ?? roundsOf(8, 50));
const seed = Number(process.env['SETTEE_CRASH_SEED'] ?? Date.now() % 2 ** 31);

/** So long that writing it takes a while. */
const PADDING = 'x'.repeat(60_000);
const LATEST_KILL_MS = 60;
const BEGINNING = '; by hand\n[uuids]\nmax_count = 7 ; few\n\n[app:crash]\nnumber = 0 ; a comment\n';

let folder: string;
let server: ServerProcess | undefined;

beforeAll(() => buildServer(), 120_000);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-crash-config-'));
});

afterEach(async () => {
  await server?.kill();
  await rm(folder, { recursive: true, force: true });
});

const file = () => join(folder, 'settee.ini');

/** Counts up in the file until the server is gone. Gives the last number that was acknowledged. */
async function count(url: URL, from: number, onAcknowledged: () => void): Promise<number> {
  let acknowledged = from;
  for (;;) {
    const body = JSON.stringify(`${acknowledged + 1} ${PADDING}`);
    const answer = await fetch(`${url}_config/app:crash/number`, { method: 'PUT', body }).catch(() => undefined);
    if (answer === undefined) return acknowledged;
    expect(answer.status, await answer.text().catch(() => '')).toBe(200);
    acknowledged += 1;
    onAcknowledged();
  }
}

test(
  `the configuration file is the old or the new one after ${rounds} crashes of the server`,
  async () => {
    console.log(`SETTEE_CRASH_SEED=${seed} repeats what this run chooses`);
    const random = new SeededRandom(seed);
    await writeFile(file(), BEGINNING, { mode: 0o600 });
    let known = 0;
    for (let round = 1; round <= rounds; round++) {
      const started = await ServerProcess.start(folder);
      server = started;
      // A few are acknowledged in each round, however slow the machine is.
      let awaited = random.between(1, 4);
      let counted = Promise.resolve(known);
      await new Promise<void>((resolve, reject) => {
        counted = count(started.url, known, () => {
          awaited -= 1;
          if (awaited === 0) resolve();
        });
        counted.catch(reject);
      });
      await delay(random.between(0, LATEST_KILL_MS));
      await started.kill();
      const acknowledged = await counted;
      const text = await readFile(file(), 'utf8');
      const value = readIni(text, file())['app:crash']?.['number'] ?? '';
      const number = Number.parseInt(value, 10);
      const where = `seed ${seed}, round ${round}`;
      // What was under way when the server was killed may be there, too.
      expect([acknowledged, acknowledged + 1], where).toContain(number);
      expect(text, where).toBe(
        number === 0 ? BEGINNING : BEGINNING.replace('number = 0', `number = ${number} ${PADDING}`),
      );
      expect((await stat(file())).mode & 0o777, where).toBe(0o600);
      known = number;
    }
    expect(known).toBeGreaterThanOrEqual(rounds);
    server = await ServerProcess.start(folder);
    expect(await (await fetch(`${server.url}_config/uuids/max_count`)).json()).toBe('7');
    await fetch(`${server.url}_config/app:crash/number`, { method: 'DELETE' });
    expect(await server.stop()).toBe(0);
    expect((await readdir(folder)).filter((name) => name.startsWith('settee.ini'))).toEqual(['settee.ini']);
  },
  30_000 + rounds * 6_000,
);
