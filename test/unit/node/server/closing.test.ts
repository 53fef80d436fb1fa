import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ProcessHost, serve } from '../../../../src/node/server/serve.ts';
import { startServer } from '../../../../src/node/server/server.ts';

/** What the mocked storage does when it is closed. */
const storage = vi.hoisted(() => ({ onClose: (): Promise<void> => Promise.resolve() }));

vi.mock('../../../../src/storage/lmdb/lmdb-page-store.ts', async () => {
  const { createMemoryPageStore } = await import('../../../../src/storage/memory-page-store.ts');
  return {
    createLmdbPageStore: () => {
      const store = createMemoryPageStore();
      return Object.assign(Object.create(store, { openFiles: { value: 0 } }), {
        supports: store.supports,
        list: () => store.list(),
        open: (file: string, mode: 'create' | 'open') => store.open(file, mode),
        close: () => storage.onClose(),
      });
    },
  };
});

const never = () => new Promise<void>(() => undefined);
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-closing-'));
  storage.onClose = () => Promise.resolve();
});

afterEach(() => rm(folder, { recursive: true }));

describe("a storage that doesn't finish closing", () => {
  test('is abandoned after a while with a log entry, and the folder stays locked', async () => {
    storage.onClose = never;
    const logged: string[] = [];
    const onLog = (entry: string) => void logged.push(entry);
    const server = await startServer({ port: 0, dataFolder: folder, storageCloseMs: 50, onLog });
    await expect(server.close()).rejects.toMatchObject({
      code: 'storage_blocked',
      reason:
        'The storage did not close within 0.05 seconds. Acknowledged writes are not lost. End the process, and check the disk.',
    });
    expect(logged.join('\n')).toMatch(
      /The server could not be closed cleanly\.[\s\S]*did not close within 0\.05 seconds/,
    );
    await expect(fetch(server.url)).rejects.toThrow();
    await expect(startServer({ port: 0, dataFolder: folder })).rejects.toMatchObject({ code: 'storage_locked' });
  });

  test("doesn't keep the process from ending after a signal, with exit code 1", async () => {
    storage.onClose = never;
    const host = new TestHost();
    const options = { port: 0, dataFolder: folder, storageCloseMs: 50, onLog: () => {} };
    const served = serve(options, host);
    await once(host.stdout, 'data');
    host.signals.emit('SIGTERM');
    expect(await served).toBe(1);
    expect(host.exits).toEqual([1]);
  });
});

test('a storage that fails to close causes exit code 1', async () => {
  storage.onClose = () => Promise.reject(new Error('EIO'));
  const host = new TestHost();
  const logged: string[] = [];
  const served = serve({ port: 0, dataFolder: folder, onLog: (entry) => void logged.push(entry) }, host);
  await once(host.stdout, 'data');
  host.signals.emit('SIGINT');
  expect(await served).toBe(1);
  expect(host.exits).toEqual([1]);
  expect(logged.join('\n')).toContain('EIO');
});

test("a storage that closes properly causes exit code 0, and the process isn't forced to end", async () => {
  const host = new TestHost();
  const served = serve({ port: 0, dataFolder: folder, logLevel: 'error' }, host);
  await once(host.stdout, 'data');
  host.signals.emit('SIGTERM');
  expect(await served).toBe(0);
  expect(host.exits).toEqual([]);
});

class TestHost implements ProcessHost {
  readonly stdout = new PassThrough();
  readonly signals = new EventEmitter();
  readonly exits: number[] = [];

  on(signal: string, listener: () => void): void {
    this.signals.on(signal, listener);
  }

  off(signal: string, listener: () => void): void {
    this.signals.off(signal, listener);
  }

  exit(code: number): void {
    this.exits.push(code);
  }
}
