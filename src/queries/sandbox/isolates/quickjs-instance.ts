/**
 * WebAssembly instances of QuickJS. The module is compiled once; each isolate has an instance, and with it a memory, of
 * its own, so that no fault in one isolate can touch what belongs to another.
 */
import loadEmscripten from '@jitl/quickjs-wasmfile-release-sync/emscripten-module';
import { QuickJSFFI } from '@jitl/quickjs-wasmfile-release-sync/ffi';
import { QuickJSWASMModule } from 'quickjs-emscripten-core';
import { DatabaseError, functionsUnavailable } from '../../../base/errors/database-error.ts';
import { nextTurn, runCooperatively } from '../../../base/shared/turn.ts';
import { lengthOfText, type TextBytes } from '../execution/long-texts.ts';
import type { GuardedNames } from './guarded-names.ts';
import { findLocalTime, guardLoops, namesOfGuarded } from './loop-guard.ts';
import type { ImportName } from './wasm-reader.ts';

/**
 * Returns the bytes of the package's `emscripten-module.wasm`, from where the host keeps them, or what another thread has compiled them to.
 * Called on first use, and again only after a failure.
 */
export type WasmLoader = () => Promise<Uint8Array<ArrayBuffer> | CompiledWasm>;

const PAGE_BYTES = 64 * 1024;
/**
 * Pages that an instance begins with (16 MB). The most that it may have is a parameter, because QuickJS's own limit counts blocks,
 * not their bytes, in this build: Emscripten does not tell it how large a block is. At that limit an allocation fails, which
 * QuickJS turns into an error.
 */
const FIRST_PAGES = 256;

/** Thrown through WebAssembly when time is up; the instance can't be used any more. */
export class InstanceStopped extends Error {}

export interface QuickJsInstance {
  readonly quickjs: QuickJSWASMModule;
  /** Called now and then by long native loops. What it throws stops the instance for good. */
  onTick: () => void;
  /** Returns a text that stands for these bytes when it is next passed to QuickJS. */
  standInFor(bytes: TextBytes): string;
}

type Instantiate = NonNullable<NonNullable<Parameters<typeof loadEmscripten>[0]>['instantiateWasm']>;
type WasmImports = Parameters<Instantiate>[0];
/** Loops call Emscripten's `Date.now`, which goes through `onTick` first (loop-guard.ts). */
type ImportedFunction = LocalTime | (() => number);
type WasmInstance = Parameters<Parameters<Instantiate>[1]>[0];
/** A compiled module; opaque here. */
type WasmModule = object;
type WasmMemory = NonNullable<NonNullable<Parameters<typeof loadEmscripten>[0]>['wasmMemory']>;

/** The global of that name, as far as it is used: Node's types don't have it. */
declare const WebAssembly: {
  compile(bytes: Uint8Array<ArrayBuffer>): Promise<WasmModule>;
  instantiate(module: WasmModule, imports: WasmImports): Promise<WasmInstance>;
  readonly Memory: new (size: { readonly initial: number; readonly maximum: number }) => WasmMemory;
  readonly RuntimeError: new () => Error;
};

/** Returns whether an error went through WebAssembly's frames without unwinding them, so that its instance can't be used any more. */
export function isInstanceFault(error: unknown): boolean {
  return error instanceof RangeError || error instanceof InstanceStopped || error instanceof WebAssembly.RuntimeError;
}

/** A compiled module. It can be posted to other threads. */
export interface CompiledWasm extends GuardedNames {
  readonly module: WasmModule;
}

type EmscriptenModule = Awaited<ReturnType<typeof loadEmscripten>>;

export class QuickJsInstanceFactory {
  readonly #source: WasmLoader | CompiledWasm;
  readonly #mostPages: number;
  #compiled: Promise<CompiledWasm> | undefined;

  /** `mostBytes`: what each instance may take at most. */
  constructor(source: WasmLoader | CompiledWasm, mostBytes: number) {
    this.#source = source;
    this.#mostPages = Math.floor(mostBytes / PAGE_BYTES);
  }

