import { type DatabaseError, storageDamage } from '../../../base/errors/database-error.ts';

const SHOWN_LENGTH = 40;

/** Makes the error for a stored node that no tree can have written. */
export function corruptNode(finding: string, text: string): DatabaseError {
  const shown = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
  return storageDamage(`A tree node is damaged: ${finding} (${JSON.stringify(shown)}).`);
}
