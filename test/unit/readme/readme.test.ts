import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { matchesAnswer, readSteps } from './console-blocks.ts';

const repository = join(import.meta.dirname, '..', '..', '..');
const readme = await readFile(join(repository, 'README.md'), 'utf8');
const run = promisify(execFile);

let dataFolder = '';
let server: ChildProcess | undefined;
let port = '';

beforeAll(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'settee-readme-'));
});

afterAll(async () => {
  await stop();
  await rm(dataFolder, { recursive: true });
});

/** As the README says, on a port and a folder of the test's own. Gives the start-up line as the README would show it. */
async function npmStart(): Promise<string> {
  await stop();
  const started = spawn('npm', ['start', '--', '--port', '0', '--data', dataFolder], {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'ignore'],
    // A process group, as a terminal gives it to what runs in it.
    detached: true,
  });
  server = started;
  for await (const line of createInterface(started.stdout)) {
    port = /^Settee .* answers at http:\/\/127\.0\.0\.1:(\d+)\//.exec(line)?.[1] ?? '';
    if (port !== '') return line.replace(port, '5984');
  }
  throw new Error('npm start ended without a start-up line');
}

/** What Ctrl-C does: the terminal signals the whole group. */
async function stop(): Promise<void> {
  if (server?.pid === undefined) return;
  const closed = once(server, 'close');
  process.kill(-server.pid, 'SIGINT');
  server = undefined;
  await closed;
}

async function runCommand(command: string): Promise<string> {
  const { stdout } = await run('bash', ['-c', command.replaceAll(':5984', `:${port}`)], { cwd: repository });
  // As a terminal shows it: the rows of a list are framed with carriage returns (completion 9).
  return stdout.trim().replaceAll('\r\n', '\n').replaceAll(`:${port}`, ':5984');
}

describe('the walk-through', () => {
  const steps = readSteps(readme);

  test('shows every kind of request that it promises', () => {
    expect(steps.length).toBeGreaterThan(20);
    for (const part of ['PUT', 'POST', 'DELETE', 'COPY', '_bulk_docs', '_compact', 'settee import', 'settee export']) {
      expect(steps.map(({ command }) => command).join('\n')).toContain(part);
    }
    expect(steps.filter(({ command }) => command === 'npm start')).toHaveLength(2);
  });

  test('answers as it says', { timeout: 300_000 }, async () => {
    for (const { command, answer } of steps) {
      const actual = command === 'npm start' ? await npmStart() : await runCommand(command);
      if (!matchesAnswer(actual, answer)) expect({ command, answer: actual }).toEqual({ command, answer });
    }
  });
});

test('the README names every dependency', () => {
  for (const name of [...Object.keys(packageJson.dependencies), ...Object.keys(packageJson.devDependencies)]) {
    if (!name.startsWith('@types/')) expect(readme).toContain(`\`${name}\``);
  }
});

describe('matchesAnswer', () => {
  test('takes … for any text within a line, and all else as it is', () => {
    expect(matchesAnswer('{"a":"x","b":[1]}', '{"a":"…","b":[1]}')).toBe(true);
    expect(matchesAnswer('{"a":"x","b":[2]}', '{"a":"…","b":[1]}')).toBe(false);
    expect(matchesAnswer('a\nb', '…')).toBe(false);
    expect(matchesAnswer('a.b', 'a.b')).toBe(true);
    expect(matchesAnswer('a_b', 'a.b')).toBe(false);
  });
});
