import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Program, ProgramSource } from '../../../../src/queries/sandbox/contract.ts';
import {
  createQuickJsSandbox,
  type QuickJsSandboxOptions,
} from '../../../../src/queries/sandbox/programs/quickjs-sandbox.ts';

export const quickJsPath = createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm');

export const createTestSandbox = (options: Partial<QuickJsSandboxOptions> = {}) =>
  createQuickJsSandbox({ loadWasm: async () => new Uint8Array(await readFile(quickJsPath)), ...options });

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
    timeoutMs: 5_000,
    log: (message) => messages.push(message),
    ...options,
  });
  return { program, messages };
}
