import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Clock } from '../../../../src/base/shared/clock.ts';
import type { Program, ProgramSource } from '../../../../src/queries/sandbox/contract.ts';
import {
  createQuickJsSandbox,
  type QuickJsSandboxOptions,
} from '../../../../src/queries/sandbox/programs/quickjs-sandbox.ts';

export const quickJsPath = createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm');

export const createTestSandbox = (options: Partial<QuickJsSandboxOptions> = {}) =>
  createQuickJsSandbox({ loadWasm: async () => new Uint8Array(await readFile(quickJsPath)), ...options });

/** Each look at it takes a millisecond, so that time is up after so much work on any machine. */
export class TickingClock implements Clock {
  time = 0;
  now(): number {
    return this.time;
  }
  monotonic(): number {
    return ++this.time;
  }
}

/** What a test gives of a design document, and the messages that its functions logged. */
export interface OpenProgram {
  readonly program: Program;
  readonly messages: string[];
}

let signatures = 0;

export async function openProgram(
  sandbox: ReturnType<typeof createTestSandbox>,
  design: unknown = {},
  options: Partial<ProgramSource> = {},
): Promise<OpenProgram> {
  const messages: string[] = [];
  const program = await sandbox.open({
    scope: 'test',
    signature: `signature-${++signatures}`,
    designId: '_design/d',
    designDocument: JSON.stringify(design),
    // What ends takes far less; a busy machine may be slow.
    timeoutMs: 100_000,
    log: (message) => messages.push(message),
    ...options,
  });
  return { program, messages };
}
