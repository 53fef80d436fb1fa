/** Writes `multipart/mixed` as the replicators of this family read it (docs/http/documents.md#multipart-answers). */

export interface Part {
  /** The part's content type. */
  readonly type: string;
  readonly text: string;
}

export function multipartType(boundary: string): string {
  return `multipart/mixed; boundary="${boundary}"`;
}

/** The end of a `multipart/mixed` of parts that `partText` and `partPieces` wrote after `--boundary`. It must be random: no document contains it. */
export const MULTIPART_END = '--';

/** The part, and the boundary after it. */
export function partText({ type, text }: Part, boundary: string): string {
  return `\r\nContent-Type: ${type}\r\n\r\n${text}\r\n--${boundary}`;
}

/** Like `partText`, for a text in pieces. */
export async function* partPieces(
  type: string,
  text: AsyncIterable<string>,
  boundary: string,
): AsyncGenerator<string, void, void> {
  yield `\r\nContent-Type: ${type}\r\n\r\n`;
  yield* text;
  yield `\r\n--${boundary}`;
}
