/** The response header that names the section of docs/http/errors.md which explains an error. */
export const HELP_HEADER = 'x-svc-help';

/** `code`: an `error` that the interface documents. */
export function helpFor(code: string): string {
  return `docs/http/errors.md#${code}`;
}
