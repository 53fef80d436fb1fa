export const QUICKJS_FILE = 'settee-quickjs.wasm';

/**
 * Where a worker finds the sandbox's WebAssembly: `settee-quickjs.wasm`, beside the worker's own script. A page's
 * Content-Security-Policy, if it has one, needs `'wasm-unsafe-eval'` for workers, and no `'unsafe-eval'`.
 */
export async function fetchQuickJsWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const response = await load(new URL(QUICKJS_FILE, self.location.href));
  if (!response.ok) {
    throw new Error(
      `The request for ${QUICKJS_FILE} was answered with ${response.status}; the file must be in the same folder as the worker's script. Try again.`,
    );
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (!isWasm(bytes)) {
    const type = response.headers.get('content-type') ?? 'no type';
    throw new Error(
      `The request for ${QUICKJS_FILE} was answered with ${type}, not with WebAssembly; the file must be in the same folder as the worker's script`,
    );
  }
  return bytes;
}

/** By the first four bytes (WebAssembly, 5.5.16). Servers of single-page apps return a page for a missing file. */
function isWasm(bytes: Uint8Array): boolean {
  return [0x00, 0x61, 0x73, 0x6d].every((byte, index) => bytes[index] === byte);
}

/** Tries twice if there is no response: a connection that the browser kept open may end at the moment in which it is used again. */
function load(url: URL): Promise<Response> {
  const attempt = () => fetch(url, { credentials: 'same-origin' });
  return attempt().catch(attempt);
}
