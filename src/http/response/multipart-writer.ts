/** Writes `multipart/mixed` as the replicators of this family read it (docs/http.md#multipart-answers). */

export interface Part {
  /** The part's content type. */
  readonly type: string;
  readonly text: string;
}

export function multipartType(boundary: string): string {
  return `multipart/mixed; boundary="${boundary}"`;
}

/** The boundary must be random, so that no document contains it. */
export async function* multipartText(
  boundary: string,
  parts: AsyncIterable<readonly Part[]>,
): AsyncGenerator<string, void, void> {
  yield `--${boundary}`;
  for await (const batch of parts) {
    let text = '';
    for (const part of batch) text += partText(part, boundary);
    yield text;
  }
  yield '--';
}

/** The part, and the boundary behind it. */
export function partText({ type, text }: Part, boundary: string): string {
  return `\r\nContent-Type: ${type}\r\n\r\n${text}\r\n--${boundary}`;
}
