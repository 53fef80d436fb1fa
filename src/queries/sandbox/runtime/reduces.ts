/** Reduce functions. Each call reduces many groups, so that the border of the sandbox is crossed once. */
import { compile } from './compiling.ts';
import { describe, Failure, isFatal, isOutOfMemory, toFailure } from './failures.ts';
import { log } from './log.ts';
import { SEPARATOR } from './protocol.ts';
import { type DocumentFunction, parse, textOf } from './values.ts';

const reducers: DocumentFunction[] = [];

/** Compiles a reduce function, and returns its index. */
export function addReducer(source: string): string {
  return `${reducers.push(compile('reduce', source)) - 1}`;
}

/** Takes the texts of each group's keys and values, alternating, and returns a line for each group. */
export function reduceBatch(index: string, text: string): string {
  const reduce = reducers[Number(index)] as DocumentFunction;
  const texts = text.split(SEPARATOR);
  const results: string[] = [];
  for (let at = 0; at < texts.length; at += 2) {
    results.push(reduceOne(reduce, parse(texts[at] as string), parse(texts[at + 1] as string), false));
  }
  return results.join('\n');
}

/** Takes the text of each group's earlier results, and returns a line for each group. */
export function rereduceBatch(index: string, text: string): string {
  const reduce = reducers[Number(index)] as DocumentFunction;
  return text
    .split(SEPARATOR)
    .map((values) => reduceOne(reduce, null, parse(values), true))
    .join('\n');
}

function reduceOne(reduce: DocumentFunction, keys: unknown, values: unknown, rereduce: boolean): string {
  try {
    return textOf(reduce(keys, values, rereduce));
  } catch (thrown) {
    if (thrown instanceof Failure || isOutOfMemory(thrown) || isFatal(thrown)) throw toFailure(thrown);
    log(`a reduce function raised ${describe(thrown)}`);
    return 'null';
  }
}
