/**
 * Where a worker finds the sandbox's WebAssembly: `settee-quickjs.wasm`, beside the worker's own script. A page's
 * Content-Security-Policy, where it has one, needs `'wasm-unsafe-eval'` for workers, and no `'unsafe-eval'`.
 */
export async function fetchQuickJsWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const url = new URL('settee-quickjs.wasm', self.location.href);
  const response = await fetch(url, { credentials: 'same-origin' });
  if (!response.ok)
    throw new Error(`${url} was answered with ${response.status}: it must lie beside the worker's script`);
  return new Uint8Array(await response.arrayBuffer());
}
