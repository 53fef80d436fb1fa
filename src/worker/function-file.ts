import type { BrowserFunctions } from './browser-functions.ts';

const FILE = 'settee-functions.js';

/**
 * Loads `settee-functions.js`, which lies beside the worker's script. Some engines remember for as long as the worker lives that an
 * address could not be imported, so that each further attempt has an address of its own.
 */
export function createFunctionLoader(): () => Promise<BrowserFunctions> {
  let failures = 0;
  return async () => {
    try {
      const file: FunctionFile = failures === 0 ? await import('./browser-functions.ts') : await importAgain(failures);
      return file.browserFunctions;
    } catch (error) {
      failures += 1;
      const remedy = `${FILE} must lie beside the worker's script, and be of the same version`;
      throw new Error(`${remedy}. Try again; if that does not help, reload the page. (${error})`, { cause: error });
    }
  };
}

type FunctionFile = typeof import('./browser-functions.ts');

function importAgain(attempt: number): Promise<FunctionFile> {
  return import(/* @vite-ignore */ new URL(`${FILE}?attempt=${attempt}`, self.location.href).href);
}
