/**
 * MD5, by WebAssembly if it is available. A page's policy may forbid it (`script-src` without `'wasm-unsafe-eval'`), and some browsers have a
 * mode without it: then by JavaScript, which takes longer.
 */

import { md5 as javaScriptMd5 } from '@noble/hashes/legacy.js';
import { createMD5, type IHasher } from 'hash-wasm';
import { toHex } from '../../base/shared/bytes.ts';
import { type CooperativeTask, runCooperatively } from '../../base/shared/turn.ts';
import { wholeCharactersEnd } from '../../base/shared/utf8.ts';

/** Returns the MD5 of bytes as 32 lower-case hexadecimal digits. */
export type Md5 = (bytes: Uint8Array) => string;

let loading: Promise<Md5> | undefined;

/** Loads the digest function, once for all callers; from then on it is synchronous. */
export function loadMd5(): Promise<Md5> {
  loading ??= createMD5().then(
    (digest) => (bytes) => digest.init().update(bytes).digest('hex'),
    () => (bytes) => toHex(javaScriptMd5(bytes)),
  );
  return loading;
}

/** Like `Md5`, in steps. Several digests may be under way. */
export type Md5InSteps = (pieces: Iterable<Uint8Array>) => CooperativeTask<string>;

let loadingSteps: Promise<Md5InSteps> | undefined;

/** Loads a digest function for input that is too long for one step. */
export function loadMd5InSteps(): Promise<Md5InSteps> {
  loadingSteps ??= createMD5().then(stepsOf, () => javaScriptSteps);
  return loadingSteps;
}

function stepsOf(digest: IHasher): Md5InSteps {
  return function* (pieces) {
    let state = digest.init().save();
    for (const piece of pieces) {
      state = digest.load(state).update(piece).save();
      yield;
    }
    return digest.load(state).digest('hex');
  };
}

function* javaScriptSteps(pieces: Iterable<Uint8Array>): CooperativeTask<string> {
  const digest = javaScriptMd5.create();
  for (const piece of pieces) {
    digest.update(piece);
    yield;
  }
  return toHex(digest.digest());
}

/** Units of a text that are encoded and digested in one step. */
const STEP_LENGTH = 262_144;

/** Returns the MD5 of a text's UTF-8 form. Lets other tasks run in the middle of a long text. */
export async function md5(text: string): Promise<string> {
  if (text.length > STEP_LENGTH) return runCooperatively((await loadMd5InSteps())(encodedPieces(text)));
  const digest = await loadMd5();
  return digest(new TextEncoder().encode(text));
}

function* encodedPieces(text: string): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  for (let from = 0; from < text.length; ) {
    const to = wholeCharactersEnd(text, from + STEP_LENGTH);
    yield encoder.encode(text.slice(from, to));
    from = to;
  }
}

/** An MD5 of bytes that arrive in parts. One that is not ended holds some hundred bytes, until nothing refers to it. */
export interface Md5Stream {
  update(bytes: Uint8Array): void;
  /** Ends the digest and returns it as 32 lower-case hexadecimal digits. */
  digest(): string;
}

let loadingStreams: Promise<() => Md5Stream> | undefined;

/** Begins an MD5. Any number may be under way: they share one WebAssembly instance, which takes 200 kB and longer to make than a small digest. */
export async function beginMd5(): Promise<Md5Stream> {
  loadingStreams ??= createMD5().then(
    (digest) => {
      const shared = new SharedDigest(digest);
      return () => new WasmStream(shared);
    },
    () => javaScriptStream,
  );
  return (await loadingStreams)();
}

/** Loads one stream's state into the instance at a time, and returns the previous state to its stream. */
class SharedDigest {
  readonly #digest: IHasher;
  #current: WasmStream | undefined;

  constructor(digest: IHasher) {
    this.#digest = digest;
  }

  resume(stream: WasmStream): IHasher {
    if (this.#current === stream) return this.#digest;
    if (this.#current !== undefined) this.#current.state = this.#digest.save();
    this.#current = stream;
    return stream.state === undefined ? this.#digest.init() : this.#digest.load(stream.state);
  }

  end(stream: WasmStream): string {
    const digest = this.resume(stream).digest('hex');
    this.#current = undefined;
    stream.state = undefined;
    return digest;
  }
}

class WasmStream implements Md5Stream {
  readonly #shared: SharedDigest;
  /** Set while the instance holds another stream's state; undefined before the first bytes. */
  state: Uint8Array | undefined;

  constructor(shared: SharedDigest) {
    this.#shared = shared;
  }

  update(bytes: Uint8Array): void {
    this.#shared.resume(this).update(bytes);
  }

  digest(): string {
    return this.#shared.end(this);
  }
}

function javaScriptStream(): Md5Stream {
  const digest = javaScriptMd5.create();
  return { update: (bytes) => void digest.update(bytes), digest: () => toHex(digest.digest()) };
}
