/** Writes parsed selectors as JSON, for `_explain`. */

import type { Condition, Selector } from './selector.ts';

type Json = Readonly<Record<string, unknown>>;

export function selectorJson(selector: Selector): Json {
  if (selector.kind !== 'field') {
    if (selector.parts.length === 0) return {};
    return { [`$${selector.kind}`]: selector.parts.map(selectorJson) };
  }
  // A condition on an element or a name itself has no path.
  const condition = conditionJson(selector.condition);
  return selector.path.text === '' ? condition : { [selector.path.text]: condition };
}

function conditionJson({ operator, argument, isNegated, nested }: Condition): Json {
  const condition = { [operator]: nested === undefined ? argument : selectorJson(nested) };
  return isNegated ? { $not: condition } : condition;
}
