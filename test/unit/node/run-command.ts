import { PassThrough, Readable } from 'node:stream';
import { type CommandHost, main } from '../../../src/node/main.ts';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process, on streams of its own. */
export async function runCommand(argv: readonly string[], stdin: string | Uint8Array = ''): Promise<Outcome> {
  const stdout = new PassThrough({ highWaterMark: 1 << 30 });
  const messages = new PassThrough({ highWaterMark: 1 << 30 });
  // Progress would come on a slow machine only, between the messages that a test expects.
  const stderr = Object.assign(messages, { progressMs: Number.POSITIVE_INFINITY });
  const host: CommandHost = {
    stdin: Readable.from([stdin]),
    stdout,
    stderr,
    env: {},
    on: () => undefined,
    off: () => undefined,
    exit: () => undefined,
  };
  const code = await main(argv, host);
  const text = (stream: PassThrough) => String(stream.read() ?? '');
  return { code, stdout: text(stdout), stderr: text(stderr) };
}
