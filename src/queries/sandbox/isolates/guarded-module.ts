/** Modules of QuickJS for browsers: their loops are guarded when Settee is built, which would take 20 ms of the first call of a function there. */
import { must } from '../../../base/shared/assert.ts';
import { joinBytes } from '../../../base/shared/bytes.ts';
import { atOnce } from '../../../base/shared/turn.ts';
import { GUARDED_SECTION, type GuardedNames, parseGuardedNames } from './guarded-names.ts';
import { guardLoops, toSection } from './loop-guard.ts';
import { findLocalTime } from './utc.ts';
import { readSections, SECTION } from './wasm-imports.ts';
import { WasmReader } from './wasm-reader.ts';

/** Guards a module, for the build. Fails if the module is not of the expected kind. */
export function guardModule(module: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const { bytes, tick } = must(atOnce(guardLoops(module)), 'loops of the module can be guarded (loop-guard.ts)');
  const names: GuardedNames = { tick, localTime: findLocalTime(module) };
  const name = new TextEncoder().encode(GUARDED_SECTION);
  const content = new TextEncoder().encode(JSON.stringify(names));
  return joinBytes([bytes, toSection(SECTION.custom, joinBytes([[name.length], name, content]))]);
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
