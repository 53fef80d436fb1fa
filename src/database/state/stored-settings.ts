/** Settings that a database's file keeps, beside the local documents, under keys that no document id can have. */

export const SECURITY_KEY = 'security';
export const REVS_LIMIT_KEY = 'revs_limit';
export const DEFAULT_REVS_LIMIT = 1_000;

/** As it is stored: in the form of local documents, a count, a space, the text. */
export function settingValue(text: string): string {
  return `1 ${text}`;
}

export function settingText(value: string | undefined): string | undefined {
  return value?.slice(value.indexOf(' ') + 1);
}
