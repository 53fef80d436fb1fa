import 'fake-indexeddb/auto';
import { IDBFactory } from 'fake-indexeddb';
import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createInstance } from '../../../../src/browser/bridge/instance.ts';
import { CoreSupervisor } from '../../../../src/browser/worker/core-supervisor.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { createOpfsJournalFiles } from '../../../../src/storage/indexeddb/opfs-journal-files.ts';
import { FakeFileSystem, FakeSyncAccessHandle } from '../../storage/fake-file-system.ts';
import { toText } from './origin.ts';

Object.assign(globalThis, { FileSystemSyncAccessHandle: FakeSyncAccessHandle });

test('a write that the next owner may or may not have read is answered with an unknown outcome, and not sent again', async () => {
  const files = new FakeFileSystem();
  const journalFiles = createOpfsJournalFiles(files.getDirectory);
  const instance = createInstance('/db/', 'https://app.example');
  const supervisor = new CoreSupervisor({
    instance,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    indexedDB: new IDBFactory(),
    deferred: deferredAtHand(),
    isStillOwner: async () => true,
    journalFiles: async () => journalFiles,
  });
  const ask = async (method: string, path: string, json?: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const body = json === undefined ? null : JSON.stringify(json);
    const answer = await supervisor.handle({ method, url: instance.base + path, headers, body });
    return { status: answer.status, json: JSON.parse(await toText(answer.body)) };
  };
  const liveSegment = () =>
    [...(files.root.folders.get('settee-journals')?.folders.values() ?? [])]
      .flatMap((folder) => [...folder.files.values()])
      .find(({ content, open }) => content.length > 8 && open.size > 0);

  await ask('PUT', 'notes');
  for (let n = 0; n < 200 && liveSegment() === undefined; n += 1) await ask('POST', 'notes', { n });
  const segment = liveSegment();
  expect(segment).toBeDefined();
  let behind: ReturnType<typeof ask> | undefined;
  files.onOperation = (name) => {
    if (name !== 'write' || segment === undefined) return;
    files.onOperation = () => undefined;
    // The seal comes behind the owner's first look, and before its second.
    segment.content[0] = 1;
    behind = ask('POST', 'notes', { behind: true });
  };
  const { status, json } = await ask('POST', 'notes', { marked: true });
  expect([status, json.error]).toEqual([503, 'service_unavailable']);
  expect(json.reason).toContain('carried out or not');
  // What waited for that write was not begun.
  expect((await behind)?.status).toBe(201);
  const { json: list } = await ask('GET', 'notes/_all_docs?include_docs=true');
  const having = (name: string) => list.rows.filter(({ doc }: { doc: Record<string, unknown> }) => doc[name] === true);
  expect([having('marked').length, having('behind').length]).toEqual([1, 1]);
  await supervisor.close();
});
