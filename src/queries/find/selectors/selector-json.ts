/** Writes parsed selectors as JSON in their normal form, from which the same selector is parsed. */

import type { Condition, Selector } from './selector.ts';

type Json = Readonly<Record<string, unknown>>;

export function selectorJson(selector: Selector): Json {
  const isEverything = selector.kind !== 'field' && selector.parts.length === 0;
  return isEverything ? {} : partJson(selector);
}

/** Writes a part of a selector, in which `{}` would be a value to compare with: so a junction without parts is written as a junction. */
function partJson(selector: Selector): Json {
  if (selector.kind !== 'field') return { [`$${selector.kind}`]: selector.parts.map(partJson) };
  // A condition on an element or a name itself has no path.
  const condition = conditionJson(selector.condition);
  return selector.path.text === '' ? condition : { [selector.path.text]: condition };
}

function conditionJson({ operator, argument, isNegated, nested }: Condition): Json {
  const condition = { [operator]: nested === undefined ? argument : partJson(nested) };
  return isNegated ? { $not: condition } : condition;
}
