import type { QuickJsSandboxOptions } from '../../queries/sandbox/programs/quickjs-sandbox.ts';

type LoadWasm = QuickJsSandboxOptions['loadWasm'];

/** Node's own modules, without an import that browsers could not follow. */
interface NodeProcess {
  getBuiltinModule?(name: 'node:module'): { createRequire(from: string): { resolve(file: string): string } };
  getBuiltinModule?(name: 'node:fs/promises'): { readFile(path: string): Promise<Uint8Array<ArrayBuffer>> };
}

/** Where Node finds the sandbox's WebAssembly: in the package that it comes with. Undefined in a page, which has no such place. */
export function loadWasmOfNode(): LoadWasm | undefined {
  const node: NodeProcess | undefined = Reflect.get(globalThis, 'process');
  const modules = node?.getBuiltinModule?.('node:module');
  const files = node?.getBuiltinModule?.('node:fs/promises');
  if (modules === undefined || files === undefined || !import.meta.url.startsWith('file:')) return undefined;
  return async () => {
    const path = modules.createRequire(import.meta.url).resolve('settee/files/settee-quickjs.wasm');
    return new Uint8Array(await files.readFile(path));
  };
}
