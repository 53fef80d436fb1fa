import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'vite';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type FolderLock, lockFolder } from '../../../../src/node/data-folder/folder-lock.ts';

let temporary = '';
let folder = '';
const children: ChildProcess[] = [];

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'settee-lock-'));
  await build({
    configFile: false,
    logLevel: 'silent',
    build: { ssr: join(import.meta.dirname, 'folder-lock-holder.ts'), outDir: join(temporary, 'built') },
  });
});

afterAll(() => rm(temporary, { recursive: true }));

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
});

async function makeFolder(...names: string[]): Promise<string> {
  folder = join(await mkdtemp(join(temporary, 'data-')), ...names);
  await mkdir(folder, { recursive: true });
  return folder;
}

/** Starts another process that takes the folder; gives it and what it says. */
async function startHolder(path: string): Promise<{ child: ChildProcess; says: string }> {
  const built = (await readdir(join(temporary, 'built'))).find((name) => name.startsWith('folder-lock-holder'));
  const child = spawn(process.execPath, [join(temporary, 'built', `${built}`), path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  const [says] = await once(createInterface(child.stdout), 'line');
  return { child, says };
}

describe('a data folder', () => {
  test('is refused to a second process, naming folder, process and address', async () => {
    const path = await makeFolder();
    const { child, says } = await startHolder(path);
    expect(says).toBe('held');
    await expect(lockFolder(path)).rejects.toMatchObject({
      code: 'storage_locked',
      reason: `The data folder ${path} is in use by process ${child.pid}, which answers at http://127.0.0.1:1234/. Stop that process first, or choose another folder with --data.`,
    });
  });

  test('is refused to a second open in the same process', async () => {
    const path = await makeFolder();
    const lock = await lockFolder(path);
    await expect(lockFolder(path)).rejects.toMatchObject({ code: 'storage_locked' });
    await lock.release();
  });

  test('is free after its release, and no lock file is left', async () => {
    const path = await makeFolder();
    const first = await lockFolder(path);
    await first.release();
    const second = await lockFolder(path);
    await second.release();
    expect(await readdir(join(path, 'lock'))).toEqual([]);
  });

  test('is taken over at once from a process that was killed', async () => {
    const path = await makeFolder();
    const { child } = await startHolder(path);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    expect(await readdir(join(path, 'lock'))).toHaveLength(1);
    const events = vi.spyOn(Socket.prototype, 'emit');
    const lock = await lockFolder(path);
    // It asks whether the process answers, and doesn't wait for an answer until the time is up.
    expect(events.mock.calls.map(([event]) => event)).toContain('error');
    expect(events.mock.calls.map(([event]) => event)).not.toContain('timeout');
    events.mockRestore();
    expect(await readdir(join(path, 'lock'))).toHaveLength(1);
    await lock.release();
  });

  test("stays with a process that is stopped and can't answer", async () => {
    const path = await makeFolder();
    const { child } = await startHolder(path);
    child.kill('SIGSTOP');
    await expect(lockFolder(path)).rejects.toMatchObject({
      code: 'storage_locked',
      reason: expect.stringContaining(`in use by process ${child.pid}.`),
    });
    child.kill('SIGCONT');
  });

  test('can be locked beside another folder', async () => {
    const first = await lockFolder(await makeFolder());
    const second = await lockFolder(await makeFolder());
    await first.release();
    await second.release();
  });

  test('can have a path longer than a socket can have', async () => {
    const path = await makeFolder('d'.repeat(120));
    const lock = await lockFolder(path);
    const { says } = await startHolder(path);
    expect(says).toMatch(/^storage_locked: .* is in use by process \d+\. Stop/);
    await lock.release();
    const { says: later } = await startHolder(path);
    expect(later).toBe('held');
  });

  test('is given to exactly one of many simultaneous processes', async () => {
    for (let round = 0; round < 20; round++) {
      const path = await makeFolder();
      const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(path)));
      const locks = outcomes.flatMap((outcome): FolderLock[] =>
        outcome.status === 'fulfilled' ? [outcome.value] : [],
      );
      expect(locks).toHaveLength(1);
      await locks[0]?.release();
    }
  });

  test('is given to exactly one of several processes after its holder was killed', async () => {
    const path = await makeFolder();
    const { child } = await startHolder(path);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    const holders = await Promise.all(Array.from({ length: 4 }, () => startHolder(path)));
    expect(holders.filter(({ says }) => says === 'held')).toHaveLength(1);
  });
});
