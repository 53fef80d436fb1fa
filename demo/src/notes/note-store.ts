/** The database of one device: its notes, their photos, and the addresses of its live views. */
import { type Content, RequestError, type StoredDocument } from '../data/database.ts';
import type { Logging, RequestLog } from '../data/request-log.ts';
import { DESIGN, design, type ViewName } from './design.ts';
import { contentOf, type Note, PHOTO, type Photo, THUMBNAIL, wordsOf } from './note.ts';
import type { Counted } from './sentences.ts';
import { commonAncestor, type Resolution, toVersion, type Version } from './versions.ts';

export interface Photos {
  readonly photo: Photo;
  readonly thumbnail: Photo;
}

/** What becomes of a note's photo: another one, none, or it stays. */
export type PhotoChange = Photos | 'remove' | 'keep';

/** All versions of a note, in conflict or not, and what they come from, if that is still stored. */
export interface Versions {
  readonly versions: readonly Version[];
  readonly base: Version | undefined;
}

const JSON_HEADERS = { Accept: 'application/json', 'Content-Type': 'application/json' };
const HEARTBEAT_MS = '30000';

export class NoteStore {
  /** The path of the database, as the page reaches it. */
  readonly path: string;
  readonly #log: RequestLog;
  readonly #written = new Set<string>();
  /** Ids of notes that this page deleted. */
  readonly #deleted = new Set<string>();
  #preparing: Promise<void> | undefined;
  #isNew = false;
  #counted: Counted[] = [];

  constructor(path: string, log: RequestLog) {
    this.path = path;
    this.#log = log;
  }

