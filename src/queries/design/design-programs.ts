/**
 * Opens the sandbox's programs for the functions of design documents: shows, lists, updates, filters and validation. A program
 * is identified by id and revision of its document. The programs of views are opened in `views/`, by their signature.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { parseInTurns } from '../../base/json/parse-in-steps.ts';
import { functionTimeoutMs } from '../../base/system/config.ts';
import type { Config, Log } from '../../base/system/contract.ts';
import { logOfClients } from '../../base/system/log.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import type { Database } from '../../database/store/contract.ts';
import { type Program, type Sandbox, SCRIPT_LANGUAGE } from '../sandbox/contract.ts';
import type { DesignDocument } from '../views/contract.ts';

interface DesignProgramsOptions {
  /** Without one, no function can run. */
  readonly sandbox: Sandbox | undefined;
  readonly config: Config;
  readonly log: Log;
}

export class DesignPrograms {
  readonly #options: DesignProgramsOptions;
  /** The files of databases, which don't change while the databases are open. */
  readonly #scopes = new WeakMap<Database, string>();

  constructor(options: DesignProgramsOptions) {
    this.#options = options;
  }

  /** The time limit for one call of programs that are opened now, in milliseconds. */
  get timeoutMs(): number {
    return functionTimeoutMs(this.#options.config);
  }

  /** Opens a program. Fails with `not_implemented` if this host can't run functions of that language. */
  async open(database: Database, { id, rev, body }: DesignDocument): Promise<Program> {
    const { sandbox, log } = this.#options;
    await checkLanguage(id, body);
    if (sandbox === undefined) {
      const reason = `${id} has functions, and this host was started without a sandbox to run them in.`;
      throw new DatabaseError('not_implemented', reason);
    }
    return sandbox.open({
      scope: await this.#scopeOf(database),
      signature: `${id} ${rev}`,
      designId: id,
      designDocument: withIdentity(id, rev, body),
      timeoutMs: this.timeoutMs,
      log: (message) => logOfClients(log).info(`${id} in ${database.name}: ${message}`),
    });
  }

  async #scopeOf(database: Database): Promise<string> {
    const known = this.#scopes.get(database);
    if (known !== undefined) return known;
    const { file } = await database.origin();
    this.#scopes.set(database, file);
    return file;
  }
}

/** Returns the whole design document, which functions have as `this`. */
function withIdentity(id: DocId, rev: RevId, body: string): string {
  const identity = `{"_id":${JSON.stringify(id)},"_rev":${JSON.stringify(rev)}`;
  return body === '{}' ? `${identity}}` : `${identity},${body.slice(1)}`;
}

/** Returns the language of a design document from its JSON text; `javascript` if it names none. The value may be any JSON value. */
export async function languageOf(body: string): Promise<unknown> {
  // Avoids parsing if the name does not occur. Any of its letters may be escaped.
  if (!/"language"|\\u/.test(body)) return SCRIPT_LANGUAGE;
  const { language = SCRIPT_LANGUAGE }: { readonly language?: unknown } = Object(await parseInTurns(body));
  return language;
}

async function checkLanguage(id: DocId, body: string): Promise<void> {
  const language = await languageOf(body);
  if (language === SCRIPT_LANGUAGE) return;
  const reason = `${id} has functions in the language ${JSON.stringify(language)}; this host runs ${SCRIPT_LANGUAGE}.`;
  throw new DatabaseError('not_implemented', reason);
}
