/**
 * Gives each user a database (docs/http/accounts.md#a-database-per-user): follows the changes of the users' database, creates the database of each new
 * user, and takes it away from a deleted one. Of several servers with the same databases only the one that owns their list does this.
 */
import { SERVER_ADMIN_ROLE, USER_PREFIX } from '../../accounts/contract.ts';
import { authenticationDatabase } from '../../accounts/settings.ts';
import { isDatabaseError, messageOf } from '../../base/errors/database-error.ts';
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { Log } from '../../base/system/contract.ts';
import { warn } from '../../base/system/log.ts';
import type { Core } from '../../core/core.ts';
import type { Database } from '../../database/store/contract.ts';
import { databaseOfUser, NEW_SECURITY, withoutUser, withUser } from './user-security.ts';

const SECTION = 'couch_peruser';
/** The name under which the list of databases keeps how far the users were read. */
const NOTE = 'couch_peruser';
/** What it keeps in place of that while the settings do not want it. */
const OFF = 'off';
/** Users that are handled before that is kept. */
const BATCH = 100;
/** Wait after a failure that may pass. */
const AGAIN_MS = 5_000;
/** Users whose databases wait for another attempt while others get theirs. If there are more, all wait. */
const MAX_AGAIN = 100;

const ADMIN = { name: null, roles: [SERVER_ADMIN_ROLE] };

/** How far the users were read. */
interface Progress {
  /** Of the users' database. */
  readonly uuid: string;
  /** Of the names of databases. Another one means other databases. */
  readonly prefix: string;
  readonly since: number;
  /** Where the database was when this was turned on: who was deleted before had no database of this server's, or keeps it. */
  readonly from: number;
  /** Changes that failed and are tried again, at most one of each user. */
  readonly again?: readonly UserChange[];
}

interface UserChange {
  readonly seq: number;
  readonly id: string;
  readonly deleted: boolean;
}

export type ServedCore = Pick<Core, 'registry' | 'handle' | 'config'>;

export class UserDatabases {
  readonly #core: ServedCore;
  readonly #log: Log;
  #isDue = false;
  /** Whether it was off, even if it is on again. */
  #wasOff = false;
  #isClosed = false;
  #following: Promise<void> | undefined;
  /** Whether what failed is to be tried again now. */
  #isAgainDue = true;
  #stopTimer: (() => void) | undefined;
  #watched: { readonly name: string; readonly end: (() => void) | undefined } | undefined;
  readonly #stops: readonly (() => void)[];

