/** The warnings of an answer, in the words of this interface (completion 23) and with an index that would help. */
import { type Choice, remedy } from './planner.ts';

/** An answer warns if more documents than this were read for each one found. */
const MAX_SCAN_RATIO = 10;

interface Examined {
  readonly documents: number;
  readonly results: number;
}

/** One warning per line; undefined without any. */
export function warningOf(choice: Choice, examined: Examined): string | undefined {
  const warnings = [...nameWarning(choice), ...scanWarning(choice, examined)];
  return warnings.length === 0 ? undefined : warnings.join('\n');
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
    return [`No matching index found, create an index to optimize query time.${remedy(choice.suggestion)}`];
  }
  if (documents <= MAX_SCAN_RATIO * Math.max(results, 1)) return [];
  const reason =
    'The number of documents examined is high in proportion to the number of results returned. ' +
    'Consider adding a more specific index to improve this.';
  return [`${reason}${remedy(choice.suggestion)}`];
}
