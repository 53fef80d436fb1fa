import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { MessageStream } from './progress.ts';

/** Where a user types. */
export type TypedInput = AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean };

/** Asks for a secret: a terminal does not show what is typed. Resolves to undefined if there is no terminal. */
export async function askSecret(
  input: TypedInput,
  output: MessageStream,
  question: string,
): Promise<string | undefined> {
  if (input.isTTY !== true || !isReadable(input)) return undefined;
  output.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input, output: silent, terminal: true });
  try {
    return await reader.question('');
  } finally {
    reader.close();
    output.write('\n');
  }
}

/** Returns the first line that a file or another program sends. */
export async function readFirstLine(input: TypedInput): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of input) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    if (text.includes('\n')) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? '';
}

function isReadable(input: object): input is NodeJS.ReadableStream {
  return 'resume' in input && typeof input.resume === 'function';
}
