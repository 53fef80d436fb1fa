/** The warnings of a response (docs/http/find.md#warnings). */
import type { Choice } from './planner.ts';
import type { IndexSuggestion } from './suggestion.ts';

/** A response warns if more documents than this were read for each one found. */
const MAX_SCAN_RATIO = 10;

interface Examined {
  readonly documents: number;
  readonly results: number;
}

interface Warning {
  /** One sentence per line. */
  readonly text: string;
  /** An index that would lead to fewer warnings. */
  readonly suggestion: IndexSuggestion | undefined;
}

/** Returns undefined if there is nothing to warn about. */
export function warningOf(choice: Choice, examined: Examined): Warning | undefined {
  const scan = scanWarning(choice, examined);
  const warnings = [...nameWarning(choice), ...scan];
  if (warnings.length === 0) return undefined;
  return { text: warnings.join('\n'), suggestion: scan.length === 0 ? undefined : choice.suggestion };
}

function nameWarning({ unusableIndex }: Choice): string[] {
  if (unusableIndex === undefined) return [];
  const { design, name } = unusableIndex;
  if (name === undefined) {
    return [`${design} was not used because it does not contain a valid index for this query.`];
  }
  return [`${design}, ${name} was not used because it is not a valid index for this query.`];
}

function scanWarning(choice: Choice, { documents, results }: Examined): string[] {
  const { plan } = choice;
  if (plan.kind === 'documents' && plan.equalities === 0 && plan.narrowness === 0) {
    return ['No matching index found, create an index to optimize query time.'];
  }
  if (documents <= MAX_SCAN_RATIO * Math.max(results, 1)) return [];
  return [
    'The number of documents examined is high in proportion to the number of results returned. ' +
      'Consider adding a more specific index to improve this.',
  ];
}
