/**
 * The slowest among the hashes of accounts. Every failed log-in takes as long, whatever the name, from the first one on: otherwise
 * the time would reveal accounts whose hashes have other iterations than the settings (docs/http/accounts.md#authentication).
 */

import { isDatabaseError } from '../../base/errors/database-error.ts';
import { isObject } from '../../base/json/objects.ts';
import { must } from '../../base/shared/assert.ts';
import { allReady, type MaybePromise, orElse } from '../../base/shared/maybe-promise.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { ConfigStore, Log } from '../../base/system/contract.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { Database } from '../../database/store/contract.ts';
import { USER_PREFIX } from '../contract.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { hashOfAdmin, hashOfUser, type PasswordHash } from '../passwords/stored-password.ts';
import { asPrf, authenticationDatabase, type HashSettings } from '../settings.ts';

/** With it the next start need not wait until all user documents were read. */
const NOTE = 'most iterations of ';
const AFTER_PREFIX = `${USER_PREFIX.slice(0, -1)};`;

interface StoredIterationsOptions {
  readonly config: ConfigStore;
  readonly databases: Registry;
  readonly passwords: Passwords;
  readonly log: Log;
}

export class StoredIterations {
  readonly #options: StoredIterationsOptions;
  /** The users' database whose slowest hash is known, or is being determined. */
  #database: string | undefined;
  #search: Promise<void> | undefined;

  constructor(options: StoredIterationsOptions) {
    this.#options = options;
    options.passwords.onSlower((slowest) => this.#keep(slowest));
  }

  /** Resolves when `Passwords` knows it: synchronously after the first time. */
  known(): MaybePromise<void> {
    const { config, passwords } = this.#options;
    for (const text of Object.values(config.section('admins'))) passwords.noteStored(hashOfAdmin(text));
    const database = authenticationDatabase(config);
    if (database === this.#database) return this.#search;
    this.#database = database;
    const kept = parseNote(this.#options.databases.notes.get(NOTE + database));
    const search = this.#look(database).finally(() => {
      this.#search = undefined;
    });
    if (kept !== undefined) passwords.noteSlowest(kept);
    else this.#search = search;
    return this.#search;
  }

  async #look(name: string): Promise<void> {
    const { databases, passwords, log } = this.#options;
    try {
      if (databases.has(name)) await databases.use(name, (database) => noteUsers(database, passwords));
      this.#keep(passwords.slowest);
    } catch (error) {
      log.error('The documents of users could not be read to find the most iterations of their hashes.', error);
    }
  }

  #keep({ prf, iterations }: HashSettings): void {
    const { databases, log } = this.#options;
    if (this.#database === undefined || !databases.has(this.#database)) return;
    const kept = orElse(
      () => databases.keepNote(NOTE + this.#database, `${iterations} ${prf}`),
      (error) => {
        // The process that owns the databases finds them itself.
        if (isDatabaseError(error, 'not_owner')) return;
        log.info(
          `the most iterations of hashes could not be stored; the next start determines them again: ${String(error)}`,
        );
      },
    );
    // Both results are handled: this never rejects.
    void kept;
  }
}

/** Earlier versions stored the number alone. */
function parseNote(text: string | undefined): HashSettings | undefined {
  const [, digits, prf = 'sha'] = /^(\d{1,9})(?: (\w+))?$/.exec(text ?? '') ?? [];
  const known = asPrf(prf);
  return digits === undefined || known === undefined ? undefined : { prf: known, iterations: Number(digits) };
}

async function noteUsers(database: Database, passwords: Passwords): Promise<void> {
  const snapshot = database.snapshot();
  const timeSlice = new TimeSlice();
  try {
    const range = { start: USER_PREFIX, end: AFTER_PREFIX, endInclusive: false };
    for await (const rows of snapshot.rows(range)) {
      const records = await allReady(rows.map((row) => row.record()));
      const winners = records.map(({ leaves }) => must(leaves[0], 'a row has a leaf'));
      for (const body of await snapshot.bodies(winners)) {
        passwords.noteStored(hashOf(body));
        if (timeSlice.isDue) await timeSlice.rest();
      }
    }
  } finally {
    snapshot.release();
  }
}

function hashOf(body: string | undefined): PasswordHash | undefined {
  const document: unknown = body === undefined ? undefined : JSON.parse(body);
  return isObject(document) ? hashOfUser(document) : undefined;
}
