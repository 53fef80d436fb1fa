import type { State } from './state.ts';

/** Settings that a database's file keeps with the local documents, under keys that no document id can have. */

export const SECURITY_KEY = 'security';
export const REVS_LIMIT_KEY = 'revs_limit';
export const DEFAULT_REVS_LIMIT = 1_000;

/** Returns the stored form, that of local documents: a count, a space, the text. */
export function settingValue(text: string): string {
  return `1 ${text}`;
}

export function settingText(value: string | undefined): string | undefined {
  return value?.slice(value.indexOf(' ') + 1);
}

/** The settings of an open database that must be available at any time. */
export class StoredSettings {
  /** The security object's JSON text. */
  security = '{}';
  /** The number of revisions of a path that are kept. */
  revsLimit = DEFAULT_REVS_LIMIT;

  /** Reads the settings of a state. */
  async load({ locals }: State): Promise<void> {
    // Together: their neighbour in the tree may be a local document of megabytes.
    const [revsLimit, security] = await locals.getMany([REVS_LIMIT_KEY, SECURITY_KEY]);
    this.security = settingText(security) ?? '{}';
    const limit = settingText(revsLimit);
    if (limit !== undefined) this.revsLimit = Number(limit);
  }
}