  /**
   * Creates an instance. Fails with `functions_unavailable` if the module can't be loaded, with `not_implemented` if it can't run here.
   * The next call tries again.
   */
  async create(): Promise<QuickJsInstance> {
    const compiled = await this.compiled();
    await nextTurn();
    return instantiate(compiled, this.#mostPages);
  }

  /** Returns the compiled module. Fails as `create` does. */
  compiled(): Promise<CompiledWasm> {
    this.#compiled ??= this.#compile();
    return this.#compiled;
  }

  async #compile(): Promise<CompiledWasm> {
    if (typeof this.#source !== 'function') return this.#source;
    try {
      const bytes = await this.#source().catch(notLoaded);
      if (!(bytes instanceof Uint8Array)) return bytes;
      const names = namesOfGuarded(bytes);
      if (names !== undefined) return { module: await compileWasm(bytes), ...names };
      const guarded = await runCooperatively(guardLoops(bytes));
      await nextTurn();
      const module = await compileWasm(guarded?.bytes ?? bytes);
      return { module, tick: guarded?.tick, localTime: findLocalTime(bytes) };
    } catch (error) {
      this.#compiled = undefined;
      throw error;
    }
  }
}

async function compileWasm(bytes: Uint8Array<ArrayBuffer>): Promise<WasmModule> {
  try {
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    const reason =
      `This host can't run WebAssembly, which functions of design documents need: ${String(cause)}. In a browser add 'wasm-unsafe-eval' to ` +
      'script-src of the Content-Security-Policy that comes with settee-worker.js';
    throw new DatabaseError('not_implemented', reason, { cause });
  }
}

function notLoaded(cause: unknown): never {
  throw functionsUnavailable('QuickJS, which runs functions of documents,', cause);
}

/** Does what quickjs-emscripten does with a variant, except for its dynamic imports, which bundlers would turn into separate files. */
async function instantiate(compiled: CompiledWasm, mostPages: number): Promise<QuickJsInstance> {
  const ticking = { onTick: () => {} };
  const wasmMemory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: mostPages });
  const now = () => {
    ticking.onTick();
    return Date.now();
  };
  const module = await loadEmscripten({
    wasmMemory,
    instantiateWasm: async (imports, onSuccess) => {
      const ticked = replaced(imports, compiled.tick, now);
      const instance = await WebAssembly.instantiate(
        compiled.module,
        replaced(ticked, compiled.localTime, utcLocalTime(wasmMemory)),
      );
      onSuccess(instance);
      return instance.exports;
    },
  });
  module.type = 'sync';
  const standInFor = convertTextFast(module);
  return Object.assign(ticking, {
    standInFor,
    quickjs: new QuickJSWASMModule(module, new QuickJSFFI(module)),
  });
}

/** Returns the imports with the named function replaced. */
function replaced(imports: WasmImports, name: ImportName | undefined, by: ImportedFunction): WasmImports {
  const members = name === undefined ? undefined : imports[name.module];
  if (name === undefined || members === undefined) return imports;
  return { ...imports, [name.module]: { ...members, [name.name]: by } };
}

/** Texts longer than this don't keep their buffer. */
const KEPT_BYTES = 1024 * 1024;

/** Replaces Emscripten's own conversions, which go byte by byte in JavaScript: 6.6 MB take 170 ms there, and 5 ms here. */
function convertTextFast(module: EmscriptenModule): QuickJsInstance['standInFor'] {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let scratch = new Uint8Array(64 * 1024);
  let written = 0;
  let stoodFor: TextBytes | undefined;
  // quickjs-emscripten asks for the length of a text right before it writes that text.
  module.lengthBytesUTF8 = (text) => {
    if (stoodFor !== undefined) return lengthOfText(stoodFor);
    if (scratch.length < text.length * 3) scratch = new Uint8Array(text.length * 3);
    written = encoder.encodeInto(text, scratch).written;
    return written;
  };
  module.stringToUTF8 = (_text, pointer) => {
    // QuickJS had no room for the text; what is at 0 belongs to QuickJS itself.
    if (pointer === 0) throw new InstanceStopped('out of memory');
    let end: number = pointer;
    for (const bytes of stoodFor ?? [scratch.subarray(0, written)]) {
      module.HEAPU8.set(bytes, end);
      end += bytes.length;
    }
    stoodFor = undefined;
    module.HEAPU8[end] = 0;
    if (scratch.length > KEPT_BYTES) scratch = new Uint8Array(64 * 1024);
  };
  module.UTF8ToString = (pointer) => {
    const bytes = module.HEAPU8;
    return decoder.decode(bytes.subarray(pointer, bytes.indexOf(0, pointer)));
  };
  return (bytes) => {
    stoodFor = bytes;
    return '';
  };
}

/** Takes the seconds since 1970, and where to write a `struct tm`. */
type LocalTime = (seconds: bigint, pointer: number) => void;

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Functions of documents run in UTC on every host, so that the rows of a view do not depend on the machine that made them
 * (docs/http/functions.md#the-sandbox). QuickJS asks Emscripten's `localtime` for the offset of each point in time, which Emscripten finds
 * out from the host's `Date`. This one returns the time in UTC.
 *
 * Writes the members of `struct tm` in the order of musl, each 32 bits: seconds to the day of the year, no summer time, offset 0.
 */
function utcLocalTime(memory: { readonly buffer: ArrayBufferLike }): LocalTime {
  return (seconds, pointer) => {
    const date = new Date(Number(seconds) * 1000);
    const year = date.getUTCFullYear();
    const yearDay = Math.floor((date.getTime() - Date.UTC(year, 0)) / DAY_MS);
    const members = [
      date.getUTCSeconds(),
      date.getUTCMinutes(),
      date.getUTCHours(),
      date.getUTCDate(),
      date.getUTCMonth(),
      year - 1900,
      date.getUTCDay(),
      yearDay,
      0,
      0,
    ];
    new Int32Array(memory.buffer, pointer, members.length).set(members);
  };
}
