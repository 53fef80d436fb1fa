/** Random edits of a database, like those of people and replicators: in conflict, with attachments, and some that remove something. */
import { arrayAt, at } from '../conformance/json.ts';
import type { SeededRandom } from '../seeded-random.ts';

/** What the edits need from a database of any kind. */
export interface EditedDatabase {
  readonly name: string;
  /** All leaves, each with `_revisions` and its attachments as stubs; none if the document is unknown. */
  leaves(id: string): Promise<readonly object[]>;
  /** With `new_edits`. */
  put(document: object): Promise<void>;
  /** Without `new_edits`: keeps revisions as they are. */
  putRevision(document: object): Promise<void>;
  /** Undefined if not supported. */
  readonly purge: ((id: string, rev: string) => Promise<void>) | undefined;
  compact(): Promise<void>;
}

const IDS = ['a', 'b', 'c', 'd/e', 'é 😀', '_design/x', 'f', 'g', 'h', 'i'];
const LONG_BYTES = 90_000;

export async function editRandomly(database: EditedDatabase, random: SeededRandom): Promise<string> {
  const id = random.oneOf(IDS) ?? 'a';
  const leaf = random.oneOf(await database.leaves(id));
  const kind = random.between(0, 9);
  if (kind === 9) {
    await database.compact();
    return `compact ${database.name}`;
  }
  if (kind === 8 && leaf !== undefined && database.purge !== undefined) {
    await database.purge(id, String(at(leaf, '_rev')));
    return `purge ${id} ${at(leaf, '_rev')} in ${database.name}`;
  }
  if (kind === 7) {
    const document = await conflictOf(id, leaf, random);
    await database.putRevision(document);
    return `conflict ${id} ${at(document, '_rev')} in ${database.name}`;
  }
  const document = nextOf(id, leaf, random);
  await database.put(document);
  return `put ${JSON.stringify(document).slice(0, 150)} in ${database.name}`;
}

/** An edit of a leaf, which keeps its attachments, gets one, loses them, or is a deletion. */
function nextOf(_id: string, leaf: object | undefined, random: SeededRandom): object {
  const n = random.between(0, 999);
  const isDeleted = leaf !== undefined && at(leaf, '_deleted') === true;
  if (leaf === undefined || isDeleted) {
    return { _id, ...(isDeleted ? { _rev: at(leaf, '_rev') } : {}), n, ...newAttachment(random) };
  }
  const { _rev, _attachments = {} } = Object(leaf);
  if (random.chance(20)) return { _id, _rev, _deleted: true };
  const kept = random.chance(80) ? _attachments : {};
  const { _attachments: added = {} } = Object(newAttachment(random));
  const all = { ...kept, ...added };
  return { _id, _rev, n, ...(Object.keys(all).length > 0 ? { _attachments: all } : {}) };
}

function newAttachment(random: SeededRandom): object {
  if (!random.chance(35)) return {};
  const isLong = random.chance(25);
  const bytes = Buffer.alloc(isLong ? LONG_BYTES : random.between(0, 200), random.hexDigits(16));
  const name = random.oneOf(['x', 'y é', 'z']) ?? 'x';
  return { _attachments: { [name]: { content_type: 'application/octet-stream', data: bytes.toString('base64') } } };
}

/** A revision by another writer with the same parent as a leaf, or without a parent. */
async function conflictOf(_id: string, leaf: object | undefined, random: SeededRandom): Promise<object> {
  const ids = leaf === undefined ? [] : arrayAt(leaf, '_revisions', 'ids').map(String).slice(1);
  const own = random.hexDigits(32);
  const start = ids.length + 1;
  const _revisions = { start, ids: [own, ...ids] };
  return { _id, _rev: `${start}-${own}`, _revisions, n: random.between(0, 999), ...newAttachment(random) };
}
