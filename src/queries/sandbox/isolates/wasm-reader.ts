/**
 * Reads the binary format of WebAssembly (core specification 2.0, chapter 5) as far as skipping code requires, and finds imports
 * of a module by their types: Emscripten gives them names of one letter, which change from build to build.
 */

type ImportKind = { readonly kind: 'function'; readonly type: number } | { readonly kind: 'global' | 'other' };

const decoder = new TextDecoder();

export class WasmReader {
  position: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, position: number) {
    this.#bytes = bytes;
    this.position = position;
  }

  byte(): number {
    return this.#bytes[this.position++] ?? 0;
  }

  /** LEB128, up to 32 bits. */
  unsigned(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  byteVector(): Uint8Array {
    const length = this.unsigned();
    this.position += length;
    return this.#bytes.subarray(this.position - length, this.position);
  }

  name(): string {
    return decoder.decode(this.byteVector());
  }

  importKind(): ImportKind {
    const kind = this.byte();
    if (kind === 0) return { kind: 'function', type: this.unsigned() };
    if (kind === 1) this.byte();
    if (kind === 3) this.position += 2;
    else this.#skipLimits();
    return { kind: kind === 3 ? 'global' : 'other' };
  }

  /** Skips one instruction, and returns its opcode; -1 for an unknown one. */
  instruction(): number {
    const opcode = this.byte();
    if (opcode === 0xfc) return this.#skipPrefixed() ? opcode : -1;
    const immediates = immediatesOf(opcode);
    if (immediates === 'unknown') return -1;
    if (immediates === 'table') this.#skipNumbers(this.unsigned() + 1);
    else if (immediates === 'types') this.byteVector();
    else if (immediates === 'f32') this.position += 4;
    else if (immediates === 'f64') this.position += 8;
    else this.#skipNumbers(immediates);
    return opcode;
  }

  /** Skips conversions that saturate (0 to 7), and bulk memory and table instructions. */
  #skipPrefixed(): boolean {
    const opcode = this.unsigned();
    if (opcode > 17) return false;
    if (opcode >= 8) this.#skipNumbers(opcode === 8 || opcode === 10 || opcode === 12 || opcode === 14 ? 2 : 1);
    return true;
  }

  #skipNumbers(count: number): void {
    for (let left = count; left > 0; left--) while (this.byte() >= 0x80);
  }

  #skipLimits(): void {
    const hasMaximum = (this.byte() & 1) === 1;
    this.#skipNumbers(hasMaximum ? 2 : 1);
  }
}

/** Returns how many LEB128 numbers follow an opcode, or what else does. */
function immediatesOf(opcode: number): number | 'table' | 'types' | 'f32' | 'f64' | 'unknown' {
  if (opcode >= 0x45 && opcode <= 0xc4) return 0;
  if (opcode >= 0x28 && opcode <= 0x3e) return 2;
  if (opcode >= 0x20 && opcode <= 0x26) return 1;
  switch (opcode) {
    case 0x00: // unreachable
    case 0x01: // nop
    case 0x05: // else
    case 0x0b: // end
    case 0x0f: // return
    case 0x1a: // drop
    case 0x1b: // select
    case 0xd1: // ref.is_null
      return 0;
    case 0x02: // block
    case 0x03: // loop
    case 0x04: // if
    case 0x0c: // br
    case 0x0d: // br_if
    case 0x10: // call
    case 0x3f: // memory.size
    case 0x40: // memory.grow
    case 0x41: // i32.const
    case 0x42: // i64.const
    case 0xd0: // ref.null
    case 0xd2: // ref.func
      return 1;
    case 0x11: // call_indirect
      return 2;
    case 0x0e: // br_table
      return 'table';
    case 0x1c: // select with types
      return 'types';
    case 0x43: // f32.const
      return 'f32';
    case 0x44: // f64.const
      return 'f64';
    default:
      return 'unknown';
  }
}

/** Numbers of sections (core specification 2.0, 5.5.2), and codes of types (5.3.1). */
export const SECTION = { custom: 0, type: 1, import: 2, global: 6, code: 10 } as const;
export const TYPE = { i32: 0x7f, i64: 0x7e, f64: 0x7c } as const;

export interface Section {
  readonly id: number;
  readonly start: number;
  readonly contentStart: number;
  readonly end: number;
}

export interface ImportName {
  readonly module: string;
  readonly name: string;
}

interface FunctionImport extends ImportName {
  /** Its number among the functions. */
  readonly index: number;
  readonly importedGlobals: number;
}

interface FunctionType {
  readonly parameters: readonly number[];
  readonly results: readonly number[];
}

export function readSections(bytes: Uint8Array): Section[] {
  const sections: Section[] = [];
  const reader = new WasmReader(bytes, 8);
  while (reader.position < bytes.length) {
    const start = reader.position;
    const id = reader.byte();
    const length = reader.unsigned();
    sections.push({ id, start, contentStart: reader.position, end: reader.position + length });
    reader.position += length;
  }
  return sections;
}

/** Returns the imported function of that type, if it is the only one. */
export function findImport(
  bytes: Uint8Array,
  sections: readonly Section[],
  type: FunctionType,
): FunctionImport | undefined {
  const [types, imports] = [SECTION.type, SECTION.import].map((id) => sections.find((section) => section.id === id));
  if (types === undefined || imports === undefined) return undefined;
  const wanted = typeNumbers(bytes, types, type);
  const reader = new WasmReader(bytes, imports.contentStart);
  const found: Omit<FunctionImport, 'importedGlobals'>[] = [];
  let functions = 0;
  let importedGlobals = 0;
  for (let left = reader.unsigned(); left > 0; left--) {
    const module = reader.name();
    const name = reader.name();
    const kind = reader.importKind();
    if (kind.kind === 'global') importedGlobals++;
    if (kind.kind !== 'function') continue;
    if (wanted.has(kind.type)) found.push({ module, name, index: functions });
    functions++;
  }
  const [only] = found;
  return only === undefined || found.length > 1 ? undefined : { ...only, importedGlobals };
}

function typeNumbers(bytes: Uint8Array, section: Section, { parameters, results }: FunctionType): ReadonlySet<number> {
  const reader = new WasmReader(bytes, section.contentStart);
  const numbers = new Set<number>();
  const count = reader.unsigned();
  for (let index = 0; index < count; index++) {
    reader.byte();
    const isSame = areEqual(reader.byteVector(), parameters);
    if (areEqual(reader.byteVector(), results) && isSame) numbers.add(index);
  }
  return numbers;
}

function areEqual(bytes: Uint8Array, codes: readonly number[]): boolean {
  return bytes.length === codes.length && codes.every((code, at) => bytes[at] === code);
}
