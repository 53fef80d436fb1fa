import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StoredDatabase } from '../../src/database/store/stored-database.ts';
import { roundsOf } from '../support/long-runs.ts';
import { checkpoint, DAY, note, passDays, purge, RULES } from '../unit/database/purging/support.ts';
import { Bench, id, leavesOf, merge, put, TINY, TINY_PAGES } from '../unit/database/store/harness.ts';

/**
 * Random histories of a database and its devices. The model is a list of what happened, with the time of each change: no tombstone may go that is younger
 * than the period or that a device has not read, and at the end each device has the same documents as the database.
 */

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const DEVICES = ['phone', 'laptop'];

type Step =
  | { readonly kind: 'write' | 'delete' | 'branch'; readonly name: string }
  | { readonly kind: 'pull'; readonly device: string }
  | { readonly kind: 'pass'; readonly days: number }
  | { readonly kind: 'checkpoint' | 'purge' | 'reopen' };

const named = (kind: 'write' | 'delete' | 'branch') =>
  fc.record({ kind: fc.constant(kind), name: fc.constantFrom(...NAMES) });
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: named('write') },
    { weight: 4, arbitrary: named('delete') },
    { weight: 1, arbitrary: named('branch') },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('pull' as const), device: fc.constantFrom(...DEVICES) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), days: fc.constantFrom(1, 40, 70, 110) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('checkpoint' as const) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('purge' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
  ),
  { minLength: 5, maxLength: 60 },
);

/** What a device has read: the live documents, with the revisions of all leaves. */
interface Device {
  seq: number;
  readonly documents: Map<string, readonly string[]>;
}

class World {
  readonly bench = new Bench({ settings: TINY, supports: TINY_PAGES });
  readonly devices = new Map<string, Device>(DEVICES.map((name) => [name, { seq: 0, documents: new Map() }]));
  /** For each document the sequence number and the time of its latest change. */
  readonly changed = new Map<string, { readonly seq: number; readonly time: number }>();
  branches = 0;
  db: StoredDatabase;

  private constructor(db: StoredDatabase) {
    this.db = db;
  }

  static async begin(): Promise<World> {
    const made = new World(undefined as unknown as StoredDatabase);
    made.db = await made.bench.open();
    return made;
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case 'write':
      case 'delete':
        return this.#edit(step.name, step.kind === 'delete');
      case 'branch':
        this.branches += 1;
        await merge(this.db, step.name, { rev: `1-${this.branches}` });
        return this.#note(step.name);
      case 'pull':
        return this.pull(step.device);
      case 'pass':
        return passDays(this.bench, step.days);
      case 'checkpoint':
        return note(this.db);
      case 'purge':
        return this.#purge();
      case 'reopen':
        await this.db.close();
        this.db = await this.bench.open();
    }
  }

  #note(name: string): void {
    this.changed.set(name, { seq: this.db.updateSeq, time: this.bench.clock.time });
  }

  /** Edits or deletes the winner; a document that is deleted or absent is only created. */
  async #edit(name: string, deleted: boolean): Promise<void> {
    const [winner = ''] = await leavesOf(this.db, name);
    const isLive = winner !== '' && !winner.includes('!');
    if (deleted && !isLive) return;
    const rev = winner.split(/[!=]/, 1)[0] ?? '';
    await put(this.db, name, {
      ...(rev === '' ? {} : { rev }),
      deleted,
      body: deleted ? '{}' : `{"at":${this.db.updateSeq}}`,
    });
    this.#note(name);
  }

  /** Reads the changes since the last time, as a replication does, and writes the checkpoint. */
  async pull(name: string): Promise<void> {
    const device = this.devices.get(name) as Device;
    const snapshot = this.db.snapshot();
    try {
      for await (const rows of snapshot.changes({ since: device.seq })) {
        for (const { id: read, deleted, revs } of rows) {
          if (deleted) device.documents.delete(read);
          else device.documents.set(read, revs);
        }
      }
      device.seq = snapshot.updateSeq;
    } finally {
      snapshot.release();
    }
    await checkpoint(this.db, name, device.seq, 'source');
  }

  async #purge(): Promise<void> {
    const before = await this.documents();
    const known = await this.#checkpoints();
    await purge(this.bench, this.db, { batchSize: 2 });
    const after = await this.documents();
    const now = this.bench.clock.time;
    for (const [name, deleted] of before) {
      if (after.has(name)) continue;
      const change = this.changed.get(name);
      const why = `${name} was purged`;
      expect(deleted, why).toBe(true);
      expect(now - (change?.time ?? now), why).toBeGreaterThanOrEqual(RULES.ttl * 1_000);
      for (const seq of known) expect(seq, why).toBeGreaterThanOrEqual(change?.seq ?? 0);
    }
    for (const name of after.keys()) expect(before.has(name)).toBe(true);
  }

  /** All documents, and whether they are deleted. */
  async documents(): Promise<Map<string, boolean>> {
    const found = new Map<string, boolean>();
    const snapshot = this.db.snapshot();
    for await (const rows of snapshot.changes({ since: 0 })) for (const row of rows) found.set(row.id, row.deleted);
    snapshot.release();
    return found;
  }

  async #checkpoints(): Promise<number[]> {
    const found: number[] = [];
    for (const [name, device] of this.devices) {
      if ((await this.db.readLocal(id(`_local/${name}`))) !== undefined) found.push(device.seq);
    }
    return found;
  }

  async live(): Promise<Map<string, readonly string[]>> {
    const found = new Map<string, readonly string[]>();
    const snapshot = this.db.snapshot();
    for await (const rows of snapshot.changes({ since: 0 })) {
      for (const { id: read, deleted, revs } of rows) if (!deleted) found.set(read, revs);
    }
    snapshot.release();
    return found;
  }
}

test('nothing is purged that is young or that a device needs, and all have the same documents at the end', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const world = await World.begin();
      for (const device of DEVICES) await world.pull(device);
      for (const step of history) await world.run(step);
      for (const device of DEVICES) {
        await world.pull(device);
        const { documents } = world.devices.get(device) as Device;
        expect(new Map([...documents].sort())).toEqual(new Map([...(await world.live())].sort()));
      }
      // Once all have read everything, and enough time has passed, no tombstone is left.
      await note(world.db);
      passDays(world.bench, (RULES.ttl / DAY) * 2);
      await purge(world.bench, world.db);
      expect([...(await world.documents()).values()].filter((deleted) => deleted)).toEqual([]);
      await world.db.close();
    }),
    { numRuns: roundsOf(60, 1_000) },
  );
}, 120_000);