  /** Begins at once, if the settings want it; otherwise as soon as they do. */
  constructor(core: ServedCore, log: Log) {
    this.#core = core;
    this.#log = log;
    this.#stops = [
      core.config.onChange(({ section, key }) => {
        if (section === SECTION || key === 'authentication_db') this.#follow();
      }),
      core.registry.onEvent(({ name, type }) => {
        if (type !== 'deleted' && name === authenticationDatabase(core.config)) this.#follow();
      }),
    ];
    this.#follow();
  }

  /** Begins nothing more. Resolves when what is under way has ended; what remains is done after the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer?.();
    this.#watched?.end?.();
    for (const stop of this.#stops) stop();
    await this.#following;
  }

  get #isOn(): boolean {
    return !this.#isClosed && this.#core.config.get(SECTION, 'enable') === 'true';
  }

  #follow(): void {
    if (this.#isClosed) return;
    this.#watch();
    this.#wasOff ||= !this.#isOn;
    this.#isDue = true;
    this.#following ??= this.#run().finally(() => {
      this.#following = undefined;
    });
  }

  /** Has changes noticed even if another server owns the users' database. */
  #watch(): void {
    const { registry, config } = this.#core;
    const name = this.#isOn ? authenticationDatabase(config) : '';
    if (this.#watched?.name === name) return;
    this.#watched?.end?.();
    this.#watched = { name, end: name === '' ? undefined : registry.watch?.(name) };
  }

  /** Never fails. */
  async #run(): Promise<void> {
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false;
      try {
        if (this.#wasOff) await this.#forget();
        await this.#readAll();
      } catch (failure) {
        if (this.#isClosed || isDatabaseError(failure, 'shutting_down')) return;
        this.#log.error(
          `The databases of users could not be made; next attempt in ${AGAIN_MS / 1000} seconds.`,
          failure,
        );
        this.#tryAgainLater();
      }
    }
  }

  #tryAgainLater(): void {
    if (this.#isClosed) return;
    this.#stopTimer ??= startBackgroundTimer(AGAIN_MS, () => {
      this.#stopTimer = undefined;
      this.#isAgainDue = true;
      this.#follow();
    });
  }

  /** What happens to users from now on is none of its business, also after it is turned on again. */
  async #forget(): Promise<void> {
    // A text, since a removal may be lost in a crash.
    if (this.#core.registry.notes.has(NOTE)) await this.#keep(OFF);
    this.#wasOff = !this.#isOn;
  }

  async #keep(note: string): Promise<void> {
    const { registry } = this.#core;
    if (registry.notes.get(NOTE) !== note) await registry.keepNote(NOTE, note);
  }

  async #readAll(): Promise<void> {
    if (!this.#isOn) return;
    const { registry, config } = this.#core;
    const users = authenticationDatabase(config);
    await registry.refresh?.();
    while (this.#isOn && registry.has(users)) {
      const { changes, progress } = await registry.use(users, (database) => this.#nextChanges(database));
      await this.#keep(JSON.stringify(progress));
      const again = new Map(progress.again?.map((change) => [change.id, change]));
      const due = this.#isAgainDue ? [...again.values()] : [];
      this.#isAgainDue = false;
      if (!(await this.#applyAll([...due, ...changes], progress, again))) return;
      const since = changes.at(-1)?.seq ?? progress.since;
      await this.#keep(JSON.stringify({ ...progress, since, again: [...again.values()] } satisfies Progress));
      if (again.size > 0) this.#tryAgainLater();
      if (changes.length < BATCH) return;
    }
  }

  /** `again`: what is to be tried again, which changes. Returns false if it was turned off in between. */
  async #applyAll(
    changes: readonly UserChange[],
    progress: Progress,
    again: Map<string, UserChange>,
  ): Promise<boolean> {
    const timeSlice = new TimeSlice();
    for (const change of changes) {
      if (!this.#isOn) return false;
      const hasFailed = again.delete(change.id);
      try {
        await this.#apply(change, progress);
      } catch (failure) {
        if (isDatabaseError(failure, 'shutting_down') || again.size >= MAX_AGAIN) throw failure;
        again.set(change.id, change);
        const why = `${messageOf(failure)} The next attempt is in ${AGAIN_MS / 1000} seconds.`;
        if (!hasFailed) this.#log.error(failed(change, databaseOf(change, progress), why));
      }
      if (timeSlice.isDue) await timeSlice.rest();
    }
    return true;
  }

  /** Returns the next changes, and the progress before them. */
  async #nextChanges(database: Database) {
    const progress = this.#progressIn(database);
    const snapshot = database.snapshot();
    const changes: UserChange[] = [];
    try {
      for await (const rows of snapshot.changes({ since: progress.since })) {
        for (const { seq, id, deleted } of rows) changes.push({ seq, id, deleted });
        if (changes.length >= BATCH) break;
      }
    } finally {
      snapshot.release();
    }
    return { changes: changes.slice(0, BATCH), progress };
  }

  #progressIn({ uuid, updateSeq }: Database): Progress {
    const { registry, config } = this.#core;
    const prefix = config.get(SECTION, 'database_prefix') ?? '';
    const note = registry.notes.get(NOTE);
    const kept = note === undefined || note === OFF ? undefined : (JSON.parse(note) as Progress);
    const isSame = kept !== undefined && kept.uuid === uuid && kept.prefix === prefix && kept.since <= updateSeq;
    return isSame ? kept : { uuid, prefix, since: 0, from: updateSeq };
  }

  /** Fails if it should be tried again. */
  async #apply(change: UserChange, progress: Progress): Promise<void> {
    const { seq, id, deleted } = change;
    if (!id.startsWith(USER_PREFIX) || (deleted && seq <= progress.from)) return;
    const user = id.slice(USER_PREFIX.length);
    const name = databaseOf(change, progress);
    try {
      if (!deleted) await this.#give(name, user);
      else if (this.#core.config.get(SECTION, 'delete_dbs') === 'true') await this.#remove(name);
      else if (this.#core.registry.has(name)) await this.#changeSecurity(name, (text) => withoutUser(text, user));
    } catch (failure) {
      if (!(failure instanceof RefusedError) && !isDatabaseError(failure, 'illegal_database_name')) throw failure;
      // Others should not wait for it.
      this.#log.error(failed(change, name, messageOf(failure)));
    }
  }

  async #give(name: string, user: string): Promise<void> {
    const { registry } = this.#core;
    if (registry.has(name)) return this.#take(name, user);
    // No one can use it before it is secured.
    await registry.createByWriting(name, (own) =>
      own.use(name, async (database) => {
        // Someone may have created it in between, and secured it.
        const next = withUser(database.security === '{}' ? NEW_SECURITY : database.security, user);
        if (next !== undefined) await database.setSecurity(next);
      }),
    );
  }

  /** Adds the user to a database that exists: often that of a former user of the same name, but a short prefix may fit that of anything else. */
  async #take(name: string, user: string): Promise<void> {
    let isUnexpected = false;
    await this.#changeSecurity(name, (text) => {
      const next = withUser(text, user);
      isUnexpected = next !== undefined && text.trim() !== NEW_SECURITY;
      return next;
    });
    if (!isUnexpected) return;
    const what = `The database ${name.slice(0, 300)} existed and was not its user's; now the user of that name is an admin and a member of it.`;
    warn(
      this.#log,
      `${what} If it is for something else, take the name out of its security object, and set another ${SECTION}/database_prefix.`,
    );
  }

  async #remove(name: string): Promise<void> {
    await this.#ask('DELETE', `/${encodeURIComponent(name)}`, undefined, 404);
  }

  /** Stores what `change` returns, unless that is undefined. Its owner does it, which may be another server. */
  async #changeSecurity(name: string, change: (text: string) => string | undefined): Promise<void> {
    const url = `/${encodeURIComponent(name)}/_security`;
    const next = change(await this.#ask('GET', url));
    if (next !== undefined) await this.#ask('PUT', url, next);
  }

  /** Returns the text of the response. Fails with `RefusedError`, and with other errors if the request should be sent again. */
  async #ask(method: string, url: string, body?: string, alsoTaken?: number): Promise<string> {
    const headers = { 'content-type': 'application/json' };
    const request: PlainRequest = { method, url, headers, body: body ?? null, user: ADMIN };
    const response = await this.#core.handle(request);
    const text = await textOf(response);
    if (response.status < 300 || response.status === alsoTaken) return text;
    const message = `${method} was answered with ${response.status}: ${text.trim().slice(0, 500)}`;
    const mayPass = response.status >= 500 || [404, 429].includes(response.status);
    throw mayPass ? new Error(message) : new RefusedError(message);
  }
}

/** It would be refused again. */
class RefusedError extends Error {}

function databaseOf({ id }: UserChange, { prefix }: Progress): string {
  return databaseOfUser(prefix, id.slice(USER_PREFIX.length));
}

function failed({ deleted }: UserChange, name: string, why: string): string {
  return `The database ${name.slice(0, 300)} of a user can't be ${deleted ? 'taken away' : 'given'}: ${why}`;
}

async function textOf({ body }: PlainResponse): Promise<string> {
  if (body === null || typeof body === 'string') return body ?? '';
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  const chunks: Uint8Array[] = [];
  for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
