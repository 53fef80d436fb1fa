import { createMD5 } from 'hash-wasm';

/** Gives the MD5 of bytes as 32 lower-case hexadecimal digits. */
export type Md5 = (bytes: Uint8Array) => string;

let loading: Promise<Md5> | undefined;

/** Loads the digest function, once for all who ask; from then on it is synchronous. */
export function loadMd5(): Promise<Md5> {
  loading ??= createMD5().then((digest) => (bytes) => digest.init().update(bytes).digest('hex'));
  return loading;
}

/** The MD5 of a text's UTF-8 form. */
export async function md5(text: string): Promise<string> {
  const digest = await loadMd5();
  return digest(new TextEncoder().encode(text));
}
