import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { MessageStream } from './progress.ts';

/** Where a person types. */
export type TypedInput = AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean };

/** Asks for something that nobody is to see: a terminal shows nothing of what is typed. Gives undefined where there is no terminal. */
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

/** The first line of what is sent by a file or by another program. */
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
