import type { LineageEntry } from '../contract.ts';
import { settingText, settingValue } from './stored-settings.ts';

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
