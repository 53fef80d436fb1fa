import { createMD5 } from 'hash-wasm';
import type { Steps } from '../shared/turn.ts';

/** Gives the MD5 of bytes as 32 lower-case hexadecimal digits. */
export type Md5 = (bytes: Uint8Array) => string;

let loading: Promise<Md5> | undefined;

/** Loads the digest function, once for all who ask; from then on it is synchronous. */
export function loadMd5(): Promise<Md5> {
  loading ??= createMD5().then((digest) => (bytes) => digest.init().update(bytes).digest('hex'));
  return loading;
}

/** As `Md5`, in steps. Several digests may be under way. */
export type Md5InSteps = (pieces: Iterable<Uint8Array>) => Steps<string>;

let loadingSteps: Promise<Md5InSteps> | undefined;

/** Loads a digest function for what is too long for one step. */
export function loadMd5InSteps(): Promise<Md5InSteps> {
  loadingSteps ??= createMD5().then((digest) => {
    return function* (pieces) {
      let state = digest.init().save();
      for (const piece of pieces) {
        state = digest.load(state).update(piece).save();
        yield;
      }
      return digest.load(state).digest('hex');
    };
  });
  return loadingSteps;
}

/** The MD5 of a text's UTF-8 form. */
export async function md5(text: string): Promise<string> {
  const digest = await loadMd5();
  return digest(new TextEncoder().encode(text));
}

/** An MD5 of bytes that come bit by bit. */
export interface Md5Stream {
  update(bytes: Uint8Array): void;
  /** 32 lower-case hexadecimal digits. Ends it. */
  digest(): string;
}

export async function beginMd5(): Promise<Md5Stream> {
  const hasher = (await createMD5()).init();
  return { update: (bytes) => void hasher.update(bytes), digest: () => hasher.digest('hex') };
}
