/**
 * What the locals tree holds: `_local` documents, and settings that a database's file keeps with them under keys that no document id can have.
 * A stored value is the document's revision count, a space, and its body; settings have the count 1.
 */

import { must } from '../../../base/shared/assert.ts';
import type { DocId } from '../../documents/contract.ts';
import type { LineageEntry, LocalDocument } from '../contract.ts';
import type { State } from './state.ts';

/** The keys of local documents lie between these. */
export const LOCAL_START = '_local/';
export const LOCAL_END = '_local0';

export function encodeLocal(count: number, body: string): string {
  return `${count} ${body}`;
}

export function decodeLocal(value: string | undefined): { count: number; body: string } | undefined {
  if (value === undefined) return undefined;
  const space = value.indexOf(' ');
  return { count: Number(value.slice(0, space)), body: value.slice(space + 1) };
}

/** Returns a stored value in the form that readers get. */
export function toLocalDocument(id: DocId, value: string): LocalDocument {
  const { count, body } = must(decodeLocal(value));
  return { id, rev: `0-${count}`, body };
}

export const SECURITY_KEY = 'security';
export const REVS_LIMIT_KEY = 'revs_limit';
export const AUTO_PURGE_KEY = 'auto_purge';
/** What automatic purges have found out about the database's peers. */
export const PURGE_NOTES_KEY = 'purge_notes';
export const DEFAULT_REVS_LIMIT = 1_000;

/** Returns the stored form of a setting. */
export function settingValue(text: string): string {
  return encodeLocal(1, text);
}

/** Returns the text of a setting's stored form. */
export function settingText(value: string | undefined): string | undefined {
  return decodeLocal(value)?.body;
}

/** The settings of an open database that must be available at any time. */
export class StoredSettings {
  /** The security object's JSON text. */
  security = '{}';
  /** The number of revisions of a path that are kept. */
  revsLimit = DEFAULT_REVS_LIMIT;
  /** The JSON text of `_auto_purge`. */
  autoPurge = '{}';

  /** Reads the settings of a state. */
  async load({ locals }: State): Promise<void> {
    // Together: their neighbour in the tree may be a local document of megabytes.
    const [autoPurge, revsLimit, security] = await locals.getMany([AUTO_PURGE_KEY, REVS_LIMIT_KEY, SECURITY_KEY]);
    this.autoPurge = settingText(autoPurge) ?? '{}';
    this.security = settingText(security) ?? '{}';
    const limit = settingText(revsLimit);
    if (limit !== undefined) this.revsLimit = Number(limit);
  }
}

/**
 * The stretches of a database's history between losses, as the file keeps them: among its settings, in the form of a
 * local document.
 */
export const LINEAGE_KEY = 'lineage';

/** Stretches that are remembered. A browser ends one with nearly every tab that is closed. */
export const MAX_LINEAGE = 32;

export function encodeLineage(lineage: readonly LineageEntry[]): string {
  return settingValue(JSON.stringify(lineage.slice(-MAX_LINEAGE)));
}

/** Decodes the text without checking it: it is what `encodeLineage` wrote. */
export function decodeLineage(value: string | undefined): LineageEntry[] {
  return JSON.parse(settingText(value) ?? '[]') as LineageEntry[];
}
