const FILE = 'settee-quickjs.wasm';

/**
 * Where a worker finds the sandbox's WebAssembly: `settee-quickjs.wasm`, beside the worker's own script. A page's
 * Content-Security-Policy, where it has one, needs `'wasm-unsafe-eval'` for workers, and no `'unsafe-eval'`.
 */
export async function fetchQuickJsWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const response = await load(new URL(FILE, self.location.href));
  if (!response.ok) {
    throw new Error(`${FILE} was answered with ${response.status}; it must lie beside the worker's script. Try again.`);
  }
  return new Uint8Array(await response.arrayBuffer());
}

/** Tries twice where there is no answer: a connection that the browser kept open may end in the moment in which it is used again. */
function load(url: URL): Promise<Response> {
  const attempt = () => fetch(url, { credentials: 'same-origin' });
  return attempt().catch(attempt);
}
