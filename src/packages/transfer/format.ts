/** The text of an export: how documents are framed, and whether it is compressed. */

/** Characters that are collected before they are passed on. */
const PIECE_LENGTH = 64 * 1024;

/** What is written around documents. */
interface Frame {
  readonly begin: string;
  readonly beforeFirst: string;
  readonly beforeNext: string;
  readonly after: string;
  readonly end: string;
}

/** `lines`: one document per line; `array`: one JSON array. */
export const FRAMES = {
  lines: { begin: '', beforeFirst: '', beforeNext: '', after: '\n', end: '' },
  array: { begin: '[', beforeFirst: '\n', beforeNext: ',\n', after: '', end: '\n]\n' },
} as const satisfies Readonly<Record<string, Frame>>;

/** Returns the text of an export, in pieces. Each document must be JSON text without line breaks. */
export async function* toPieces(documents: AsyncIterable<string>, frame: Frame): AsyncGenerator<string, void, void> {
  let piece: string = frame.begin;
  let before: string = frame.beforeFirst;
  for await (const document of documents) {
    piece += before + document + frame.after;
    before = frame.beforeNext;
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  piece += frame.end;
  if (piece !== '') yield piece;
}

/** Whether a text that begins with these bytes is compressed: no JSON begins like gzip (RFC 1952). */
export function isGzip([first, second]: Uint8Array): boolean {
  return first === 0x1f && (second === undefined || second === 0x8b);
}
