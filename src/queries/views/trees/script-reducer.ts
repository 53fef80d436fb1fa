import { isDatabaseError } from '../../../base/errors/database-error.ts';
import { must } from '../../../base/shared/assert.ts';
import type { Reducer as SandboxReducer } from '../../sandbox/contract.ts';
import { failedReduction, type Reducer, type RowList } from './reducer.ts';

/**
 * A reduce function of a design document, which runs in the sandbox. Its results are stored in the nodes of the tree, so a
 * query calls it only for nodes that its range has a part of. It must be compiled before its tree is read.
 */
export class ScriptReducer implements Reducer {
  readonly #needsKeys: boolean;
  #compiled: SandboxReducer | undefined;

  constructor(source: string) {
    this.#needsKeys = mayReadKeys(source);
  }

  use(compiled: SandboxReducer): void {
    this.#compiled = compiled;
  }

  reduce(rows: RowList): string {
    return this.#run((reducer) =>
      reducer.reduce([{ keys: this.#needsKeys ? pairsText(rows) : '[]', values: valuesText(rows) }]),
    );
  }

  rereduce(reductions: readonly string[]): string {
    return this.#run((reducer) => reducer.rereduce([`[${reductions.join(',')}]`]));
  }

  /** Runs a call. A result that grows too fast becomes a failure, because the function is at fault; other errors are thrown. */
  #run(call: (reducer: SandboxReducer) => readonly string[]): string {
    try {
      return must(call(must(this.#compiled, 'a reduce function is compiled before it is needed'))[0]);
    } catch (error) {
      if (!isDatabaseError(error, 'reduce_overflow_error')) throw error;
      return failedReduction(error.code, error.reason);
    }
  }
}

/** Returns `[[key,id],…]`. */
function pairsText(rows: RowList): string {
  let text = '';
  for (let index = 0; index < rows.length; index++) {
    text += `${index === 0 ? '[[' : ',['}${rows.keyText(index)},${rows.idText(index)}]`;
  }
  return `${text}]`;
}

function valuesText(rows: RowList): string {
  let text = '';
  for (let index = 0; index < rows.length; index++) text += (index === 0 ? '[' : ',') + rows.valueText(index);
  return `${text}]`;
}

/** Matches a function with plain parameters. Captures the name of the first one, and the rest of the source. */
const FUNCTION = /^\s*\(?\s*function\s*[\w$]*\s*\(\s*([A-Za-z_$][\w$]*)\s*(?:,\s*[\w$]+\s*)*\)([\s\S]*)$/;

/**
 * Returns whether a reduce function may use its first argument, by its source. Most don't, and making the list of keys and ids costs
 * more than the function itself.
 */
export function mayReadKeys(source: string): boolean {
  // The pattern may take very long on a long text.
  if (source.length > 10_000) return true;
  const [, name, body] = FUNCTION.exec(source) ?? [];
  if (name === undefined || body === undefined) return true;
  // A Unicode escape can write any name.
  return /\\u|\beval\b|\bFunction\b|\barguments\b|\bconstructor\b/.test(body) || body.includes(name);
}
