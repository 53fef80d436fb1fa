import { atOnce } from '../../base/shared/turn.ts';
import type { JournalRecord } from '../../storage/page-store.ts';
import { decodeJournalEntry } from './writing/journal.ts';

/** Ids that a report names for one record; large bulks have thousands. */
const MAX_IDS = 20;

/** Returns a sentence, for a person who repairs a database, on what is lost if the journal ends before the damaged record `number`. */
export function describeLoss(number: number, place: string, behind: readonly JournalRecord[]): string {
  const damaged = `record ${number} (${place}), which is damaged`;
  if (behind.length === 0) return `dropped from its journal: ${damaged}.`;
  return `dropped from its journal: ${damaged}, and ${behind.length} behind it, which need it: ${behind.map(describeRecord).join('; ')}.`;
}

/** Describes a record. `text`: without a checksum, or preceded by one of eight digits. */
function describeRecord({ number, text }: JournalRecord): string {
  return `record ${number} with ${describeChanges({ number, text: text.slice(text.indexOf('{')) })}`;
}

function describeChanges(record: JournalRecord): string {
  try {
    const { revisions, locals, purges } = atOnce(decodeJournalEntry(record));
    const ids = [...revisions.map(({ id }) => id), ...locals.map(({ key }) => key), ...purges.map(({ id }) => id)];
    const more = ids.length > MAX_IDS ? ` and ${ids.length - MAX_IDS} more` : '';
    return ids.length === 0 ? 'no document' : ids.slice(0, MAX_IDS).join(', ') + more;
  } catch {
    return 'what can not be read';
  }
}
