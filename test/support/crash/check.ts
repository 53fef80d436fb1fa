import { systemClock, systemRandom } from '../../../src/base/shared/clock.ts';
import type { Registry } from '../../../src/database/registry/contract.ts';
import { openRegistry } from '../../../src/database/registry/registry.ts';
import type { Snapshot } from '../../../src/database/store/contract.ts';
import { openDataFolder } from '../../../src/node/data-folder/data-folder.ts';
import { createLmdbPageStore } from '../../../src/storage/lmdb/lmdb-page-store.ts';
import { arrayAt, at, numberAt, stringAt } from '../conformance/json.ts';
import type { Connection } from './connection.ts';
import { isLocal, type Ledger, type Observed } from './ledger.ts';

/** Documents requested at a time. */
const BATCH = 1_000;

/** Compares some documents on a restarted server with the ledger. Returns one sentence per finding. */
export async function checkDocuments(
  connection: Connection,
  database: string,
  ledger: Ledger,
  ids: readonly string[],
): Promise<string[]> {
  const findings: (string | undefined)[] = [];
  for (const id of ids.filter(isLocal)) findings.push(ledger.settle(id, await readLocal(connection, database, id)));
  const ordinary = ids.filter((id) => !isLocal(id));
  for (let from = 0; from < ordinary.length; from += BATCH) {
    const keys = ordinary.slice(from, from + BATCH);
    const path = `${database}/_all_docs?include_docs=true&conflicts=true`;
    const answer = await connection.ask({ method: 'POST', path, body: JSON.stringify({ keys }) });
    const rows = arrayAt(answer.json, 'rows');
    if (rows.length !== keys.length) findings.push(`${keys.length} documents were asked for, ${rows.length} rows came`);
    keys.forEach((id, index) => {
      findings.push(ledger.settle(id, observedInRow(rows[index])));
    });
  }
  return findings.filter((finding) => finding !== undefined);
}

/** The document's members after `_id` and `_rev`, in their order: a `_conflicts` among them shows up as a difference. */
function observedInRow(row: unknown): Observed {
  if (at(row, 'error') === 'not_found') return undefined;
  const rev = stringAt(row, 'value', 'rev');
  return { rev, text: at(row, 'value', 'deleted') === true ? undefined : textOf(at(row, 'doc')) };
}

async function readLocal(connection: Connection, database: string, id: string): Promise<Observed> {
  const answer = await connection.ask({ method: 'GET', path: `${database}/${id}` });
  if (answer.status === 404) return undefined;
  return { rev: stringAt(answer.json, '_rev'), text: textOf(answer.json) };
}

function textOf(document: unknown): string {
  return JSON.stringify(document, (key, value: unknown) => (key === '_id' || key === '_rev' ? undefined : value));
}

/** The database's `update_seq` (docs/http/databases.md#database-information). */
export async function readUpdateSeq(connection: Connection, database: string): Promise<number> {
  return numberAt((await connection.ask({ method: 'GET', path: database })).json, 'update_seq');
}

/** The position of each of some documents in the order of changes. */
export async function readSequences(
  connection: Connection,
  database: string,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const sequences = new Map<string, number>();
  for (const id of ids) {
    const { status, json } = await connection.ask({ method: 'GET', path: `${database}/${id}?local_seq=true` });
    if (status === 200) sequences.set(id, numberAt(json, '_local_seq'));
  }
  return sequences;
}

interface FolderReport {
  readonly damage: readonly string[];
  readonly documents: number;
}

/** Opens the folder in this process, as the next server would, and checks everything in the database. */
export function verifyFolder(dataFolder: string, database: string, known: ReadonlySet<string>): Promise<FolderReport> {
  return inFolder(dataFolder, (registry, errors) =>
    registry.use(database, async (open) => {
      const snapshot = open.snapshot();
      const unordered = await checkOrder(snapshot, known);
      snapshot.release();
      const { damage, documents } = await open.verify();
      return { documents, damage: [...errors, ...unordered, ...damage] };
    }),
  );
}

/** Opens the folder in this process, as the next server would. `use` gets the lines that are logged as errors, and as information. */
export async function inFolder<T>(
  dataFolder: string,
  use: (registry: Registry, errors: readonly string[], infos: readonly string[]) => T | Promise<T>,
): Promise<T> {
  const opened = await openDataFolder(dataFolder);
  const [errors, infos]: [string[], string[]] = [[], []];
  const registry = await openRegistry({
    store: createLmdbPageStore(opened.databases),
    clock: systemClock,
    random: systemRandom,
    config: { get: () => undefined },
    log: {
      error: (message) => errors.push(message),
      info: (message) => infos.push(message),
      debug: () => undefined,
    },
  });
  try {
    return await use(registry, errors, infos);
  } finally {
    await registry.close();
    await opened.release();
  }
}

/** Each document must appear once in the order of changes, under a number of its own. */
async function checkOrder(snapshot: Snapshot, known: ReadonlySet<string>): Promise<string[]> {
  const findings: string[] = [];
  const seen = new Set<string>();
  let latest = 0;
  for await (const rows of snapshot.changes({ since: 0 })) {
    for (const { seq, id } of rows) {
      if (seq <= latest) findings.push(`${id}: number ${seq} comes after ${latest}`);
      if (seen.has(id)) findings.push(`${id}: stands twice in the order of changes`);
      if (!known.has(id)) findings.push(`${id}: nobody wrote it`);
      seen.add(id);
      latest = seq;
    }
  }
  if (latest > snapshot.updateSeq) findings.push(`number ${latest} is above update_seq, ${snapshot.updateSeq}`);
  const { docCount, docDelCount } = snapshot;
  if (docCount + docDelCount !== seen.size)
    findings.push(`${seen.size} documents are counted as ${docCount} + ${docDelCount}`);
  return findings;
}
