/**
 * Makes QuickJS's own loops stoppable. Its interrupt handler is only called between steps of a program: a single native
 * call such as `new Array(4e9).indexOf(1)` or `text.indexOf(needle)` on megabytes would hold the thread for minutes,
 * whatever the time limit. So every loop of the WebAssembly code except the interpreter's gets a countdown in a global, and
 * calls the host when that reaches zero: the host lets it continue, or throws.
 *
 * The function that is called is an import that the module has anyway (Emscripten's `Date.now`, the only one without
 * parameters that returns an f64), since a new one would shift the numbers of all functions. In the same pass the
 * interrupt handler is set to be called every 200 steps instead of every 10,000: a step may be an expensive one.
 *
 * Written against the WebAssembly core specification 2.0, chapter 5 (binary format). A module with any other instruction
 * is not changed.
 */

import { must } from '../../../base/shared/assert.ts';
import { joinBytes } from '../../../base/shared/bytes.ts';
import { atOnce, type CooperativeTask } from '../../../base/shared/turn.ts';
import { GUARDED_SECTION, type GuardedNames, parseGuardedNames } from './guarded-names.ts';
import { findImport, type ImportName, readSections, SECTION, type Section, TYPE, WasmReader } from './wasm-reader.ts';

interface GuardedModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The import that guarded loops call. */
  readonly tick: ImportName;
}

/** Iterations between two calls of the host: 0.1 to 10 ms. */
const COUNTDOWN = 100_000;

/** Returns undefined if the module is not of the expected kind. */
export function* guardLoops(bytes: Uint8Array<ArrayBuffer>): CooperativeTask<GuardedModule | undefined> {
  const sections = readSections(bytes);
  const find = (id: number) => sections.find((section) => section.id === id);
  const [globals, code] = [SECTION.global, SECTION.code].map(find);
  const tick = findImport(bytes, sections, { parameters: [], results: [TYPE.f64] });
  if (tick === undefined || globals === undefined || code === undefined) return undefined;
  const count = new WasmReader(bytes, globals.contentStart).unsigned();
  const guarded = yield* guardCode(bytes, code, guardOf(tick.importedGlobals + count, tick.index));
  if (guarded === undefined) return undefined;
  const parts = sections.map((section) => {
    if (section === globals) return toSection(SECTION.global, withGlobal(bytes, globals, count));
    if (section === code) return toSection(SECTION.code, guarded);
    return bytes.subarray(section.start, section.end);
  });
  return { bytes: joinBytes([bytes.subarray(0, 8), ...parts]), tick };
}

/** Adds one more global, a mutable i32 that begins with the countdown. */
function withGlobal(bytes: Uint8Array, section: Section, count: number): Uint8Array {
  const reader = new WasmReader(bytes, section.contentStart);
  reader.unsigned();
  const added = [TYPE.i32, 1, 0x41, ...signed(COUNTDOWN), 0x0b];
  return joinBytes([unsigned(count + 1), bytes.subarray(reader.position, section.end), added]);
}

/** global -= 1; if (global == 0) { global = countdown; tick(); } */
function guardOf(global: number, tick: number): number[] {
  const get = [0x23, ...unsigned(global)];
  const set = [0x24, ...unsigned(global)];
  const reset = [0x41, ...signed(COUNTDOWN), ...set, 0x10, ...unsigned(tick), 0x1a];
  return [...get, 0x41, 1, 0x6b, ...set, ...get, 0x45, 0x04, 0x40, ...reset, 0x0b];
}

