import { isDatabaseError } from '../errors/database-error.ts';
import type { RandomBytes } from '../shared/clock.ts';
import { randomHex } from '../shared/random-hex.ts';
import type { Log } from '../system/contract.ts';
import type { DatabaseParts } from './database-parts.ts';
import { DISK_FORMAT_VERSION, decodeHead, encodeHead, type Head } from './state/head.ts';
import { decodeLineage, encodeLineage, LINEAGE_KEY } from './state/lineage.ts';
import { StoredDatabase } from './stored-database.ts';
import { SettingJob } from './writing/jobs.ts';
import { readRemains, replayJournal } from './writing/recovery.ts';
import type { DatabaseCore } from './writing/writer.ts';

export interface OpenParts extends DatabaseParts {
  readonly random: RandomBytes;
}

/**
 * Opens the database in a page file, or begins one in a file that has no head yet: replays the journal and, if the file
 * was not closed in order, goes on numbering above every sequence number that may have been seen. What else is to be
 * done, storing what was replayed and dropping the pages that an interrupted owner left behind, comes after the first
 * answers.
 */
export async function openDatabase(parts: OpenParts): Promise<StoredDatabase> {
  const { file } = parts;
  if (file.opening.head === undefined) {
    const head = newHead(parts);
    await file.commit({ durability: 'strict', head: encodeHead(head) });
    const database = new StoredDatabase(parts, head);
    database.endOpening([]);
    return database;
  }
  const stored = decodeHead(file.opening.head, file.name);
  const head = stored.clean ? stored : { ...stored, instanceStartTime: laterTime(parts, stored.instanceStartTime) };
  const database = new StoredDatabase(parts, head);
  await database.loadSettings();
  const remains = await readRemains(file, head);
  await replayJournal(database.core, remains);
  const leaked = remains.leaked.length;
  if (leaked > 0) parts.log.info(`${parts.name}: dropping ${leaked} pages that an interrupted write left behind`);
  await database.loadSettings();
  if (!stored.clean) await continueLineage(database, head, parts.log);
  database.endOpening([...remains.garbage, ...remains.leaked]);
  return database;
}

function newHead({ clock, random, supports }: OpenParts): Head {
  return {
    format: DISK_FORMAT_VERSION,
    uuid: randomHex(random, 16),
    updateSeq: 0,
    purgeSeq: 0,
    seqCeiling: 0,
    docCount: 0,
    docDelCount: 0,
    roots: { byId: null, bySeq: null, locals: null, space: null },
    journalFrom: 0,
    pageMark: 0,
    unstored: [],
    bodyPageBytes: supports.bodyPageBytes,
    maxPageBytes: supports.maxPageBytes,
    garbage: [],
    clean: true,
    instanceStartTime: String(clock.now() * 1000),
  };
}

/** Now in microseconds, or just after `former` where the clock was set back. */
function laterTime({ clock }: OpenParts, former: string): string {
  return String(Math.max(Math.round(clock.now() * 1000), Number(former) + 1));
}

async function continueLineage(database: StoredDatabase, head: Head, log: Log): Promise<void> {
  const { core } = database;
  const formerEnd = core.state.updateSeq;
  const firstSeq = Math.max(formerEnd, head.seqCeiling) + 1;
  core.state = { ...core.state, updateSeq: firstSeq - 1 };
  const lineage = decodeLineage(await core.state.locals.get(LINEAGE_KEY));
  lineage.push({ epoch: core.file.opening.epoch, firstSeq, formerEnd });
  const value = encodeLineage(lineage);
  try {
    // Nobody has to wait for the medium: the head that makes room for the next sequence number is durable, and nothing
    // survives without what came before it.
    await database.setSetting(new SettingJob(LINEAGE_KEY, value, { durability: 'relaxed' }));
  } catch (error) {
    // What a full medium holds can be read all the same. What comes to be stored next takes the note along.
    if (!isDatabaseError(error, 'storage_full')) throw error;
    log.error(`${database.name}: there was no room yet to note that it was not closed in order`, error);
    await noteInMemory(core, value);
  }
}

/** Indexes that have seen what was lost must be told of it, also by this owner. */
async function noteInMemory(core: DatabaseCore, lineage: string): Promise<void> {
  const { tree, replaced } = await core.state.locals.update([{ key: LINEAGE_KEY, value: lineage }]);
  core.state = { ...core.state, version: core.state.version + 1, locals: tree };
  for (const node of replaced) core.replaced.push(node);
  core.unnotedLineage = lineage;
  // As if it were in the journal: a checkpoint has to store it before the file counts as closed in order.
  core.journalRecords++;
}
