/** The names in a module of QuickJS whose loops were guarded when Settee was built: a section of the module has them, as JSON. */
import type { ImportName } from './wasm-reader.ts';

export interface GuardedNames {
  /** The imported function that guarded loops call; undefined if they could not be guarded. */
  readonly tick: ImportName | undefined;
  /** The imported function that says the local time. */
  readonly localTime: ImportName | undefined;
}

export const GUARDED_SECTION = 'settee';

/** Parses the names. `content`: of the section of that name. */
export function parseGuardedNames(content: ArrayBuffer | Uint8Array<ArrayBuffer>): GuardedNames {
  const { tick, localTime }: GuardedNames = JSON.parse(new TextDecoder().decode(content));
  return { tick, localTime };
}