/** Returns the code section's content with a guard at the head of each loop; undefined if an instruction is not known. */
function* guardCode(
  bytes: Uint8Array,
  section: Section,
  guard: readonly number[],
): CooperativeTask<Uint8Array | undefined> {
  const reader = new WasmReader(bytes, section.contentStart);
  const bodies = Array.from({ length: reader.unsigned() }, () => {
    const end = reader.unsigned() + reader.position;
    const start = reader.position;
    reader.position = end;
    return { start, end };
  });
  // The interpreter is by far the largest function; it has its own interrupt check, and each step goes through its loop.
  const interpreter = Math.max(...bodies.map(({ start, end }) => end - start));
  const parts: Bytes[] = [unsigned(bodies.length)];
  for (const { start, end } of bodies) {
    const body = end - start === interpreter ? [bytes.subarray(start, end)] : guardBody(bytes, start, end, guard);
    if (body === undefined) return undefined;
    parts.push(unsigned(body.reduce((length, part) => length + part.length, 0)), ...body);
    yield;
  }
  return joinBytes(parts);
}

function guardBody(bytes: Uint8Array, start: number, end: number, guard: readonly number[]): Bytes[] | undefined {
  const parts: Bytes[] = [];
  let copied = start;
  const reader = new WasmReader(bytes, start);
  for (let groups = reader.unsigned(); groups > 0; groups--) {
    reader.unsigned();
    reader.byte();
  }
  while (reader.position < end) {
    const at = reader.position;
    const opcode = reader.instruction();
    if (opcode < 0) return undefined;
    if (opcode === 0x03) {
      parts.push(bytes.subarray(copied, reader.position), guard);
      copied = reader.position;
    } else if (opcode === 0x41 && isPollInterval(bytes, at)) {
      parts.push(bytes.subarray(copied, at), SHORT_INTERVAL);
      copied = reader.position;
    }
  }
  parts.push(bytes.subarray(copied, end));
  return parts;
}

/** `i32.const 10000` before an `i32.store`: JS_INTERRUPT_COUNTER_INIT of quickjs.c, going into the context's counter. */
const LONG_INTERVAL = [0x41, 0x90, 0xce, 0x00, 0x36];
/** `i32.const 200`. */
const SHORT_INTERVAL = [0x41, 0xc8, 0x01];

function isPollInterval(bytes: Uint8Array, at: number): boolean {
  return LONG_INTERVAL.every((byte, index) => bytes[at + index] === byte);
}

type Bytes = Uint8Array | readonly number[];

function toSection(id: number, content: Uint8Array): Uint8Array {
  return joinBytes([[id], unsigned(content.length), content]);
}

/** LEB128. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

/** LEB128 of a number that is not negative: its last byte must not look like a sign. */
function signed(value: number): number[] {
  return value < 0x40 ? [value] : [(value & 0x7f) | 0x80, ...signed(value >>> 7)];
}

/**
 * Guards a module when Settee is built, because in browsers that would take 20 ms of the first call of a function. The names that
 * instances need go into a section of the module. Fails if the module is not of the expected kind.
 */
export function guardModule(module: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const { bytes, tick } = must(atOnce(guardLoops(module)), 'loops of the module can be guarded (loop-guard.ts)');
  const names: GuardedNames = { tick, localTime: findLocalTime(module) };
  const name = new TextEncoder().encode(GUARDED_SECTION);
  const content = new TextEncoder().encode(JSON.stringify(names));
  return joinBytes([bytes, toSection(SECTION.custom, joinBytes([[name.length], name, content]))]);
}

/** Returns the import that is `localtime`; undefined if it is not the only one of its type. */
export function findLocalTime(bytes: Uint8Array): ImportName | undefined {
  return findImport(bytes, readSections(bytes), { parameters: [TYPE.i64, TYPE.i32], results: [] });
}

/** Returns the names of a module that `guardModule` made; undefined for any other. */
export function namesOfGuarded(bytes: Uint8Array<ArrayBuffer>): GuardedNames | undefined {
  for (const { id, contentStart, end } of readSections(bytes)) {
    if (id !== SECTION.custom) continue;
    const reader = new WasmReader(bytes, contentStart);
    if (reader.name() === GUARDED_SECTION) return parseGuardedNames(bytes.slice(reader.position, end));
  }
  return undefined;
}
