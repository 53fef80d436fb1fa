/** Finds imports of a WebAssembly module by their types: Emscripten gives them names of one letter, which change from build to build. */
import { WasmReader } from './wasm-reader.ts';

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
