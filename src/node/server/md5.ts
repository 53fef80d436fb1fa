import { hash } from 'node:crypto';

/** Node's own MD5, which takes half the time of the one in WebAssembly; undefined if the system (FIPS) forbids MD5. */
export function findMd5(): ((bytes: Uint8Array) => string) | undefined {
  const md5 = (bytes: Uint8Array) => hash('md5', bytes);
  try {
    md5(new Uint8Array());
    return md5;
  } catch {
    return undefined;
  }
}
