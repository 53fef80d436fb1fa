/** Reads the sandbox's WebAssembly from its package, when it is first needed. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

export async function readQuickJsWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const path = createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm');
  return new Uint8Array(await readFile(path));
}