  /** Whether this page made the database. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** Makes the database and its views, if they are not there. */
  prepare(): Promise<void> {
    this.#preparing ??= this.#prepare().finally(() => {
      this.#preparing = undefined;
    });
    return this.#preparing;
  }

  async #prepare(): Promise<void> {
    const { existed } = await succeed(await this.#ask('?if-missing=true', { method: 'PUT' }, 'quiet'));
    this.#isNew ||= existed !== true;
    const query = new URLSearchParams({ keys: JSON.stringify([DESIGN]), include_docs: 'true' });
    const { rows } = await succeed(await this.#ask(`/_all_docs?${query}`, {}, 'quiet'));
    const stored = rows[0]?.doc;
    if (JSON.stringify(stored?.views) !== JSON.stringify(design.views)) {
      const body = JSON.stringify({ ...(stored && { _rev: stored._rev }), ...design });
      // Another tab may be quicker.
      const answer = await this.#ask(`/${DESIGN}`, { method: 'PUT', body });
      if (answer.status !== 409) await succeed(answer);
    }
  }

  /** For an `EventSource`: the rows of a view, and then what changes in them. */
  liveAddress(view: ViewName): string {
    const query = new URLSearchParams({ feed: 'eventsource', include_rows: 'true', heartbeat: HEARTBEAT_MS });
    if ('reduce' in design.views[view]) query.set('group_level', '1');
    return `${this.viewPath(view)}?${query}`;
  }

  viewPath(view: ViewName): string {
    return `${this.path}/${DESIGN}/_view/${view}`;
  }

  /** The revision changes the address when the file has changed. */
  photoAddress(id: string, rev: string, name: typeof PHOTO | typeof THUMBNAIL): string {
    return `${this.path}/${encodeURIComponent(id)}/${name}?${new URLSearchParams({ rev })}`;
  }

  /** What the work returns, and the requests that it took. Only one at a time. */
  async counting<Result>(work: () => Promise<Result>): Promise<{ result: Result; requests: readonly Counted[] }> {
    this.#counted = [];
    const result = await work();
    return { result, requests: this.#counted };
  }

  /** Whether this page made the revision on this device: the others have arrived here. */
  hasWritten(rev: string): boolean {
    return this.#written.has(rev);
  }

  /** Whether this page deleted the note on this device. */
  hasDeleted(id: string): boolean {
    return this.#deleted.has(id);
  }

  /** Text and photo in one request. Returns the id. */
  async add(note: Note, photos: Photos | undefined): Promise<string> {
    const id = `note-${Date.now().toString(36)}-${crypto.randomUUID().slice(0, 8)}`;
    const body = JSON.stringify({ ...contentOf(note), ...(photos && { _attachments: filesOf(photos) }) });
    await this.#write(`/${id}`, { method: 'PUT', body });
    return id;
  }

  /** Undefined if it is missing or deleted. */
  async get(id: string): Promise<Version | undefined> {
    const { versions } = await this.versions(id);
    return versions.at(0);
  }

  /** Returns the new revision; undefined if `version` is not the current one: another change was quicker. */
  async save(id: string, version: Version, note: Note, photos: PhotoChange): Promise<string | undefined> {
    const files = photos === 'keep' ? version.files : photos === 'remove' ? {} : filesOf(photos);
    const body = JSON.stringify({ _rev: version.rev, ...contentOf(note), ...withFiles(files) });
    return this.#write(`/${encodeURIComponent(id)}`, { method: 'PUT', body });
  }

  /** Returns false if it is not the current revision. */
  async remove(id: string, rev: string): Promise<boolean> {
    const query = new URLSearchParams({ rev });
    this.#deleted.add(id);
    return (await this.#write(`/${encodeURIComponent(id)}?${query}`, { method: 'DELETE' })) !== undefined;
  }

  /** The document with its files in it, without its revision: what `restore` takes. */
  async whole(id: string, rev: string): Promise<Content> {
    const query = new URLSearchParams({ rev, attachments: 'true' });
    const { _rev, ...content } = await succeed(await this.#ask(`/${encodeURIComponent(id)}?${query}`, {}, 'quiet'));
    return content;
  }

  /** Brings back a note that was deleted. Returns its new revision; undefined if somebody else did so already. */
  restore(id: string, whole: Content): Promise<string | undefined> {
    this.#deleted.delete(id);
    return this.#write(`/${encodeURIComponent(id)}`, { method: 'PUT', body: JSON.stringify(whole) });
  }

  /** The first is the winner. */
  async versions(id: string): Promise<Versions> {
    const versions = await this.#leaves(id, 'all');
    const ancestor = versions.length > 1 ? commonAncestor(versions) : undefined;
    const [base] = ancestor === undefined ? [] : await this.#leaves(id, JSON.stringify([ancestor]));
    return { versions, base };
  }

  async #leaves(id: string, revs: string): Promise<readonly Version[]> {
    const query = new URLSearchParams({ open_revs: revs, revs: 'true' });
    const rows: { readonly ok?: StoredDocument }[] = await succeed(
      await this.#ask(`/${encodeURIComponent(id)}?${query}`, {}, 'quiet'),
    );
    return rows.flatMap(({ ok }) => (ok === undefined || ok['_deleted'] === true ? [] : [toVersion(ok)]));
  }

  /** Writes the resolution and deletes the other versions, in one request. Returns false if one of them has changed since. */
  async resolve(id: string, { note, continued, others }: Resolution): Promise<boolean> {
    const chosen = { _id: id, _rev: continued.rev, ...contentOf(note), ...withFiles(continued.files) };
    const docs = [chosen, ...others.map(({ rev }) => ({ _id: id, _rev: rev, _deleted: true }))];
    const rows = await this.#writeAll(docs);
    return rows.every(({ ok }) => ok === true);
  }

  async addAll(notes: readonly { readonly note: Note; readonly photos: Photos }[]): Promise<void> {
    const docs = notes.map(({ note, photos }, index) => ({
      _id: `note-${Date.now().toString(36)}-${index}${crypto.randomUUID().slice(0, 6)}`,
      ...contentOf(note),
      _attachments: filesOf(photos),
    }));
    await this.#writeAll(docs);
  }

  /** Deletes every version of every note, as changes that replication takes everywhere. Returns how many notes there were. */
  async clear(): Promise<number> {
    const query = new URLSearchParams({ include_docs: 'true', conflicts: 'true', startkey: '"note-"' });
    const { rows } = await succeed(await this.#ask(`/_all_docs?${query}`, {}, 'quiet'));
    const docs = rows.flatMap(({ doc }: { doc: StoredDocument }) =>
      [doc._rev, ...asStrings(doc['_conflicts'])].map((rev) => ({ _id: doc._id, _rev: rev, _deleted: true })),
    );
    for (const { id } of rows) this.#deleted.add(id);
    if (docs.length > 0) await this.#writeAll(docs);
    return rows.length;
  }

  async count(): Promise<number> {
    const query = new URLSearchParams({ startkey: '"note-"' });
    return (await succeed(await this.#ask(`/_all_docs?${query}`, {}, 'quiet'))).rows.length;
  }

  /** The notes with all words of the text; the last letters of each word may be missing. */
  async search(text: string): Promise<ReadonlySet<string>> {
    const found = await Promise.all(wordsOf(text).map((word) => this.#withWord(word)));
    const [first = new Set<string>(), ...others] = found;
    return new Set([...first].filter((id) => others.every((ids) => ids.has(id))));
  }

  async #withWord(word: string): Promise<ReadonlySet<string>> {
    const range = { startkey: JSON.stringify(word), endkey: JSON.stringify(`${word}\u{fff0}`) };
    const answer = await this.#ask(`/${DESIGN}/_view/words?${new URLSearchParams(range)}`);
    const { rows }: { rows: readonly { readonly id: string }[] } = await succeed(answer);
    return new Set(rows.map(({ id }) => id));
  }

  async #write(path: string, init: RequestInit): Promise<string | undefined> {
    const answer = await this.#ask(path, init);
    if (answer.status === 409) return undefined;
    const { rev } = await succeed(answer);
    this.#written.add(rev);
    return rev;
  }

  async #writeAll(docs: readonly object[]): Promise<readonly { readonly ok?: boolean; readonly rev?: string }[]> {
    const body = JSON.stringify({ docs });
    const rows = await succeed(await this.#ask('/_bulk_docs', { method: 'POST', body }));
    for (const { rev } of rows) if (rev !== undefined) this.#written.add(rev);
    return rows;
  }

  async #ask(path: string, init: RequestInit = {}, logging: Logging = 'logged'): Promise<Response> {
    const began = performance.now();
    const answer = await this.#log.fetch(`${this.path}${path}`, { headers: JSON_HEADERS, ...init }, logging);
    if (logging === 'logged') this.#counted.push({ method: init.method ?? 'GET', ms: performance.now() - began });
    return answer;
  }
}

function filesOf({ photo, thumbnail }: Photos): Readonly<Record<string, Photo>> {
  return { [PHOTO]: photo, [THUMBNAIL]: thumbnail };
}

/** Files that are stored already are named as they are, without their content. */
function withFiles(files: Readonly<Record<string, object>>): object {
  return Object.keys(files).length === 0 ? {} : { _attachments: files };
}

function asStrings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

async function succeed(answer: Response) {
  const json = await answer.json();
  if (answer.ok) return json;
  throw new RequestError(answer.status, `${json.reason ?? json.error ?? answer.statusText}`);
}
