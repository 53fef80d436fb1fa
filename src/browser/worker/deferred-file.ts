/** Such a file exports its content under this name. */
export interface DeferredFile<T> {
  readonly loaded: T;
}

/** How many attempts follow each other immediately: a connection may break, and a server may be busy. */
const ATTEMPTS = 2;

/**
 * Loads a file that lies beside the worker's script. Some browsers remember for as long as the worker lives that an address could not be
 * imported, so that each further attempt has an address of its own.
 *
 * @param name of the file.
 * @param load imports it, for the first time.
 */
export function createFileLoader<T>(name: string, load: () => Promise<DeferredFile<T>>): () => Promise<T> {
  let failures = 0;
  return async () => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const file = failures === 0 ? await load() : await importAgain<T>(name, failures);
        return file.loaded;
      } catch (error) {
        failures += 1;
        if (attempt < ATTEMPTS) continue;
        const remedy = `${name} must lie beside the worker's script, and be of the same version`;
        throw new Error(`${remedy}. Try again; if that does not help, reload the page. (${error})`, { cause: error });
      }
    }
  };
}

function importAgain<T>(name: string, attempt: number): Promise<DeferredFile<T>> {
  return import(/* @vite-ignore */ new URL(`${name}?attempt=${attempt}`, self.location.href).href);
}
