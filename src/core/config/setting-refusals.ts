/** Messages for settings that mean nothing here (docs/http/server.md#unknown-settings): the family's with the reason, others with a near name. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { SettingName } from '../../base/system/contract.ts';
import { withoutEffect } from './family-settings.ts';
import { isKnown, knownNames } from './known-settings.ts';
import { familyName, namesOf, ownName, splitName } from './setting-names.ts';

/** Finds the name that may have been meant by a misspelt one. */

/** A name is near when at most this part of its characters has to change. */
const NEAR = 0.5;

/** Returns the name that takes the fewest changes of single characters; undefined if none is near. Meant for some hundred short names. */
export function nearestName(text: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let fewest = Math.max(2, Math.floor(text.length * NEAR)) + 1;
  for (const name of names) {
    const changes = changesBetween(text, name, fewest);
    if (changes >= fewest) continue;
    nearest = name;
    fewest = changes;
  }
  return nearest;
}

/** Returns the number of insertions, deletions, replacements and exchanges of neighbours that turn `left` into `right`, up to `enough`. */
function changesBetween(left: string, right: string, enough: number): number {
  if (Math.abs(left.length - right.length) >= enough) return enough;
  let older: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, n) => n);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let at = 1; at <= right.length; at++) {
      const isSame = left[row - 1] === right[at - 1];
      const isExchanged = row > 1 && at > 1 && left[row - 1] === right[at - 2] && left[row - 2] === right[at - 1];
      current[at] = Math.min(
        (above[at] ?? 0) + 1,
        (current[at - 1] ?? 0) + 1,
        (above[at - 1] ?? 0) + (isSame ? 0 : 1),
        isExchanged ? (older[at - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    older = above;
    above = current;
  }
  return Math.min(enough, above[right.length] ?? enough);
}

interface Meaningless {
  readonly reason: string;
  /** Whether a person should look: it may be misspelt, or what it would protect is not protected. */
  readonly isGrave: boolean;
}

/** Undefined for a setting that means something here. */
export function meaningless(section: string, key: string): Meaningless | undefined {
  const known = ownName(section, key);
  if (isKnown(known.section, known.key)) return undefined;
  const name = `${section}/${key}`;
  const ours = familyName(section, key);
  const effect = withoutEffect(ours.section, ours.key) ?? withoutEffect(section, key);
  if (effect !== undefined) {
    return { reason: `Setting ${name} has no effect here: ${effect.why}.`, isGrave: effect.protects ?? false };
  }
  const nearest = nearestTo(section, key);
  const hint = nearest === undefined ? '' : ` The nearest is ${nearest}.`;
  const reason = `There is no setting ${name}.${hint} An app keeps its own settings in the section app or app:NAME.`;
  return { reason, isGrave: true };
}

/** Fails with `bad_request` for a setting that means nothing here. */
export function assertMeaning({ section, key }: SettingName): void {
  const found = meaningless(section, key);
  if (found !== undefined) throw new DatabaseError('bad_request', found.reason);
}

/** Returns the settings that one host can have for itself. */
function namesForHost(section: string): string[] {
  return knownNames().flatMap((name) => (name.startsWith('cors/') ? [name.replace('cors', section)] : []));
}

/** Returns a setting with the same key, or with a name that differs in few characters. */
function nearestTo(section: string, key: string): string | undefined {
  const names = section.startsWith('cors:') ? namesForHost(section) : knownNames();
  const sameKey = names.filter((name) => splitName(name).key === key);
  if (sameKey.length === 1) return sameKey[0];
  const candidates = sameKey.length > 0 ? sameKey : names;
  const text = `${section}/${key}`;
  const withAliases = candidates.flatMap((name) => namesOf(splitName(name)).map((one) => `${one.section}/${one.key}`));
  return nearestName(text, withAliases) ?? sameKey[0];
}
